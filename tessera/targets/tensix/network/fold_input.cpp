#include "tessera/targets/tensix/network/fold_input.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kMostFoldedChannels = 32;  // of a folded pixel: beyond that nothing is gained

std::int64_t parts(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

bool is_foldable(const LoweredGraph& network, const LoweredNode& node) {
  const auto* conv = node.layer.as<ConvLayer>();
  if (conv == nullptr || conv->transposed || network.folds.contains(node.inputs[0])) return false;
  const Conv2dProblem& p = conv->problem;
  const SlidingWindow& w = p.window;
  const auto is_input = [&](ValueId id) {
    const auto& inputs = network.graph.inputs;
    return std::find(inputs.begin(), inputs.end(), id) != inputs.end();
  };
  std::size_t readers = 0;
  for (const LoweredNode& each : network.nodes)
    readers += static_cast<std::size_t>(std::count(each.inputs.begin(), each.inputs.end(), node.inputs[0]));
  const auto& outputs = network.graph.outputs;
  return is_input(node.inputs[0]) && readers == 1 &&
         std::find(outputs.begin(), outputs.end(), node.inputs[0]) == outputs.end() && p.groups == 1 &&
         w.dilation_h == 1 && w.dilation_w == 1 && w.stride_h > 1 && w.stride_w > 1 && w.kernel_h > w.stride_h &&
         w.kernel_w > w.stride_w && p.in_channels * w.stride_h * w.stride_w <= kMostFoldedChannels;
}

Constant folded_weights(const Array& given, const Conv2dProblem& from, const Conv2dProblem& to) {
  const SlidingWindow& w = from.window;
  auto out = std::make_shared<Array>(ElementType::float32,
                                     Shape{to.out_channels, to.in_channels, to.window.kernel_h, to.window.kernel_w});
  const auto source = given.as<float>();
  const auto target = out->as<float>();
  std::fill(target.begin(), target.end(), 0.0f);
  for (std::int64_t o = 0; o < from.out_channels; ++o)
    for (std::int64_t c = 0; c < from.in_channels; ++c)
      for (std::int64_t y = 0; y < w.kernel_h; ++y)
        for (std::int64_t x = 0; x < w.kernel_w; ++x) {
          const std::int64_t channel = (y % w.stride_h * w.stride_w + x % w.stride_w) * from.in_channels + c;
          const std::int64_t at =
              ((o * to.in_channels + channel) * to.window.kernel_h + y / w.stride_h) * to.window.kernel_w +
              x / w.stride_w;
          target[static_cast<std::size_t>(at)] =
              source[static_cast<std::size_t>(((o * from.in_channels + c) * w.kernel_h + y) * w.kernel_w + x)];
        }
  return out;
}

}  // namespace

std::vector<std::string> foldable_inputs(const LoweredGraph& network) {
  std::vector<std::string> names;
  for (const LoweredNode& node : network.nodes)
    if (is_foldable(network, node)) names.push_back(node.name);
  return names;
}

LoweredGraph fold_inputs(LoweredGraph network, const std::vector<std::string>& nodes) {
  for (const std::string& name : nodes) {
    const auto node = std::find_if(network.nodes.begin(), network.nodes.end(),
                                   [&](const LoweredNode& each) { return each.name == name; });
    check(node != network.nodes.end() && is_foldable(network, *node), Code::invalid_argument,
          "'{}' is no convolution of few channels that steps over the network's input", name);
    auto& conv = *node->layer.as<ConvLayer>();
    const Conv2dProblem from = conv.problem;
    const SlidingWindow& w = from.window;
    Conv2dProblem& to = conv.problem;
    to.window = {.kernel_h = parts(w.kernel_h, w.stride_h), .kernel_w = parts(w.kernel_w, w.stride_w)};
    to.in_channels = from.in_channels * w.stride_h * w.stride_w;
    to.height = from.out_h() + to.window.kernel_h - 1;
    to.width = from.out_w() + to.window.kernel_w - 1;
    conv.weights = folded_weights(*conv.weights, from, to);
    network.folds[node->inputs[0]] = {from.batch, to.height,  to.width, from.in_channels,
                                      w.stride_h, w.stride_w, w.top,    w.left};
  }
  return network;
}

std::vector<float> folded_rows(const Array& image, const InputFold& f) {
  const std::int64_t height = image.shape()[2], width = image.shape()[3], channels = f.by_h * f.by_w * f.channels;
  std::vector<float> rows(static_cast<std::size_t>(f.batch * f.height * f.width * channels));
  const auto pixels = image.as<float>();
  for (std::int64_t n = 0; n < f.batch; ++n)
    for (std::int64_t y = 0; y < f.height * f.by_h; ++y)
      for (std::int64_t x = 0; x < f.width * f.by_w; ++x) {
        const std::int64_t from_y = y - f.top, from_x = x - f.left;
        if (from_y < 0 || from_y >= height || from_x < 0 || from_x >= width) continue;  // padding
        const std::int64_t row = (n * f.height + y / f.by_h) * f.width + x / f.by_w;
        for (std::int64_t c = 0; c < f.channels; ++c)
          rows[static_cast<std::size_t>(row * channels + (y % f.by_h * f.by_w + x % f.by_w) * f.channels + c)] =
              pixels[static_cast<std::size_t>(((n * f.channels + c) * height + from_y) * width + from_x)];
      }
  return rows;
}

}  // namespace tessera::tensix
