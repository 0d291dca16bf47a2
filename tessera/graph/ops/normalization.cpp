#include "tessera/graph/ops/normalization.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"
#include "tessera/graph/ops/internal/walk.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using internal::narrow;
using internal::wide;

struct Moments {
  double mean = 0, variance = 0;
};

template <class T>
Moments moments(std::span<const T> values) {
  Moments m;
  for (const T v : values) m.mean += wide(v);
  m.mean /= static_cast<double>(values.size());
  for (const T v : values) m.variance += (wide(v) - m.mean) * (wide(v) - m.mean);
  m.variance /= static_cast<double>(values.size());
  return m;
}

std::size_t volume(const Shape& shape, std::size_t begin, std::size_t end) {
  std::size_t product = 1;
  for (std::size_t d = begin; d < end; ++d) product *= static_cast<std::size_t>(shape.dims()[d]);
  return product;
}

// x in `groups` groups of channels per sample, each brought to mean 0 and variance 1, then scaled: scale and bias by
// channel, or by group.
Array normalized_groups(const Array& x, std::size_t groups, const Array& scale, const Array& bias, bool per_group,
                        double epsilon, std::string_view op) {
  Array y(x.type(), x.shape());
  if (x.count() == 0) return y;
  const auto batch = static_cast<std::size_t>(x.shape()[0]), channels = static_cast<std::size_t>(x.shape()[1]);
  const std::size_t area = volume(x.shape(), 2, x.shape().dims().size()), per = channels / groups, length = per * area;
  const std::vector<double> scales = scale.to_double(), biases = bias.to_double();
  visit_floating_type(x.type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>();
    const auto ys = y.as<T>();
    for (std::size_t row = 0; row < batch * groups; ++row) {
      const Moments m = moments<T>(xs.subspan(row * length, length));
      const double inverse = 1.0 / std::sqrt(m.variance + epsilon);
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t group = row % groups, at = per_group ? group : group * per + i / area;
        ys[row * length + i] = narrow<T>((wide(xs[row * length + i]) - m.mean) * inverse * scales[at] + biases[at]);
      }
    }
  });
  return y;
}

// Operand values at every position of x, repeated as broadcasting says.
std::vector<double> repeated(const Array& operand, const Shape& to) {
  const std::vector<double> values = operand.to_double();
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(to.volume()));
  internal::walk<1>(to.dims(), {internal::broadcast_strides(operand.shape(), to)},
                    [&](const auto& at) { out.push_back(values[static_cast<std::size_t>(at[0])]); });
  return out;
}

}  // namespace

std::vector<TensorType> infer(const InstanceNorm&, const Knowns& inputs) {
  inputs.expect_count(3, 3);
  inputs.expect_rank(0, 2, Shape::kMaxRank);
  const TensorType& x = inputs[0];
  internal::expect_floating(inputs, 0, inputs.op());
  for (std::size_t i = 1; i < 3; ++i) {
    inputs.expect_same_type(0, i);
    internal::expect_vector(inputs, i, x.dims ? (*x.dims)[1] : TensorType::kUnknown, inputs.op());
  }
  return {x};
}

Work work(const InstanceNorm&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs, 7); }

std::vector<Array> reference(const InstanceNorm& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  return {normalized_groups(x, static_cast<std::size_t>(x.shape()[1]), inputs[1], inputs[2], false, op.epsilon,
                            inputs.op())};
}

std::vector<TensorType> infer(const GroupNorm& op, const Knowns& inputs) {
  inputs.expect_count(3, 3);
  inputs.expect_rank(0, 2, Shape::kMaxRank);
  const TensorType& x = inputs[0];
  const std::int64_t channels = x.dims ? (*x.dims)[1] : TensorType::kUnknown;
  check(op.groups >= 1, Code::invalid_argument, "{}: {} groups are asked for, at least 1 is needed", inputs.op(),
        op.groups);
  check(channels == TensorType::kUnknown || channels % op.groups == 0, Code::invalid_argument,
        "{}: {} channels do not divide into {} groups", inputs.op(), channels, op.groups);
  internal::expect_floating(inputs, 0, inputs.op());
  for (std::size_t i = 1; i < 3; ++i) {
    inputs.expect_same_type(0, i);
    internal::expect_vector(inputs, i, op.per_group_scale ? op.groups : channels, inputs.op());
  }
  return {x};
}

Work work(const GroupNorm&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs, 7); }

std::vector<Array> reference(const GroupNorm& op, const Arrays& inputs) {
  return {normalized_groups(inputs[0], static_cast<std::size_t>(op.groups), inputs[1], inputs[2], op.per_group_scale,
                            op.epsilon, inputs.op())};
}

