#include "tessera/graph/ops/matmul.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/as_matrix.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"
#include "tessera/graph/ops/internal/walk.h"

#include <algorithm>

namespace tessera {
namespace {

using internal::as_matrix;
using Dims = std::vector<std::int64_t>;

bool may_equal(std::int64_t a, std::int64_t b) {
  return a == b || a == TensorType::kUnknown || b == TensorType::kUnknown;
}

TensorType leading(const Dims& matrix) {
  return TensorType(ElementType::float32, Dims(matrix.begin(), matrix.end() - 2));
}

// The extents of the product; a and b have rank 1 or more.
Dims product_dims(const Dims& a, const Dims& b, std::string_view op) {
  const Dims p = as_matrix(a, true), q = as_matrix(b, false);
  Dims out = *broadcast_dims(leading(p), leading(q), op);
  if (a.size() > 1) out.push_back(p[p.size() - 2]);
  if (b.size() > 1) out.push_back(q.back());
  return out;
}

// Matrix elements as row-major `rows` x `columns` of accumulators, so that each is converted once.
template <class T>
std::vector<internal::Accumulator<T>> matrix(std::span<const T> from, std::int64_t rows, std::int64_t columns,
                                             bool transposed) {
  std::vector<internal::Accumulator<T>> out(from.size());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      out[static_cast<std::size_t>(r * columns + c)] =
          internal::accumulated(from[static_cast<std::size_t>(transposed ? c * rows + r : r * columns + c)]);
  return out;
}

// y += a b for row-major m x k and k x n.
template <class A>
void multiply(const A* a, const A* b, A* y, std::int64_t m, std::int64_t k, std::int64_t n) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p) {
      const A v = a[i * k + p];
      const A* row = b + p * n;
      A* to = y + i * n;
      for (std::int64_t j = 0; j < n; ++j) to[j] += v * row[j];
    }
}

double product_flops(const TensorType& a, const Types& outputs) {
  if (!a.is_static() || a.dims->empty() || !outputs[0].is_static()) return 0;
  return 2.0 * static_cast<double>(a.dims->back()) * static_cast<double>(outputs[0].shape().volume());
}

}  // namespace

std::vector<TensorType> infer(const MatMul&, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_same_type(0, 1);
  internal::expect_number(inputs, 0, inputs.op());
  inputs.expect_rank(0, 1, Shape::kMaxRank);
  inputs.expect_rank(1, 1, Shape::kMaxRank);
  const TensorType &a = inputs[0], &b = inputs[1];
  if (!a.dims || !b.dims) return {TensorType(a.type, std::nullopt)};
  const std::int64_t width = a.dims->back(), height = b.rank() == 1 ? b.dims->front() : (*b.dims)[b.dims->size() - 2];
  if (!may_equal(width, height))
    fail(Code::invalid_argument, "{}: {} times {}: {} columns meet {} rows", inputs.op(), a.to_string(), b.to_string(),
         width, height);
  return {internal::possible(TensorType(a.type, product_dims(*a.dims, *b.dims, inputs.op())))};
}

Work work(const MatMul&, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs, outputs);
  work.flops = product_flops(inputs[0], outputs);
  return work;
}

