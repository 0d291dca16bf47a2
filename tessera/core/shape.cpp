#include "tessera/core/shape.h"

#include "tessera/core/error.h"

#include <fmt/ranges.h>

namespace tessera {

Shape::Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {
  if (dims_.size() > kMaxRank)
    fail(Code::invalid_argument, "shape {} has rank {}, at most {} is supported", to_string(), dims_.size(), kMaxRank);
  std::int64_t product = 1;
  for (std::int64_t d : dims_) {
    if (d < 0) fail(Code::invalid_argument, "shape {} has a negative extent {}", to_string(), d);
    // Zero extents are skipped so that the other extents are bounded too: padding may turn a 0 into a tile.
    if (d != 0 && __builtin_mul_overflow(product, d, &product))
      fail(Code::invalid_argument, "shape {} has more elements than 63 bits can count", to_string());
  }
}

std::int64_t Shape::operator[](int position) const {
  const int at = position < 0 ? position + rank() : position;
  if (at < 0 || at >= rank())
    fail(Code::invalid_argument, "dimension {} is out of range for shape {} of rank {}", position, to_string(), rank());
  return dims_[static_cast<std::size_t>(at)];
}

std::int64_t Shape::volume() const {
  std::int64_t product = 1;
  for (std::int64_t d : dims_) product *= d;
  return product;
}

Extent2d Shape::as_2d() const {
  if (dims_.empty()) return {1, 1};
  std::int64_t height = 1;
  for (std::size_t i = 0; i + 1 < dims_.size(); ++i) height *= dims_[i];
  return {height, dims_.back()};
}

std::string Shape::to_string() const { return fmt::format("[{}]", fmt::join(dims_, ", ")); }

}  // namespace tessera
