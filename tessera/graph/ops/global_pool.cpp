#include "tessera/graph/ops/global_pool.h"

#include "tessera/core/error.h"
#include "tessera/core/shape.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {

std::vector<TensorType> infer(const GlobalPool& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_rank(0, 2, Shape::kMaxRank);
  const TensorType& x = inputs[0];
  visit_floating_type(x.type, inputs.op(), [](auto) {});
  check(op.kind != GlobalPool::Kind::lp || op.p >= 1, Code::invalid_argument,
        "GlobalPool: p is {}, at least 1 is needed", op.p);
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  std::vector<std::int64_t> dims(x.dims->size(), 1);
  std::copy_n(x.dims->begin(), 2, dims.begin());
  return {TensorType(x.type, dims)};
}

Work work(const GlobalPool&, const Types& inputs, const Types& outputs) {
  Work total = streaming_work(inputs, outputs);
  if (inputs[0].is_static()) total.flops = static_cast<double>(inputs[0].shape().volume());
  return total;
}

// Over no elements: the maximum is -inf, the average NaN (0 / 0), the norm 0.
std::vector<Array> reference(const GlobalPool& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  std::vector<std::int64_t> dims(static_cast<std::size_t>(x.shape().rank()), 1);
  std::copy_n(x.shape().begin(), 2, dims.begin());
  Array y(x.type(), Shape(dims));
  std::int64_t area = 1;
  for (int d = 2; d < x.shape().rank(); ++d) area *= x.shape()[d];
  const double p = static_cast<double>(op.p);
  visit_floating_type(x.type(), inputs.op(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* xs = x.as<T>().data();
    T* ys = y.as<T>().data();
    for (std::int64_t plane = 0; plane < y.count(); ++plane) {
      double best = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t i = 0; i < area; ++i) {
        const double value = static_cast<double>(xs[plane * area + i]);
        if (value > best || std::isnan(value)) best = value;  // no number is greater than a NaN: one stays
        sum += op.kind == GlobalPool::Kind::lp ? std::pow(std::abs(value), p) : value;
      }
      switch (op.kind) {
        case GlobalPool::Kind::max: ys[plane] = static_cast<T>(best); break;
        case GlobalPool::Kind::average: ys[plane] = static_cast<T>(sum / static_cast<double>(area)); break;
        case GlobalPool::Kind::lp: ys[plane] = static_cast<T>(std::pow(sum, 1.0 / p)); break;
      }
    }
  });
  return {std::move(y)};
}

}  // namespace tessera
