#include "tessera/targets/tensix/ops/conv2d/conv2d_weights.h"

#include "tessera/core/error.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/tile_side.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

// Which row of the matrix the weight of a kernel position and input channel is in.
class WeightRows {
 public:
  explicit WeightRows(const Conv2dPlan& plan) : plan_(plan) {
    const Conv2dProblem& p = plan.problem;
    channels_ = plan.in_channels_padded / plan.input.channel_parts;
    part_rows_ = plan.weight_matrix.height / plan.input.channel_parts;
    const bool height = plan.input.layout == TensorMemoryLayout::height_sharded;
    taps_ = plan.depthwise_1d && height;
    const bool whole = plan.input.layout == TensorMemoryLayout::width_sharded ||
                       (height ? p.config.enable_activation_reuse : p.config.full_inner_dim);
    // Each kernel row begins a tile, unless the whole window is read at once.
    line_ = whole ? channels_ * p.window.kernel_w : round_up(channels_ * p.window.kernel_w, kTile);
  }

  std::int64_t row(std::int64_t ky, std::int64_t kx, std::int64_t channel) const {
    if (taps_) return kx * (plan_.weight_matrix.height / plan_.problem.window.kernel_w);
    return channel / channels_ * part_rows_ + ky * line_ + kx * channels_ + channel % channels_;
  }

 private:
  const Conv2dPlan& plan_;
  std::int64_t channels_ = 0, part_rows_ = 0, line_ = 0;
  bool taps_ = false;
};

struct Folded {
  std::int64_t ky = 0, kx = 0, channel = 0;
};

// Where a weight goes when the image is folded by the stride: the pixels of a step become channels.
Folded fold_weight(const Conv2dProblem& problem, bool fold, std::int64_t ky, std::int64_t kx, std::int64_t channel) {
  if (!fold) return {ky, kx, channel};
  const SlidingWindow& w = problem.window;
  const std::int64_t within = (ky % w.stride_h) * w.stride_w + kx % w.stride_w;
  return {ky / w.stride_h, kx / w.stride_w, within * problem.in_channels + channel};
}

// Calls visit(index in the model's weights, row, output channel) for every weight.
template <typename Visit>
void for_each_weight(const Conv2dProblem& p, const Conv2dPlan& plan, bool fold, Visit&& visit) {
  const WeightRows rows(plan);
  const std::int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
  std::int64_t index = 0;
  for (std::int64_t o = 0; o < p.out_channels; ++o)
    for (std::int64_t i = 0; i < in; ++i)
      for (std::int64_t ky = 0; ky < p.window.kernel_h; ++ky)
        for (std::int64_t kx = 0; kx < p.window.kernel_w; ++kx) {
          const Folded at = fold_weight(p, fold, ky, kx, o / out * in + i);
          visit(index++, rows.row(at.ky, at.kx, at.channel), o);
        }
}

std::int64_t weight_count(const Conv2dProblem& p) {
  return p.out_channels * (p.in_channels / p.groups) * p.window.kernel_h * p.window.kernel_w;
}

}  // namespace

void check_conv_weights(const Shape& weights, const Conv2dProblem& problem) {
  const Shape wanted{problem.out_channels, problem.in_channels / problem.groups, problem.window.kernel_h,
                     problem.window.kernel_w};
  check(
      weights == wanted, Code::invalid_argument,
      "conv2d: weights of {} output channels, {} input channels in {} groups and a {}x{} window have shape {}, not {}",
      problem.out_channels, problem.in_channels, problem.groups, problem.window.kernel_h, problem.window.kernel_w,
      wanted.to_string(), weights.to_string());
}

void check_conv_bias(const Shape& bias, const Conv2dProblem& problem) {
  check(bias.volume() == problem.out_channels, Code::invalid_argument,
        "conv2d: a bias of shape {} for {} output channels", bias.to_string(), problem.out_channels);
}

