#include "tessera/targets/cpu/kernels/integer/integer_conv.h"

#include "tessera/core/shape.h"
#include "tessera/graph/ops/quantize.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace tessera::cpu {
namespace {

IntegerShape shape_of(const Problem& problem, std::size_t w_at, Window window, std::int64_t groups) {
  const Shape x = problem.input(0).shape(), w = problem.input(w_at).shape();
  if (window.kernel.empty()) window.kernel.assign(w.begin() + 2, w.end());
  const ResolvedWindow r = resolve(window, {x.begin() + 2, x.end()}, false, name(problem.node.op));
  IntegerShape s;
  s.groups = groups;
  s.images = x[0], s.ic = w[1], s.oc = w[0] / groups;
  const std::size_t last = r.kernel.size() - 1;
  s.w = x[-1], s.ow = r.output[last], s.kw = r.kernel[last], s.sw = r.strides[last], s.dw = r.dilations[last],
  s.left = r.begins[last];
  if (last == 1)
    s.h = x[2], s.oh = r.output[0], s.kh = r.kernel[0], s.sh = r.strides[0], s.dh = r.dilations[0], s.top = r.begins[0];
  return s;
}

}  // namespace

std::variant<IntegerConv, Refusal> read_integer_conv(const Problem& problem) {
  IntegerConv conv;
  const auto* quantized = std::get_if<QLinearConv>(&problem.node.op);
  conv.requantizes = quantized != nullptr;
  if (!conv.requantizes) conv.w = 1, conv.x_zero = 2, conv.w_zero = 3;
  const int rank = problem.input(0).rank();
  if (rank != 3 && rank != 4) return Refusal{fmt::format("{} spatial dimensions, not 1 or 2", rank - 2)};
  if (problem.constant(conv.w) == nullptr) return Refusal{"the weights are computed"};
  if (problem.has(conv.w_zero) && problem.constant(conv.w_zero) == nullptr)
    return Refusal{"the zero points of the weights are computed"};
  conv.x_sign = problem.input(0).type == ElementType::int8;
  conv.has_x_zero = problem.has(conv.x_zero);
  if (conv.requantizes) {
    for (const std::size_t i : {1, 4, 6})
      if (problem.input(i).type != ElementType::float32) return Refusal{"a scale is not float32"};
    conv.has_bias = problem.node.op_inputs() > 8 && problem.has(8);
    conv.one_scale = problem.input(4).shape().volume() == 1;
    const auto requantization = read_requantization(problem, 7);
    if (const auto* refusal = std::get_if<Refusal>(&requantization)) return *refusal;
    conv.requantization = std::get<Requantization>(requantization);
    conv.shape = shape_of(problem, conv.w, quantized->window, quantized->groups);
  } else {
    if (!problem.node.fused.empty()) return Refusal{"something is fused"};
    conv.requantization.epilogue.requantizes = false;
    const auto& plain = std::get<ConvInteger>(problem.node.op);
    conv.shape = shape_of(problem, conv.w, plain.window, plain.groups);
  }
  return conv;
}

Offer integer_conv_offer(const Problem& problem, const IntegerConv& conv) {
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = Order::channels_last;
  if (const int residual = conv.requantization.residual; residual >= 0)
    offer.inputs[static_cast<std::size_t>(residual)] = Order::channels_last;
  offer.outputs = {Order::channels_last};
  return offer;
}

std::int64_t ConvColumns::scratch_bytes(std::int64_t columns) { return round_up(columns * 8, 64); }

ConvColumns::ConvColumns(const Problem& problem, const IntegerConv& conv, std::vector<std::int32_t> channel_of,
                         const std::int32_t* sums, std::int32_t more)
    : channel_of_(std::move(channel_of)), sums_(sums), more_(more) {
  const auto is_known = [&](std::size_t i) { return !problem.has(i) || problem.constant(i) != nullptr; };
  known_ = is_known(conv.x_zero);
  if (conv.requantizes) known_ = known_ && is_known(1) && is_known(4) && is_known(6) && (!conv.has_bias || is_known(8));
  if (!known_) return;
  Parts from;
  if (conv.has_x_zero) from.x_zero = byte_value(problem.constant(conv.x_zero)->bytes().data(), conv.x_sign);
  if (conv.requantizes) {
    from.x_scale = problem.constant(1)->as<float>().data();
    from.w_scales = problem.constant(4)->as<float>().data();
    from.y_scale = problem.constant(6)->as<float>().data();
  }
  if (conv.has_bias) from.bias = problem.constant(8)->as<std::int32_t>().data();
  bias_.resize(channel_of_.size());
  factors_.resize(channel_of_.size());
  within_int32_ = make(conv, from, bias_.data(), factors_.data());
}

bool ConvColumns::make(const IntegerConv& conv, const Parts& from, std::int32_t* bias, float* factors) const {
  const auto less = static_cast<std::uint32_t>(from.x_zero + more_);
  bool within_int32 = true;
  for (std::size_t i = 0; i < channel_of_.size(); ++i) {
    const std::int32_t channel = channel_of_[i];
    const auto own = static_cast<std::uint32_t>(from.bias == nullptr || channel < 0 ? 0 : from.bias[channel]);
    const std::uint32_t added = sums_ == nullptr ? 0 : less * static_cast<std::uint32_t>(sums_[i]);
    bias[i] = static_cast<std::int32_t>(own - added);  // wraps around, as the sum of the definition does
    factors[i] = !conv.requantizes || channel < 0
                     ? 0.0f
                     : *from.x_scale * from.w_scales[conv.one_scale ? 0 : channel] / *from.y_scale;
    within_int32 = within_int32 && std::abs(factors[i]) < kWithinInt32;
  }
  return within_int32;
}

ConvColumns::Values ConvColumns::values(const StepArgs& args, const IntegerConv& conv, std::byte* scratch) const {
  if (known_) return {bias_.data(), factors_.data(), within_int32_};
  auto* bias = reinterpret_cast<std::int32_t*>(scratch);
  auto* factors = reinterpret_cast<float*>(scratch + channel_of_.size() * 4);
  Parts from;
  from.x_zero = conv.x_zero_value(args);
  if (conv.requantizes) {
    from.x_scale = args.input<float>(1);
    from.w_scales = args.input<float>(4);
    from.y_scale = args.input<float>(6);
  }
  if (conv.has_bias) from.bias = args.input<std::int32_t>(8);
  const bool within_int32 = make(conv, from, bias, factors);
  return {bias, factors, within_int32};
}

}  // namespace tessera::cpu
