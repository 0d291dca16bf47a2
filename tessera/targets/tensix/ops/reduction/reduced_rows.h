#pragma once

// The values that go into each result of a reduction, one after the other.

#include "tessera/core/shape.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::tensix {

class ReducedRows {
 public:
  // `reduced` says which dimensions of `shape` are worked on; results lie in row-major order of the others.
  ReducedRows(const Shape& shape, const std::vector<bool>& reduced, std::vector<double> values) {
    for (std::size_t d = 0; d < reduced.size(); ++d) (reduced[d] ? length_ : count_) *= shape.dims()[d];
    std::size_t inner = reduced.size();  // reduced dimensions at the end are in order already
    while (inner > 0 && reduced[inner - 1]) --inner;
    bool in_order = true;
    for (std::size_t d = 0; d < inner; ++d) in_order = in_order && !reduced[d];
    if (in_order) {
      values_ = std::move(values);
      return;
    }
    std::vector<std::size_t> order;
    for (const bool last : {false, true})
      for (std::size_t d = 0; d < reduced.size(); ++d)
        if (reduced[d] == last) order.push_back(d);
    std::vector<std::int64_t> stride(reduced.size(), 1), at(reduced.size(), 0);
    for (std::size_t d = reduced.size(); d-- > 1;) stride[d - 1] = stride[d] * shape.dims()[d];
    values_.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int64_t source = 0;
      for (std::size_t k = 0; k < order.size(); ++k) source += at[k] * stride[order[k]];
      values_.push_back(values[static_cast<std::size_t>(source)]);
      for (std::size_t k = order.size(); k-- > 0;) {
        if (++at[k] < shape.dims()[order[k]]) break;
        at[k] = 0;
      }
    }
  }

  std::int64_t count() const { return count_; }
  std::span<const double> row(std::int64_t index) const {
    return std::span(values_).subspan(static_cast<std::size_t>(index * length_), static_cast<std::size_t>(length_));
  }

 private:
  std::int64_t count_ = 1, length_ = 1;
  std::vector<double> values_;
};

}  // namespace tessera::tensix