std::vector<TensorType> infer(const LayerNorm& op, const Knowns& inputs) {
  inputs.expect_count(2, 3);
  const TensorType& x = inputs[0];
  check(op.outputs >= 1 && op.outputs <= 3, Code::invalid_argument, "{}: {} outputs are asked for, there are 1 to 3",
        inputs.op(), op.outputs);
  internal::expect_floating(inputs, 0, inputs.op());
  for (std::size_t i = 1; i < 3; ++i) {
    if (!inputs.has(i)) continue;
    inputs.expect_same_type(0, i);
    internal::expect_broadcast_to(inputs, i, x, inputs.op());
  }
  TensorType statistic(ElementType::float32, x.dims);
  if (x.dims)
    std::fill(statistic.dims->begin() + normalized_axis(op.axis, x.rank(), inputs.op()), statistic.dims->end(),
              std::int64_t{1});
  std::vector<TensorType> out{x, statistic, statistic};
  out.resize(static_cast<std::size_t>(op.outputs));
  return out;
}

Work work(const LayerNorm&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs.first(1), 7);
}

std::vector<Array> reference(const LayerNorm& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.shape().rank(), inputs.op()));
  std::vector<std::int64_t> statistic_dims = x.shape().dims();
  std::fill(statistic_dims.begin() + static_cast<std::ptrdiff_t>(axis), statistic_dims.end(), std::int64_t{1});
  Array y(x.type(), x.shape()), mean(ElementType::float32, Shape(statistic_dims)), inverse(mean);
  const std::size_t rows = volume(x.shape(), 0, axis), length = volume(x.shape(), axis, x.shape().dims().size());
  const std::vector<double> scale = repeated(inputs[1], x.shape());
  const std::vector<double> bias =
      inputs.has(2) ? repeated(inputs[2], x.shape()) : std::vector<double>(scale.size(), 0.0);
  visit_floating_type(x.type(), LayerNorm::kName, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>();
    const auto ys = y.as<T>();
    for (std::size_t row = 0; row < rows; ++row) {
      const Moments m = moments<T>(xs.subspan(row * length, length));
      const double factor = 1.0 / std::sqrt(m.variance + static_cast<double>(op.epsilon));
      mean.as<float>()[row] = static_cast<float>(m.mean);
      inverse.as<float>()[row] = static_cast<float>(factor);
      for (std::size_t i = row * length; i < (row + 1) * length; ++i)
        ys[i] = narrow<T>((wide(xs[i]) - m.mean) * factor * scale[i] + bias[i]);
    }
  });
  std::vector<Array> out{std::move(y), std::move(mean), std::move(inverse)};
  out.resize(static_cast<std::size_t>(op.outputs));
  return out;
}

std::vector<TensorType> infer(const RmsNorm& op, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  internal::expect_floating(inputs, 0, inputs.op());
  internal::expect_floating(inputs, 1, inputs.op());
  internal::expect_broadcast_to(inputs, 1, inputs[0], inputs.op());
  if (inputs[0].dims) normalized_axis(op.axis, inputs[0].rank(), inputs.op());
  return {TensorType(inputs[1].type, inputs[0].dims)};
}

Work work(const RmsNorm&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs, 4); }

std::vector<Array> reference(const RmsNorm& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.shape().rank(), inputs.op()));
  const std::size_t rows = volume(x.shape(), 0, axis), length = volume(x.shape(), axis, x.shape().dims().size());
  const std::vector<double> xs = x.to_double(), scale = repeated(inputs[1], x.shape());
  Array y(inputs[1].type(), x.shape());
  visit_floating_type(y.type(), RmsNorm::kName, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto ys = y.as<T>();
    for (std::size_t row = 0; row < rows; ++row) {
      double squares = 0;
      for (std::size_t i = row * length; i < (row + 1) * length; ++i) squares += xs[i] * xs[i];
      const double root = std::sqrt(squares / static_cast<double>(length) + static_cast<double>(op.epsilon));
      for (std::size_t i = row * length; i < (row + 1) * length; ++i) ys[i] = narrow<T>(xs[i] / root * scale[i]);
    }
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const LpNorm& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  internal::expect_floating(inputs, 0, inputs.op());
  check(op.p == 1 || op.p == 2, Code::unsupported, "{}: p is {}, only 1 and 2 are defined", inputs.op(), op.p);
  if (inputs[0].dims) normalized_axis(op.axis, inputs[0].rank(), inputs.op());
  return {inputs[0]};
}

Work work(const LpNorm&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs, 3); }