Tensor prepare_conv_weights(const Tensor& weights, const Conv2dProblem& problem, const Conv2dPlan& plan, DType dtype) {
  check_conv_weights(weights.shape(), problem);
  const std::vector<float> values = weights.to_float32();
  const Extent2d size = plan.weight_matrix;
  std::vector<float> matrix(static_cast<std::size_t>(size.height * size.width));
  for_each_weight(problem, plan, plan.folded, [&](std::int64_t index, std::int64_t row, std::int64_t column) {
    matrix[static_cast<std::size_t>(row * size.width + column)] = values[static_cast<std::size_t>(index)];
  });
  return Tensor::from_float32(matrix, {1, 1, size.height, size.width}, dtype, Layout::tile);
}

Tensor prepare_conv_bias(const Tensor& bias, const Conv2dProblem& problem, const Conv2dPlan& plan, DType dtype) {
  check_conv_bias(bias.shape(), problem);
  const std::vector<float> values = bias.to_float32();
  std::vector<float> padded(static_cast<std::size_t>(plan.weight_matrix.width));
  std::ranges::copy(values, padded.begin());
  return Tensor::from_float32(padded, {1, 1, 1, plan.weight_matrix.width}, dtype, Layout::tile);
}

Conv2dProblem multiplied_problem(const Conv2dPlan& plan) {
  Conv2dProblem p = plan.problem;
  if (plan.folded) p.groups = 1;
  return p;
}

std::vector<float> unprepare_conv_weights(std::span<const float> matrix, const Conv2dPlan& plan) {
  const Extent2d size = plan.weight_matrix;
  check(static_cast<std::int64_t>(matrix.size()) == size.height * size.width, Code::invalid_argument,
        "conv2d: {} weights for a matrix of {}x{}", matrix.size(), size.height, size.width);
  const Conv2dProblem p = multiplied_problem(plan);
  std::vector<float> out(static_cast<std::size_t>(weight_count(p)));
  for_each_weight(p, plan, false, [&](std::int64_t index, std::int64_t row, std::int64_t column) {
    out[static_cast<std::size_t>(index)] = matrix[static_cast<std::size_t>(row * size.width + column)];
  });
  return out;
}

std::vector<float> fold_image(std::span<const float> image, const Conv2dProblem& p) {
  const SlidingWindow& w = p.window;
  const std::int64_t rows = (p.height + w.top + w.bottom) / w.stride_h;
  const std::int64_t columns = (p.width + w.left + w.right) / w.stride_w;
  const std::int64_t channels = p.in_channels, step = w.stride_h * w.stride_w * channels;
  std::vector<float> out(static_cast<std::size_t>(p.batch * rows * columns * step));
  for (std::int64_t n = 0; n < p.batch; ++n)
    for (std::int64_t y = 0; y < p.height; ++y)
      for (std::int64_t x = 0; x < p.width; ++x) {
        const std::int64_t py = y + w.top, px = x + w.left;
        const std::int64_t pixel = (n * rows + py / w.stride_h) * columns + px / w.stride_w;
        const std::int64_t within = (py % w.stride_h * w.stride_w + px % w.stride_w) * channels;
        const auto from = image.begin() + ((n * p.height + y) * p.width + x) * channels;
        std::copy(from, from + channels, out.begin() + pixel * step + within);
      }
  return out;
}

std::vector<float> spread_image(std::span<const float> image, const Conv2dProblem& p, std::int64_t spread_h,
                                std::int64_t spread_w) {
  std::vector<float> out(static_cast<std::size_t>(p.batch * p.height * p.width * p.in_channels));
  auto from = image.begin();
  for (std::int64_t n = 0; n < p.batch; ++n)
    for (std::int64_t y = 0; y < p.height; y += spread_h)
      for (std::int64_t x = 0; x < p.width; x += spread_w) {
        std::copy(from, from + p.in_channels, out.begin() + ((n * p.height + y) * p.width + x) * p.in_channels);
        from += p.in_channels;
      }
  return out;
}

}  // namespace tessera::tensix