std::vector<Array> reference(const MatMul&, const Arrays& inputs) {
  const Array &a = inputs[0], &b = inputs[1];
  const Dims p = as_matrix(a.shape().dims(), true), q = as_matrix(b.shape().dims(), false);
  Array y(a.type(), Shape(product_dims(a.shape().dims(), b.shape().dims(), inputs.op())));
  if (y.count() == 0) return {std::move(y)};
  const std::int64_t m = p[p.size() - 2], k = p.back(), n = q.back();
  const Shape batch(*broadcast_dims(leading(p), leading(q), inputs.op()));
  visit_element_type(a.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = internal::Accumulator<T>;
    const std::vector<A> as = matrix<T>(a.as<T>(), a.count(), 1, false), bs = matrix<T>(b.as<T>(), b.count(), 1, false);
    std::vector<A> product(static_cast<std::size_t>(m * n));
    auto to = y.as<T>().begin();
    internal::walk<2>(batch.dims(),
                      {internal::broadcast_strides(leading(p).shape(), batch),
                       internal::broadcast_strides(leading(q).shape(), batch)},
                      [&](const auto& at) {
                        std::ranges::fill(product, A{0});
                        multiply(as.data() + at[0] * m * k, bs.data() + at[1] * k * n, product.data(), m, k, n);
                        for (const A v : product) *to++ = internal::finished<T>(v);
                      });
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const Gemm& op, const Knowns& inputs) {
  inputs.expect_count(2, 3);
  internal::expect_number(inputs, 0, inputs.op());
  inputs.expect_same_type(0, 1);
  inputs.expect_rank(0, 2, 2);
  inputs.expect_rank(1, 2, 2);
  const TensorType &a = inputs[0], &b = inputs[1];
  const auto extent = [](const TensorType& t, bool second) {
    return t.dims ? (*t.dims)[second ? 1 : 0] : TensorType::kUnknown;
  };
  const std::int64_t width = extent(a, !op.transpose_a), height = extent(b, op.transpose_b);
  if (!may_equal(width, height))
    fail(Code::invalid_argument, "{}: {}{} times {}{}: {} columns meet {} rows", inputs.op(), a.to_string(),
         op.transpose_a ? " transposed" : "", b.to_string(), op.transpose_b ? " transposed" : "", width, height);
  const TensorType y =
      internal::possible(TensorType(a.type, Dims{extent(a, op.transpose_a), extent(b, !op.transpose_b)}));
  if (inputs.has(2)) {
    inputs.expect_same_type(0, 2);
    internal::expect_broadcast_to(inputs, 2, y, inputs.op());
  }
  return {y};
}

Work work(const Gemm& op, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs, outputs, inputs.size() > 2 ? 1 : 0);
  if (inputs[0].is_static() && outputs[0].is_static())
    work.flops += 2.0 * static_cast<double>((*inputs[0].dims)[op.transpose_a ? 0 : 1]) *
                  static_cast<double>(outputs[0].shape().volume());
  return work;
}

std::vector<Array> reference(const Gemm& op, const Arrays& inputs) {
  const Array &a = inputs[0], &b = inputs[1];
  const std::int64_t m = a.shape()[op.transpose_a ? 1 : 0], k = a.shape()[op.transpose_a ? 0 : 1];
  const std::int64_t n = b.shape()[op.transpose_b ? 0 : 1];
  Array y(a.type(), Shape{m, n});
  visit_element_type(a.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = internal::Accumulator<T>;
    const std::vector<A> as = matrix<T>(a.as<T>(), m, k, op.transpose_a),
                         bs = matrix<T>(b.as<T>(), k, n, op.transpose_b);
    std::vector<A> product(static_cast<std::size_t>(m * n), A{0});
    multiply(as.data(), bs.data(), product.data(), m, k, n);
    // Whole factors keep integers exact; others go by way of double.
    const double alpha = op.alpha, beta = op.beta;
    const auto scaled = [](A v, double by) -> A {
      if constexpr (is_floating_v<T>)
        return v * by;
      else
        return by == 1 ? v : internal::accumulated(internal::narrow<T>(internal::wide(static_cast<T>(v)) * by));
    };
    for (A& v : product) v = scaled(v, alpha);
    if (inputs.has(2)) {
      const auto cs = inputs[2].as<T>();
      auto to = product.begin();
      internal::walk<1>(
          y.shape().dims(), {internal::broadcast_strides(inputs[2].shape(), y.shape())},
          [&](const auto& at) { *to++ += scaled(internal::accumulated(cs[static_cast<std::size_t>(at[0])]), beta); });
    }
    const auto ys = y.as<T>();
    for (std::size_t i = 0; i < ys.size(); ++i) ys[i] = internal::finished<T>(product[i]);
  });
  return {std::move(y)};
}

}  // namespace tessera
