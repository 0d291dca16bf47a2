// QLinearAdd, QLinearGlobalAveragePool and ByteLookup, exactly as defined. (Maxima of bytes are in pool.cpp.)

#include "tessera/targets/cpu/kernels/quantize/quantize_bytes.h"

#include "tessera/core/shape.h"
#include "tessera/graph/ops/quantize.h"
#include "tessera/targets/cpu/kernels/elementwise/elementwise.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/integer/requantize.h"

#include <algorithm>
#include <memory>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kChannels = 64;  // that one thread takes at least

Answer consider_add(const KernelInfo& info, const Problem& problem) {
  const auto read = read_requantized_add(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  Offer offer = elementwise_offer(problem);
  offer.inputs[3] = offer.inputs[0];
  offer.estimate = estimate(problem, info.isa, 10.0 * static_cast<double>(problem.output().shape().volume()),
                            streamed_bytes(problem), 0.5);
  return offer;
}

Runner prepare_add(const KernelInfo& info, const Problem& problem, const Offer&, WeightCache&) {
  const IntegerEpilogue epilogue = std::get<IntegerEpilogue>(read_requantized_add(problem));
  const bool a_sign = problem.input(0).type == ElementType::int8;
  const std::int64_t count = problem.output().shape().volume();
  const auto add = TSR_FOR_ISA(info.isa, add_bytes);
  return [=](const StepArgs& args) {
    parallel_for(count, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
      add(args.inputs[0] + begin, a_sign, args.inputs[3] + begin, epilogue, end - begin, args.outputs[0] + begin);
    });
  };
}

Answer consider_average(const KernelInfo& info, const Problem& problem) {
  const auto requantization = read_requantization(problem, 4);
  if (const auto* refusal = std::get_if<Refusal>(&requantization)) return *refusal;
  if (std::get<Requantization>(requantization).residual >= 0) return Refusal{"a sum is fused"};
  if (problem.input(0).rank() < 3 || problem.output().shape().volume() == 0) return Refusal{"nothing to average"};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = offer.outputs.emplace_back(Order::channels_last);
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, info.isa, w.flops, w.read_bytes + w.write_bytes, 0.25);
  return offer;
}

Runner prepare_average(const KernelInfo& info, const Problem& problem, const Offer&, WeightCache&) {
  const IntegerEpilogue epilogue = std::get<Requantization>(read_requantization(problem, 4)).epilogue;
  const Shape x = problem.input(0).shape();
  const std::int64_t images = x[0], channels = x[1], pixels = x.volume() / (images * channels);
  const std::int64_t chunks = std::max<std::int64_t>(1, channels / kChannels),
                     grain = std::max<std::int64_t>(1, kCheapGrain / std::max<std::int64_t>(1, pixels * kChannels));
  const bool has_sign = problem.input(0).type == ElementType::int8;
  const auto average = TSR_FOR_ISA(info.isa, average_bytes);
  return [=](const StepArgs& args) {
    const float factor = *args.input<float>(1) / (static_cast<float>(pixels) * *args.input<float>(3));
    const auto less = static_cast<std::int32_t>(static_cast<std::uint32_t>(pixels) *
                                                static_cast<std::uint32_t>(byte_value(args.inputs[2], has_sign)));
    parallel_for(images * chunks, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t image = unit / chunks, chunk = unit % chunks, first = chunk * kChannels;
        const std::int64_t n = chunk + 1 == chunks ? channels - first : kChannels;
        average(args.inputs[0] + image * pixels * channels + first, has_sign, pixels, channels, n, less, factor,
                epilogue, args.outputs[0] + image * channels + first);
      }
    });
  };
}

Answer consider_lookup(const KernelInfo& info, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  Offer offer = elementwise_offer(problem);
  offer.estimate = estimate(problem, info.isa, 16.0 * static_cast<double>(problem.output().shape().volume()),
                            streamed_bytes(problem), 0.5);
  return offer;
}

Runner prepare_lookup(const KernelInfo&, const Problem& problem, const Offer&, WeightCache&) {
  const std::int64_t count = problem.output().shape().volume();
  return [=](const StepArgs& args) {
    const std::byte *x = args.inputs[0], *table = args.inputs[1];
    std::byte* y = args.outputs[0];
    parallel_for(count, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = table[static_cast<std::uint8_t>(x[i])];
    });
  };
}

using Consider = Answer (*)(const KernelInfo&, const Problem&);
using Prepare = Runner (*)(const KernelInfo&, const Problem&, const Offer&, WeightCache&);

constexpr CpuKernel kernel(std::string_view name, std::string_view op, Isa isa, Consider consider_it,
                           Prepare prepare_it) {
  return {{.name = name, .op = op, .isa = isa, .type = ElementType::int8, .consider = consider_it}, prepare_it};
}

constexpr CpuKernel kKernels[] = {
    kernel("qlinear_add_i8_portable", QLinearAdd::kName, Isa::portable, consider_add, prepare_add),
    kernel("qlinear_average_i8_portable", QLinearGlobalAveragePool::kName, Isa::portable, consider_average,
           prepare_average),
    kernel("byte_lookup", ByteLookup::kName, Isa::portable, consider_lookup, prepare_lookup),
#if defined(__x86_64__)
    kernel("qlinear_add_i8_avx2", QLinearAdd::kName, Isa::avx2, consider_add, prepare_add),
    kernel("qlinear_add_i8_avx512", QLinearAdd::kName, Isa::avx512, consider_add, prepare_add),
    kernel("qlinear_average_i8_avx2", QLinearGlobalAveragePool::kName, Isa::avx2, consider_average, prepare_average),
    kernel("qlinear_average_i8_avx512", QLinearGlobalAveragePool::kName, Isa::avx512, consider_average,
           prepare_average),
#endif
};

}  // namespace

std::span<const CpuKernel> quantize_bytes_kernels() { return kKernels; }

}  // namespace tessera::cpu
