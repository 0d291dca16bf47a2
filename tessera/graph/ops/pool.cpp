#include "tessera/graph/ops/pool.h"

#include "tessera/core/error.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/internal/window_walk.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

TensorType pooled(const Window& window, bool ceil_mode, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_rank(0, 3, Shape::kMaxRank);
  check(!window.kernel.empty(), Code::invalid_argument, "{}: no kernel is given", inputs.op());
  const TensorType& x = inputs[0];
  if (!x.dims) return TensorType(x.type, std::nullopt);
  const ResolvedWindow resolved = resolve(window, {x.dims->begin() + 2, x.dims->end()}, ceil_mode, inputs.op());
  std::vector<std::int64_t> dims{(*x.dims)[0], (*x.dims)[1]};
  dims.insert(dims.end(), resolved.output.begin(), resolved.output.end());
  return TensorType(x.type, dims);
}

Work pool_work(const Window& window, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs.first(1), static_cast<double>(internal::product(window.kernel)));
}

// visit(output position, walk) with the walk moved there, for every spatial output position.
template <class Visit>
void for_each_window(const Window& window, bool ceil_mode, const Array& x, const Arrays& inputs, Visit visit) {
  const std::vector<std::int64_t> spatial(x.shape().begin() + 2, x.shape().end());
  internal::WindowWalk walk(resolve(window, spatial, ceil_mode, inputs.op()), spatial);
  for (std::int64_t o = 0; o < walk.outputs(); ++o) visit(o, walk.move_to(o), walk);
}

Shape pooled_shape(const Window& window, bool ceil_mode, const Array& x, const Arrays& inputs) {
  std::vector<std::int64_t> dims{x.shape()[0], x.shape()[1]};
  const ResolvedWindow resolved = resolve(window, {x.shape().begin() + 2, x.shape().end()}, ceil_mode, inputs.op());
  dims.insert(dims.end(), resolved.output.begin(), resolved.output.end());
  return Shape(dims);
}

template <class T>
T least_value() {
  if constexpr (is_floating_v<T>)
    return static_cast<T>(-std::numeric_limits<float>::infinity());
  else
    return std::numeric_limits<T>::lowest();
}

template <class T>
bool is_nan(T value) {
  if constexpr (is_floating_v<T>)
    return std::isnan(static_cast<double>(value));
  else
    return false;
}

// A row-major spatial position as a column-major one.
std::int64_t column_major(std::int64_t at, const Shape& x) {
  std::int64_t stride = 1, out = 0;
  for (int d = 2; d < x.rank(); ++d) stride *= x[d];
  for (int d = x.rank() - 1; d >= 2; --d) {
    stride /= x[d];
    out += at % x[d] * stride;
    at /= x[d];
  }
  return out;
}

}  // namespace

std::vector<TensorType> infer(const MaxPool& op, const Knowns& inputs) {
  std::vector<TensorType> out{pooled(op.window, op.ceil_mode, inputs)};
  check(inputs[0].type != ElementType::boolean, Code::unsupported, "MaxPool works on numbers, not on bool");
  visit_element_type(inputs[0].type, [](auto) {});
  if (op.with_indices) out.emplace_back(ElementType::int64, out[0].dims);
  return out;
}

Work work(const MaxPool& op, const Types& inputs, const Types& outputs) {
  Work total = pool_work(op.window, inputs, outputs);
  total.write_bytes = streaming_work({}, outputs).write_bytes;
  return total;
}

// Padding never wins: a window over nothing else gives the least value of the type, with index -1. A NaN wins over any
// number.
std::vector<Array> reference(const MaxPool& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const Shape shape = pooled_shape(op.window, op.ceil_mode, x, inputs);
  Array y(x.type(), shape), indices(ElementType::int64, op.with_indices ? shape : Shape{0});
  const std::int64_t planes = shape[0] * shape[1];
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* xs = x.as<T>().data();
    T* ys = y.as<T>().data();
    std::int64_t* positions = indices.as<std::int64_t>().data();
    for_each_window(op.window, op.ceil_mode, x, inputs, [&](std::int64_t o, const auto& taps, const auto& walk) {
      for (std::int64_t plane = 0; plane < planes; ++plane) {
        const T* values = xs + plane * walk.inputs();
        T best = least_value<T>();
        std::int64_t where = -1;
        for (const internal::WindowTap& tap : taps) {
          const T value = values[tap.at];
          if (where < 0 || value > best || (is_nan(value) && !is_nan(best))) {
            best = value;
            where = tap.at;
          }
        }
        ys[plane * walk.outputs() + o] = best;
        if (!op.with_indices) continue;
        if (where >= 0)
          where = plane * walk.inputs() + (op.column_major_indices ? column_major(where, x.shape()) : where);
        positions[plane * walk.outputs() + o] = where;
      }
    });
  });
  std::vector<Array> out{std::move(y)};
  if (op.with_indices) out.push_back(std::move(indices));
  return out;
}

std::vector<TensorType> infer(const AveragePool& op, const Knowns& inputs) {
  std::vector<TensorType> out{pooled(op.window, op.ceil_mode, inputs)};
  visit_floating_type(inputs[0].type, inputs.op(), [](auto) {});
  return out;
}

Work work(const AveragePool& op, const Types& inputs, const Types& outputs) {
  return pool_work(op.window, inputs, outputs);
}

// A window over nothing but padding has the average 0.
std::vector<Array> reference(const AveragePool& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const Shape shape = pooled_shape(op.window, op.ceil_mode, x, inputs);
  Array y(x.type(), shape);
  visit_floating_type(x.type(), inputs.op(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* xs = x.as<T>().data();
    T* ys = y.as<T>().data();
    for_each_window(op.window, op.ceil_mode, x, inputs, [&](std::int64_t o, const auto& taps, const auto& walk) {
      const std::int64_t count =
          op.count_include_pad ? walk.taps_in_padded_input() : static_cast<std::int64_t>(taps.size());
      for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
        double sum = 0;
        for (const internal::WindowTap& tap : taps) sum += static_cast<double>(xs[plane * walk.inputs() + tap.at]);
        ys[plane * walk.outputs() + o] = static_cast<T>(count > 0 ? sum / static_cast<double>(count) : 0.0);
      }
    });
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const LpPool& op, const Knowns& inputs) {
  std::vector<TensorType> out{pooled(op.window, op.ceil_mode, inputs)};
  visit_floating_type(inputs[0].type, inputs.op(), [](auto) {});
  check(op.p >= 1, Code::invalid_argument, "LpPool: p is {}, at least 1 is needed", op.p);
  return out;
}

Work work(const LpPool& op, const Types& inputs, const Types& outputs) { return pool_work(op.window, inputs, outputs); }

std::vector<Array> reference(const LpPool& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const Shape shape = pooled_shape(op.window, op.ceil_mode, x, inputs);
  Array y(x.type(), shape);
  const double p = static_cast<double>(op.p);
  visit_floating_type(x.type(), inputs.op(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* xs = x.as<T>().data();
    T* ys = y.as<T>().data();
    for_each_window(op.window, op.ceil_mode, x, inputs, [&](std::int64_t o, const auto& taps, const auto& walk) {
      for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
        double sum = 0;
        for (const internal::WindowTap& tap : taps)
          sum += std::pow(std::abs(static_cast<double>(xs[plane * walk.inputs() + tap.at])), p);
        ys[plane * walk.outputs() + o] = static_cast<T>(std::pow(sum, 1.0 / p));
      }
    });
  });
  return {std::move(y)};
}

}  // namespace tessera
