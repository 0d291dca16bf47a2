// QLinearConv and ConvInteger that keep channels apart (groups = channels = outputs), channels last: exactly as
// defined.

#include "tessera/core/parallel_for.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/quantize.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/integer/integer_conv.h"
#include "tessera/targets/cpu/kernels/integer/integer_depthwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kChunk = 64;               // channels that one thread takes at least
constexpr std::int64_t kGrainProducts = 1 << 17;  // fewer are not worth a thread

// How a kernel wants its weights.
struct Layout {
  std::int64_t taps;   // beside each other
  std::int64_t block;  // channels are padded to a multiple
  bool in_place() const { return taps == 4; }
  std::int64_t padded(std::int64_t channels) const { return round_up(channels, block); }
};

Layout layout_of(Isa isa) {
  if (isa >= Isa::avx512_vnni) return {4, 64};
  return {2, isa == Isa::portable ? 4 : isa == Isa::avx2 ? 8 : 16};
}

// The channel at place i of the weights, bias and factors (see integer_depthwise_simd.h). 32 channels are there twice.
std::int64_t channel_at(const Layout& layout, std::int64_t channels, std::int64_t i) {
  if (!layout.in_place()) return i;
  const std::int64_t in = i % 64, vector = in / 16, lane = in % 16 / 4;
  const std::int64_t channel = i / 64 * 64 + lane * 16 + vector * 4 + in % 4;
  return channels == 32 ? channel % 32 : channel;
}

IntegerDepthwiseFn function_of(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512_vnni) return avx512_vnni::integer_depthwise;
  if (isa == Isa::avx512) return avx512::integer_depthwise;
  if (isa == Isa::avx2) return avx2::integer_depthwise;
#endif
  (void)isa;
  return portable::integer_depthwise;
}

