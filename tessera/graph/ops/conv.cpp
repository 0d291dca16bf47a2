#include "tessera/graph/ops/conv.h"

#include "tessera/core/error.h"

#include <algorithm>

namespace tessera {
namespace {

// The window with its kernel filled in from the weights.
ResolvedWindow window_of(const Conv& op, const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& w) {
  Window window = op.window;
  const std::vector<std::int64_t> kernel(w.begin() + 2, w.end());
  if (window.kernel.empty()) window.kernel = kernel;
  check(window.kernel == kernel, Code::invalid_argument, "Conv: the kernel_shape does not agree with the weights");
  return resolve(window, {x.begin() + 2, x.end()}, false, "Conv");
}

}  // namespace

std::vector<TensorType> infer(const Conv& op, const Knowns& inputs) {
  inputs.expect_count(2, 3);
  inputs.expect_same_type(0, 1);
  const TensorType &x = inputs[0], &w = inputs[1];
  if (!x.dims || !w.is_static()) return {TensorType(x.type, std::nullopt)};
  inputs.expect_rank(0, 3, Shape::kMaxRank);
  inputs.expect_rank(1, x.rank(), x.rank());
  const std::int64_t channels = (*x.dims)[1], outputs = (*w.dims)[0];
  check(op.groups >= 1 && outputs % op.groups == 0, Code::invalid_argument, "Conv: {} output channels do not divide into {} groups",
        outputs, op.groups);
  check(channels == TensorType::kUnknown || channels == (*w.dims)[1] * op.groups, Code::invalid_argument,
        "Conv: the input has {} channels but the weights expect {} ({} per group x {} groups)", channels, (*w.dims)[1] * op.groups,
        (*w.dims)[1], op.groups);
  check(!inputs.has(2) || !inputs[2].is_static() || inputs[2].shape() == Shape{outputs}, Code::invalid_argument,
        "Conv: the bias is {}, {} output channels need that many", inputs.has(2) ? inputs[2].to_string() : "", outputs);
  std::vector<std::int64_t> dims{(*x.dims)[0], outputs};
  const ResolvedWindow window = window_of(op, *x.dims, *w.dims);
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  return {TensorType(x.type, dims)};
}

Work work(const Conv&, const Types& inputs, const Types& outputs) {
  if (!inputs[1].is_static()) return {};
  const Shape w = inputs[1].shape();
  return streaming_work(inputs, outputs, 2.0 * static_cast<double>(w.volume() / std::max<std::int64_t>(w[0], 1)));
}

std::vector<Array> reference(const Conv& op, const Arrays& inputs) {
  const Array &x = inputs[0], &w = inputs[1];
  const ResolvedWindow window = window_of(op, x.shape().dims(), w.shape().dims());
  const std::size_t rank = window.output.size();
  std::vector<std::int64_t> dims{x.shape()[0], w.shape()[0]};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  Array y(x.type(), Shape(dims));
  const std::int64_t in_per_group = w.shape()[1], out_per_group = w.shape()[0] / op.groups;
  std::int64_t in_area = 1, out_area = 1, kernel_area = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    in_area *= x.shape().dims()[d + 2];
    out_area *= window.output[d];
    kernel_area *= window.kernel[d];
  }
  visit_floating_type(x.type(), "Conv", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>(), ws = w.as<T>();
    const auto ys = y.as<T>();
    for (std::int64_t n = 0; n < dims[0]; ++n)
      for (std::int64_t m = 0; m < dims[1]; ++m)
        for (std::int64_t o = 0; o < out_area; ++o) {
          double sum = inputs.has(2) ? static_cast<double>(inputs[2].as<T>()[static_cast<std::size_t>(m)]) : 0.0;
          for (std::int64_t k = 0; k < kernel_area; ++k) {
            // Where this tap of the window lies in the input, from the last dimension to the first.
            std::int64_t at = 0, stride = 1, rest_o = o, rest_k = k;
            bool inside = true;
            for (std::size_t d = rank; d-- > 0;) {
              const std::int64_t position = rest_o % window.output[d] * window.strides[d] +
                                            rest_k % window.kernel[d] * window.dilations[d] - window.begins[d];
              rest_o /= window.output[d];
              rest_k /= window.kernel[d];
              inside = inside && position >= 0 && position < x.shape().dims()[d + 2];
              at += position * stride;
              stride *= x.shape().dims()[d + 2];
            }
            if (!inside) continue;
            for (std::int64_t c = 0; c < in_per_group; ++c) {
              const std::int64_t channel = m / out_per_group * in_per_group + c;
              sum += static_cast<double>(xs[static_cast<std::size_t>((n * x.shape()[1] + channel) * in_area + at)]) *
                     static_cast<double>(ws[static_cast<std::size_t>((m * in_per_group + c) * kernel_area + k)]);
            }
          }
          ys[static_cast<std::size_t>((n * dims[1] + m) * out_area + o)] = static_cast<T>(sum);
        }
  });
  return {std::move(y)};
}

}  // namespace tessera
