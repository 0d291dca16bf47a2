#include "tessera/targets/tensix/ops/conv_transpose2d/conv_transpose2d.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_call.h"

#include <algorithm>

namespace tessera::tensix {

std::int64_t ConvTranspose2dProblem::out_h() const { return as_convolution().out_h(); }
std::int64_t ConvTranspose2dProblem::out_w() const { return as_convolution().out_w(); }

Conv2dProblem ConvTranspose2dProblem::as_convolution() const {
  Conv2dProblem p = conv;
  const SlidingWindow& w = conv.window;
  p.height = (conv.height - 1) * w.stride_h + 1;
  p.width = (conv.width - 1) * w.stride_w + 1;
  const std::int64_t reach_h = w.dilation_h * (w.kernel_h - 1), reach_w = w.dilation_w * (w.kernel_w - 1);
  p.window.stride_h = p.window.stride_w = 1;
  // Zeros between pixels keep a 1x1 window from running as a product. A dilation, which such a window has no use for,
  // says so to the plan.
  if (w.kernel_h == 1 && w.kernel_w == 1 && (w.stride_h > 1 || w.stride_w > 1)) {
    p.window.dilation_h = std::max(w.dilation_h, w.stride_h);
    p.window.dilation_w = std::max(w.dilation_w, w.stride_w);
  }
  p.window.top = reach_h - w.top;
  p.window.bottom = reach_h - w.bottom + output_padding_h;
  p.window.left = reach_w - w.left;
  p.window.right = reach_w - w.right + output_padding_w;
  p.config.enable_kernel_stride_folding = false;
  return p;
}

Tensor turn_weights(const Tensor& weights, const Conv2dProblem& p) {
  const std::int64_t kh = p.window.kernel_h, kw = p.window.kernel_w;
  const std::int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
  const Shape wanted{p.in_channels, out, kh, kw};
  check(weights.shape() == wanted, Code::invalid_argument,
        "conv_transpose2d: weights of {} input channels, {} output channels in {} groups and a {}x{} window have shape "
        "{}, not {}",
        p.in_channels, p.out_channels, p.groups, kh, kw, wanted.to_string(), weights.shape().to_string());
  const std::vector<float> from = weights.to_float32();
  std::vector<float> to(from.size());
  std::size_t index = 0;
  for (std::int64_t i = 0; i < p.in_channels; ++i)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t y = 0; y < kh; ++y)
        for (std::int64_t x = 0; x < kw; ++x) {
          const std::int64_t channel = i / in * out + o;
          to[static_cast<std::size_t>(((channel * in + i % in) * kh + kh - 1 - y) * kw + kw - 1 - x)] = from[index++];
        }
  return Tensor::from_float32(to, {p.out_channels, in, kh, kw}, DType::float32, Layout::row_major);
}

Conv2dResult conv_transpose2d(DeviceTensor input, const Conv2dOperand& weights,
                              const std::optional<Conv2dOperand>& bias, const ConvTranspose2dProblem& problem,
                              const Conv2dOptions& options) {
  const SlidingWindow& w = problem.conv.window;
  check(w.stride_h > 0 && w.stride_w > 0 && w.kernel_h > 0 && w.kernel_w > 0 && problem.conv.groups > 0 &&
            problem.conv.in_channels > 0 && problem.conv.out_channels > 0 &&
            problem.conv.in_channels % problem.conv.groups == 0 && problem.conv.out_channels % problem.conv.groups == 0,
        Code::invalid_argument, "conv_transpose2d: stride {}x{}, kernel {}x{}, {} groups of {} and {} channels",
        w.stride_h, w.stride_w, w.kernel_h, w.kernel_w, problem.conv.groups, problem.conv.in_channels,
        problem.conv.out_channels);
  check(problem.output_padding_h >= 0 && problem.output_padding_h < w.stride_h && problem.output_padding_w >= 0 &&
            problem.output_padding_w < w.stride_w,
        Code::invalid_argument, "conv_transpose2d: output padding {}x{} must be less than the stride {}x{}",
        problem.output_padding_h, problem.output_padding_w, w.stride_h, w.stride_w);
  Conv2dProblem p = problem.as_convolution();
  check(p.window.top >= 0 && p.window.bottom >= 0 && p.window.left >= 0 && p.window.right >= 0, Code::unsupported,
        "conv_transpose2d: padding {},{},{},{} takes off more than the window of {}x{} adds", w.top, w.bottom, w.left,
        w.right, w.kernel_h, w.kernel_w);
  Conv2dOperand turned = weights;
  if (const Tensor* host = std::get_if<Tensor>(&weights)) {
    turned = turn_weights(*host, problem.conv);
    if (!p.config.weights_dtype) p.config.weights_dtype = host->dtype();
  }
  const Conv2dCall call = call_conv2d(input, turned, bias, p, options, true, w.stride_h, w.stride_w);
  return finish_conv2d(call, std::move(input), turned, bias);
}

}  // namespace tessera::tensix