std::vector<Array> reference(const LpNorm& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y(x.type(), x.shape());
  if (x.count() == 0) return {std::move(y)};
  const auto axis = static_cast<std::size_t>(normalized_axis(op.axis, x.shape().rank(), inputs.op()));
  const std::size_t outer = volume(x.shape(), 0, axis), length = static_cast<std::size_t>(x.shape().dims()[axis]);
  const std::size_t inner = volume(x.shape(), axis + 1, x.shape().dims().size());
  visit_floating_type(x.type(), LpNorm::kName, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>();
    const auto ys = y.as<T>();
    for (std::size_t row = 0; row < outer * inner; ++row) {
      const std::size_t first = row / inner * length * inner + row % inner;
      double sum = 0;
      for (std::size_t k = 0; k < length; ++k) {
        const double v = wide(xs[first + k * inner]);
        sum += op.p == 1 ? std::abs(v) : v * v;
      }
      const double norm = op.p == 1 ? sum : std::sqrt(sum);
      // A row of zeros stays one, by definition.
      for (std::size_t k = 0; k < length; ++k)
        ys[first + k * inner] = norm == 0 ? narrow<T>(0) : narrow<T>(wide(xs[first + k * inner]) / norm);
    }
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const Lrn& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_rank(0, 2, Shape::kMaxRank);
  internal::expect_floating(inputs, 0, inputs.op());
  check(op.size >= 1, Code::invalid_argument, "{}: the size is {}, at least 1 is needed", inputs.op(), op.size);
  return {inputs[0]};
}

Work work(const Lrn& op, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs, 2.0 * static_cast<double>(op.size) + 4);
}

std::vector<Array> reference(const Lrn& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  Array y(x.type(), x.shape());
  const std::int64_t batch = x.shape()[0], channels = x.shape()[1];
  const auto area = static_cast<std::int64_t>(volume(x.shape(), 2, x.shape().dims().size()));
  const std::int64_t before = std::min((op.size - 1) / 2, channels), after = std::min(op.size / 2, channels);
  visit_floating_type(x.type(), Lrn::kName, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>();
    const auto ys = y.as<T>();
    const auto at = [&](std::int64_t n, std::int64_t c, std::int64_t i) {
      return static_cast<std::size_t>((n * channels + c) * area + i);
    };
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t i = 0; i < area; ++i) {
          double squares = 0;
          for (std::int64_t k = std::max<std::int64_t>(c - before, 0); k <= std::min(c + after, channels - 1); ++k)
            squares += wide(xs[at(n, k, i)]) * wide(xs[at(n, k, i)]);
          const double base =
              static_cast<double>(op.bias) + static_cast<double>(op.alpha) / static_cast<double>(op.size) * squares;
          ys[at(n, c, i)] = narrow<T>(wide(xs[at(n, c, i)]) / std::pow(base, static_cast<double>(op.beta)));
        }
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const MeanVarianceNorm& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  internal::expect_floating(inputs, 0, inputs.op());
  if (inputs[0].dims)
    for (const std::int64_t axis : op.axes) normalized_axis(axis, inputs[0].rank(), inputs.op());
  return {inputs[0]};
}

Work work(const MeanVarianceNorm&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs, 7);
}

std::vector<Array> reference(const MeanVarianceNorm& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  std::vector<std::int64_t> kept = x.shape().dims();
  for (const std::int64_t axis : op.axes)
    kept[static_cast<std::size_t>(normalized_axis(axis, x.shape().rank(), inputs.op()))] = 1;
  const Shape shape(kept);
  const std::vector<std::int64_t> strides = internal::broadcast_strides(shape, x.shape());
  const auto groups = static_cast<std::size_t>(shape.volume());
  const std::vector<double> xs = x.to_double();
  const double count = static_cast<double>(xs.size()) / static_cast<double>(groups);
  // visit(i, group of i) for every element.
  const auto for_each = [&](auto&& visit) {
    std::size_t i = 0;
    internal::walk<1>(x.shape().dims(), {strides},
                      [&](const auto& at) { visit(i++, static_cast<std::size_t>(at[0])); });
  };
  std::vector<double> mean(groups, 0.0), deviation(groups, 0.0);
  for_each([&](std::size_t i, std::size_t g) { mean[g] += xs[i]; });
  for (double& m : mean) m /= count;
  for_each([&](std::size_t i, std::size_t g) { deviation[g] += (xs[i] - mean[g]) * (xs[i] - mean[g]); });
  for (double& d : deviation) d = std::sqrt(d / count) + 1e-9;  // the constant of the operator's definition
  Array y(x.type(), x.shape());
  visit_floating_type(x.type(), MeanVarianceNorm::kName, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto ys = y.as<T>();
    for_each([&](std::size_t i, std::size_t g) { ys[i] = narrow<T>((xs[i] - mean[g]) / deviation[g]); });
  });
  return {std::move(y)};
}

}  // namespace tessera
