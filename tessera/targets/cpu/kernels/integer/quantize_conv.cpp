// QLinearConv and ConvInteger on the integer engine, channels last: exactly as defined.

#include "tessera/core/shape.h"
#include "tessera/graph/ops/quantize.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/integer/integer_conv.h"

#include <fmt/format.h>

#include <memory>

namespace tessera::cpu {
namespace {

Answer consider(const KernelInfo& info, const Problem& problem) {
  const auto read = read_integer_conv(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const IntegerConv& conv = std::get<IntegerConv>(read);
  const IntegerKernel& kernel = integer_kernel(info.isa);
  if (const std::string_view reason = refuse_integer(conv.shape, kernel); !reason.empty())
    return Refusal{std::string(reason)};
  const Array& w = *problem.constant(conv.w);
  if (kernel.in_place() && !fit_int8(w, problem.constant(conv.w_zero), w.count() / w.shape()[0]))
    return Refusal{"weights less their zero points do not fit int8"};
  const IntegerWork engine = integer_work(conv.shape, kernel, problem.threads);
  Offer offer = integer_conv_offer(problem, conv);
  offer.scratch_bytes = ConvColumns::scratch_bytes(engine.columns()) + engine.padding_bytes() + engine.copy_bytes();
  const Work w0 = work(problem.graph, problem.node);
  const double copying = kernel.in_place() ? 0 : 4.0 * static_cast<double>(conv.shape.x_count());
  offer.estimate =
      estimate(problem, info.isa, w0.flops, w0.read_bytes + w0.write_bytes + copying, integer_efficiency(engine));
  return offer;
}

Runner prepare(const KernelInfo& info, const Problem& problem, const Offer&, WeightCache& weights) {
  struct State {
    IntegerConv conv;
    IntegerWork work;
    std::shared_ptr<const PackedWeights> weights;
    ConvColumns columns;
  };
  auto state = std::make_shared<State>();
  state->conv = std::get<IntegerConv>(read_integer_conv(problem));
  const IntegerConv& conv = state->conv;
  state->work = integer_work(conv.shape, integer_kernel(info.isa), problem.threads);
  const IntegerWork& engine = state->work;
  const Array* zeros = problem.constant(conv.w_zero);
  state->weights = weights.get(
      problem.graph.value(problem.node.inputs[conv.w]).constant,
      fmt::format("integers by {} groups={} columns={} run={} zeros={}", engine.kernel->group, conv.shape.groups,
                  engine.kernel->columns, engine.run, zeros_text(zeros)),
      [&](const Array& w) {
        PackedWeights packed(static_cast<std::size_t>(engine.weight_bytes() + 4 * engine.columns()));
        const IntegerShape& s = conv.shape;
        IntegerWeights from;
        from.at = w.bytes().data();
        from.has_sign = w.type() == ElementType::int8;
        from.group = s.oc * s.ic * s.taps(), from.column = s.ic * s.taps(), from.channel = s.taps(), from.tap = 1;
        from.zeros = zeros == nullptr ? nullptr : zeros->bytes().data();
        from.one_zero = zeros == nullptr || zeros->count() == 1;
        pack_integers(engine, from, packed.data());
        return packed;
      });
  std::vector<std::int32_t> channel_of;
  for (std::int64_t i = 0; i < engine.columns(); ++i) {
    const std::int64_t n = i % engine.padded;
    channel_of.push_back(n < conv.shape.oc ? static_cast<std::int32_t>(i / engine.padded * conv.shape.oc + n) : -1);
  }
  state->columns = ConvColumns(problem, conv, std::move(channel_of), integer_sums(engine, state->weights->data()),
                               conv.x_sign ? 128 : 0);

  return [state](const StepArgs& args) {
    IntegerOperands operands;
    operands.x = args.inputs[0];
    operands.x_sign = state->conv.x_sign;
    operands.x_zero = state->conv.x_zero_value(args);
    operands.weights = state->weights->data();
    const ConvColumns::Values columns = state->columns.values(args, state->conv, args.scratch);
    operands.bias = columns.bias;
    operands.factors = columns.factors;
    operands.within_int32 = columns.within_int32;
    operands.epilogue = &state->conv.requantization.epilogue;
    if (const int residual = state->conv.requantization.residual; residual >= 0)
      operands.residual = args.inputs[static_cast<std::size_t>(residual)];
    operands.y = args.outputs[0];
    operands.scratch = args.scratch + ConvColumns::scratch_bytes(state->work.columns());
    run_integer(state->work, operands);
  };
}

constexpr CpuKernel kernel(std::string_view name, std::string_view op, Isa isa) {
  return {{.name = name, .op = op, .isa = isa, .type = ElementType::int8, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
    kernel("qlinear_conv_i8_portable", QLinearConv::kName, Isa::portable),
    kernel("conv_integer_i8_portable", ConvInteger::kName, Isa::portable),
#if defined(__x86_64__)
    kernel("qlinear_conv_i8_6x16_avx2", QLinearConv::kName, Isa::avx2),
    kernel("qlinear_conv_i8_14x32_avx512", QLinearConv::kName, Isa::avx512),
    kernel("qlinear_conv_i8_14x32_avx512_vnni", QLinearConv::kName, Isa::avx512_vnni),
    kernel("conv_integer_i8_6x16_avx2", ConvInteger::kName, Isa::avx2),
    kernel("conv_integer_i8_14x32_avx512", ConvInteger::kName, Isa::avx512),
    kernel("conv_integer_i8_14x32_avx512_vnni", ConvInteger::kName, Isa::avx512_vnni),
#endif
};

}  // namespace

std::span<const CpuKernel> quantize_conv_kernels() { return kKernels; }

}  // namespace tessera::cpu
