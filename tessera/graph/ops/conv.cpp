#include "tessera/graph/ops/conv.h"

#include "tessera/graph/ops/internal/convolve.h"

#include <algorithm>

namespace tessera {

std::vector<TensorType> infer(const Conv& op, const Knowns& inputs) {
  inputs.expect_count(2, 3);
  inputs.expect_same_type(0, 1);
  visit_floating_type(inputs[0].type, inputs.op(), [](auto) {});
  if (inputs.has(2)) {
    inputs.expect_same_type(0, 2);
    internal::expect_per_output(inputs, 2, inputs[1], "bias");
  }
  return {TensorType(inputs[0].type, internal::conv_dims(op.window, op.groups, inputs, 0, 1))};
}

Work work(const Conv&, const Types& inputs, const Types& outputs) {
  if (!inputs[1].is_static()) return streaming_work(inputs, outputs);
  const Shape w = inputs[1].shape();
  return streaming_work(inputs, outputs, 2.0 * static_cast<double>(w.volume() / std::max<std::int64_t>(w[0], 1)));
}

std::vector<Array> reference(const Conv& op, const Arrays& inputs) {
  const Array &x = inputs[0], &w = inputs[1];
  const ResolvedWindow window = internal::window_over(op.window, x.shape().dims(), w.shape().dims(), inputs.op());
  std::vector<std::int64_t> dims{x.shape()[0], w.shape()[0]};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  Array y(x.type(), Shape(dims));
  visit_floating_type(x.type(), inputs.op(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto *xs = x.as<T>().data(), *ws = w.as<T>().data(),
               *bias = inputs.has(2) ? inputs[2].as<T>().data() : nullptr;
    T* ys = y.as<T>().data();
    internal::convolve<double>(
        x.shape(), w.shape(), window, op.groups, [&](std::int64_t i) { return static_cast<double>(xs[i]); },
        [&](std::int64_t, std::int64_t i) { return static_cast<double>(ws[i]); },
        [&](std::int64_t m, std::int64_t i, double sum) {
          ys[i] = static_cast<T>(sum + (bias ? static_cast<double>(bias[m]) : 0.0));
        });
  });
  return {std::move(y)};
}

}  // namespace tessera
