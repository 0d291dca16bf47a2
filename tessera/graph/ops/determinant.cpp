#include "tessera/graph/ops/determinant.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {
namespace {

// Elimination with the largest pivot of each column.
double determinant_of(std::vector<double>& m, std::size_t n) {
  double determinant = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(m[i * n + k]) > std::abs(m[pivot * n + k])) pivot = i;
    if (pivot != k) {
      for (std::size_t j = k; j < n; ++j) std::swap(m[pivot * n + j], m[k * n + j]);
      determinant = -determinant;
    }
    determinant *= m[k * n + k];
    if (m[k * n + k] == 0) return determinant;
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / m[k * n + k];
      for (std::size_t j = k + 1; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return determinant;
}

}  // namespace

std::vector<TensorType> infer(const Determinant&, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  internal::expect_floating(inputs, 0, inputs.op());
  inputs.expect_rank(0, 2, Shape::kMaxRank);
  const TensorType& x = inputs[0];
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  const std::int64_t rows = (*x.dims)[x.dims->size() - 2], columns = x.dims->back();
  check(rows == columns || rows == TensorType::kUnknown || columns == TensorType::kUnknown, Code::invalid_argument,
        "{}: the matrices of {} are not square", inputs.op(), x.to_string());
  return {TensorType(x.type, std::vector<std::int64_t>(x.dims->begin(), x.dims->end() - 2))};
}

Work work(const Determinant&, const Types& inputs, const Types& outputs) {
  const double n = static_cast<double>(inputs[0].dims->back());
  return streaming_work(inputs, outputs, 2.0 / 3.0 * n * n * n);
}

std::vector<Array> reference(const Determinant&, const Arrays& inputs) {
  const Array& x = inputs[0];
  const std::vector<std::int64_t>& dims = x.shape().dims();
  Array y(x.type(), Shape(std::vector<std::int64_t>(dims.begin(), dims.end() - 2)));
  const auto n = static_cast<std::size_t>(dims.back());
  const std::vector<double> xs = x.to_double();
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<double> matrix(n * n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(y.count()); ++i) {
      std::copy_n(xs.begin() + static_cast<std::ptrdiff_t>(i * n * n), n * n, matrix.begin());
      y.as<T>()[i] = internal::narrow<T>(determinant_of(matrix, n));
    }
  });
  return {std::move(y)};
}

}  // namespace tessera
