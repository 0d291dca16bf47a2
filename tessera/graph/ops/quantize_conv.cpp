// QLinearConv and ConvInteger.

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/convolve.h"
#include "tessera/graph/ops/internal/expect_bytes.h"
#include "tessera/graph/ops/internal/saturate.h"
#include "tessera/graph/ops/quantize.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using internal::expect_bytes;
using internal::expect_one;

// One value, or one per output channel of the weights.
void expect_one_or_per_output(const Knowns& inputs, std::size_t i, const TensorType& w, std::string_view what) {
  inputs.expect_rank(i, 0, 1);
  if (inputs[i].is_static() && inputs[i].shape().volume() != 1) internal::expect_per_output(inputs, i, w, what);
}

void expect_float_or_half(const Knowns& inputs, std::size_t i) {
  visit_floating_type(inputs[i].type, inputs.op(), [](auto) {});
}

std::int64_t per_channel(const std::vector<std::int64_t>& values, std::int64_t m) {
  return values.empty() ? 0 : values[values.size() == 1 ? 0 : static_cast<std::size_t>(m)];
}

std::vector<std::int64_t> zeros_of(const Arrays& inputs, std::size_t i) {
  return inputs.has(i) ? inputs[i].to_int64() : std::vector<std::int64_t>{};
}

// write(m, position, sum) of (x - x zero) * (w - w zero). Padding stands for real zeros: it adds nothing.
template <class Write>
void convolve_integers(const Array& x, const Array& w, const ResolvedWindow& window, std::int64_t groups,
                       const std::vector<std::int64_t>& x_zero, const std::vector<std::int64_t>& w_zero, Write write) {
  const std::vector<std::int64_t> xs = x.to_int64(), ws = w.to_int64();
  const std::int64_t zero = x_zero.empty() ? 0 : x_zero[0];
  internal::convolve<std::int64_t>(
      x.shape(), w.shape(), window, groups, [&](std::int64_t i) { return xs[static_cast<std::size_t>(i)] - zero; },
      [&](std::int64_t m, std::int64_t i) { return ws[static_cast<std::size_t>(i)] - per_channel(w_zero, m); }, write);
}

Shape output_shape(const Array& x, const Array& w, const ResolvedWindow& window) {
  std::vector<std::int64_t> dims{x.shape()[0], w.shape()[0]};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  return Shape(dims);
}

Work conv_work(const TensorType& w, const Types& inputs, const Types& outputs) {
  if (!w.is_static()) return streaming_work(inputs, outputs);
  return streaming_work(inputs, outputs,
                        2.0 * static_cast<double>(w.shape().volume() / std::max<std::int64_t>(w.shape()[0], 1)));
}

}  // namespace

std::vector<TensorType> infer(const QLinearConv& op, const Knowns& inputs) {
  inputs.expect_count(8, 9);
  for (std::size_t i : {0, 3, 7}) expect_bytes(inputs, i);
  inputs.expect_same_type(0, 2);
  inputs.expect_same_type(3, 5);
  for (std::size_t i : {1, 4, 6}) expect_float_or_half(inputs, i);
  for (std::size_t i : {1, 2, 6, 7}) expect_one(inputs, i);
  expect_one_or_per_output(inputs, 4, inputs[3], "scale of the weights");
  expect_one_or_per_output(inputs, 5, inputs[3], "zero point of the weights");
  if (inputs.has(8)) {
    check(inputs[8].type == ElementType::int32, Code::invalid_argument, "QLinearConv: the bias is {}, int32 is needed",
          name(inputs[8].type));
    internal::expect_per_output(inputs, 8, inputs[3], "bias");
  }
  return {TensorType(inputs[7].type, internal::conv_dims(op.window, op.groups, inputs, 0, 3))};
}

Work work(const QLinearConv&, const Types& inputs, const Types& outputs) {
  return conv_work(inputs[3], inputs, outputs);
}

std::vector<Array> reference(const QLinearConv& op, const Arrays& inputs) {
  const Array &x = inputs[0], &w = inputs[3];
  const ResolvedWindow window = internal::window_over(op.window, x.shape().dims(), w.shape().dims(), inputs.op());
  Array y(inputs[7].type(), output_shape(x, w, window));
  const std::vector<double> w_scales = inputs[4].to_double();
  const double x_scale = inputs[1].to_double()[0], y_scale = inputs[6].to_double()[0],
               y_zero = inputs[7].to_double()[0];
  const std::vector<std::int64_t> bias = inputs.has(8) ? inputs[8].to_int64() : std::vector<std::int64_t>{};
  std::vector<float> multipliers;  // per output channel
  for (std::int64_t m = 0; m < w.shape()[0]; ++m) {
    const double w_scale = w_scales[w_scales.size() == 1 ? 0 : static_cast<std::size_t>(m)];
    multipliers.push_back(static_cast<float>(x_scale) * static_cast<float>(w_scale) / static_cast<float>(y_scale));
  }
  visit_element_type(y.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* ys = y.as<T>().data();
    convolve_integers(x, w, window, op.groups, zeros_of(inputs, 2), zeros_of(inputs, 5),
                      [&](std::int64_t m, std::int64_t i, std::int64_t sum) {
                        const auto total =
                            static_cast<std::int32_t>(sum + (bias.empty() ? 0 : bias[static_cast<std::size_t>(m)]));
                        // In float, as the scales are.
                        const float value = static_cast<float>(total) * multipliers[static_cast<std::size_t>(m)];
                        ys[i] = internal::saturated<T>(std::nearbyint(static_cast<double>(value)) + y_zero);
                      });
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const ConvInteger& op, const Knowns& inputs) {
  inputs.expect_count(2, 4);
  for (std::size_t i : {0, 1}) expect_bytes(inputs, i);
  if (inputs.has(2)) {
    inputs.expect_same_type(0, 2);
    expect_one(inputs, 2);
  }
  if (inputs.has(3)) {
    inputs.expect_same_type(1, 3);
    expect_one_or_per_output(inputs, 3, inputs[1], "zero point of the weights");
  }
  return {TensorType(ElementType::int32, internal::conv_dims(op.window, op.groups, inputs, 0, 1))};
}

Work work(const ConvInteger&, const Types& inputs, const Types& outputs) {
  return conv_work(inputs[1], inputs, outputs);
}

std::vector<Array> reference(const ConvInteger& op, const Arrays& inputs) {
  const Array &x = inputs[0], &w = inputs[1];
  const ResolvedWindow window = internal::window_over(op.window, x.shape().dims(), w.shape().dims(), inputs.op());
  Array y(ElementType::int32, output_shape(x, w, window));
  std::int32_t* ys = y.as<std::int32_t>().data();
  convolve_integers(x, w, window, op.groups, zeros_of(inputs, 2), zeros_of(inputs, 3),
                    [&](std::int64_t, std::int64_t i, std::int64_t sum) { ys[i] = static_cast<std::int32_t>(sum); });
  return {std::move(y)};
}

}  // namespace tessera