Answer consider(const KernelInfo& info, const Problem& problem) {
  const auto read = read_integer_conv(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const IntegerConv& conv = std::get<IntegerConv>(read);
  const IntegerShape& s = conv.shape;
  if (!conv.is_depthwise())
    return Refusal{fmt::format("{} channels make {} outputs in each of {} groups: not one each", s.ic, s.oc, s.groups)};
  if (s.taps() > kDepthwiseMostTaps) return Refusal{"more taps than it has room for"};
  const Layout layout = layout_of(info.isa);
  if (layout.in_place()) {
    if (!conv.requantizes) return Refusal{"the sums are asked for"};
    if (conv.requantization.residual >= 0) return Refusal{"a sum is fused"};
    if (!fit_int8(*problem.constant(conv.w), problem.constant(conv.w_zero), s.taps()))
      return Refusal{"weights less their zero points do not fit int8"};
  }
  Offer offer = integer_conv_offer(problem, conv);
  offer.scratch_bytes = ConvColumns::scratch_bytes(layout.padded(s.groups)) + round_up(layout.padded(s.groups), 64);
  const Work w = work(problem.graph, problem.node);
  const double useful = static_cast<double>(s.groups) / static_cast<double>(layout.padded(s.groups));
  offer.estimate =
      estimate(problem, info.isa, w.flops, w.read_bytes + w.write_bytes, useful * (layout.in_place() ? 0.6 : 0.2));
  return offer;
}

// Weights in the order of the kernel, and behind them the sum of each channel.
PackedWeights pack(const Array& w, const Array* zeros, const Layout& layout) {
  const std::int64_t channels = w.shape()[0], taps = w.count() / channels, groups = ceil_div(taps, layout.taps),
                     padded = layout.padded(channels);
  const bool has_sign = w.type() == ElementType::int8;
  const std::vector<std::int64_t> z = constant_zeros(zeros);
  PackedWeights packed(static_cast<std::size_t>(groups * padded * 4 + padded * 4));
  std::memset(packed.data(), 0, packed.bytes());
  auto* sums = reinterpret_cast<std::int32_t*>(packed.data() + groups * padded * 4);
  for (std::int64_t i = 0; i < padded; ++i) {
    const std::int64_t c = channel_at(layout, channels, i);
    if (c >= channels) continue;
    const auto zero = static_cast<std::int32_t>(z[z.size() == 1 ? 0 : static_cast<std::size_t>(c)]);
    for (std::int64_t t = 0; t < taps; ++t) {
      const std::int32_t value = byte_value(w.bytes().data() + c * taps + t, has_sign) - zero;
      sums[i] += value;
      const std::int64_t group = t / layout.taps, in = t % layout.taps;
      if (layout.in_place())  // [64 channels][group][vector][16 channels][4]
        packed.data()[(i / 64 * groups + group) * 256 + i % 64 * 4 + in] = static_cast<std::byte>(value);
      else  // [group][channels][2]
        reinterpret_cast<std::int16_t*>(packed.data())[(group * padded + i) * 2 + in] =
            static_cast<std::int16_t>(value);
    }
  }
  return packed;
}

Runner prepare(const KernelInfo& info, const Problem& problem, const Offer&, WeightCache& weights) {
  struct State {
    IntegerConv conv;
    IntegerDepthwiseJob job;
    std::shared_ptr<const PackedWeights> weights;
    ConvColumns columns;
    IntegerDepthwiseFn run = nullptr;
    std::int64_t padded = 0, units = 0, grain = 1;
  };
  auto state = std::make_shared<State>();
  state->conv = std::get<IntegerConv>(read_integer_conv(problem));
  const IntegerConv& conv = state->conv;
  const IntegerShape& s = conv.shape;
  const Layout layout = layout_of(info.isa);
  const Array* zeros = problem.constant(conv.w_zero);
  state->weights =
      weights.get(problem.graph.value(problem.node.inputs[conv.w]).constant,
                  fmt::format("depthwise integers {} by {} zeros={}", layout.block, layout.taps, zeros_text(zeros)),
                  [&](const Array& w) { return pack(w, zeros, layout); });
  state->padded = layout.padded(s.groups);
  const std::byte* packed = state->weights->data();
  std::vector<std::int32_t> channel_of;
  for (std::int64_t i = 0; i < state->padded; ++i) {
    const std::int64_t c = channel_at(layout, s.groups, i);
    channel_of.push_back(c < s.groups ? static_cast<std::int32_t>(c) : -1);
  }
  const auto* sums =
      reinterpret_cast<const std::int32_t*>(packed + ceil_div(s.taps(), layout.taps) * state->padded * 4);
  state->columns = ConvColumns(problem, conv, std::move(channel_of), sums, layout.in_place() && conv.x_sign ? 128 : 0);
  state->run = function_of(info.isa);

  IntegerDepthwiseJob& job = state->job;
  job.weights = packed;
  job.epilogue = &conv.requantization.epilogue;
  job.x_sign = conv.x_sign;
  job.twins = layout.in_place() && s.groups == 32 && s.sw == 1;
  job.channels = s.groups, job.height = s.h, job.width = s.w, job.out_height = s.oh, job.out_width = s.ow;
  job.kernel_h = s.kh, job.kernel_w = s.kw, job.stride_h = s.sh, job.stride_w = s.sw;
  job.dilation_h = s.dh, job.dilation_w = s.dw, job.top = s.top, job.left = s.left;
  const std::int64_t rows = s.images * s.oh, wanted = 4 * problem.threads;
  if (rows > 0 && rows < 4 * wanted)
    job.chunks = std::clamp<std::int64_t>(job.channels / kChunk, 1, ceil_div(4 * wanted, rows));
  job.chunk = job.channels / job.chunks / kChunk * kChunk;
  state->units = rows * job.chunks;
  const std::int64_t products = s.taps() * s.ow * s.groups / job.chunks;
  state->grain = std::max<std::int64_t>(1, kGrainProducts / std::max<std::int64_t>(products, 1));

  return [state](const StepArgs& args) {
    IntegerDepthwiseJob mine = state->job;
    const ConvColumns::Values columns = state->columns.values(args, state->conv, args.scratch);
    std::byte* padding = args.scratch + ConvColumns::scratch_bytes(state->padded);
    std::memset(padding, state->conv.x_zero_value(args), static_cast<std::size_t>(state->padded));
    mine.padding = padding;
    mine.bias = columns.bias;
    mine.factors = columns.factors;
    mine.within_int32 = columns.within_int32;
    mine.x = args.inputs[0];
    mine.y = args.outputs[0];
    if (const int residual = state->conv.requantization.residual; residual >= 0)
      mine.residual = args.inputs[static_cast<std::size_t>(residual)];
    parallel_for(state->units, state->grain,
                 [&](std::int64_t begin, std::int64_t end) { state->run(mine, begin, end); });
  };
}

constexpr CpuKernel kernel(std::string_view name, std::string_view op, Isa isa) {
  return {{.name = name, .op = op, .isa = isa, .type = ElementType::int8, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
    kernel("qlinear_depthwise_i8_portable", QLinearConv::kName, Isa::portable),
    kernel("integer_depthwise_i8_portable", ConvInteger::kName, Isa::portable),
#if defined(__x86_64__)
    kernel("qlinear_depthwise_i8_avx2", QLinearConv::kName, Isa::avx2),
    kernel("qlinear_depthwise_i8_avx512", QLinearConv::kName, Isa::avx512),
    kernel("qlinear_depthwise_i8_avx512_vnni", QLinearConv::kName, Isa::avx512_vnni),
    kernel("integer_depthwise_i8_avx2", ConvInteger::kName, Isa::avx2),
    kernel("integer_depthwise_i8_avx512", ConvInteger::kName, Isa::avx512),
#endif
};

}  // namespace

std::span<const CpuKernel> quantize_depthwise_kernels() { return kKernels; }

}  // namespace tessera::cpu
