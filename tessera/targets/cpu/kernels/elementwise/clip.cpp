#include "tessera/core/element_type_of.h"
#include "tessera/targets/cpu/kernels/elementwise/elementwise.h"
#include "tessera/targets/cpu/kernels/elementwise/unary_range.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

#include <limits>

namespace tessera::cpu {
namespace {

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const ElementType type = problem.input(0).type;
  if (type != kernel.type) return Refusal{fmt::format("elements are {}", name(type))};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  Offer offer = elementwise_offer(problem);
  offer.estimate = estimate(problem, kernel.isa, 2.0 * static_cast<double>(problem.output().shape().volume()),
                            streamed_bytes(problem), 0.5);
  return offer;
}

// Bounds may be computed by the model: they are read when the step runs.
Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache&) {
  const bool bfloat16 = kernel.type == ElementType::bfloat16, has_low = problem.has(1), has_high = problem.has(2);
  const UnaryRange range = TSR_FOR_ISA(kernel.isa, clip_range)(bfloat16);
  const std::int64_t count = problem.output().shape().volume(), bytes = element_bytes(kernel.type);
  return [=](const StepArgs& args) {
    const auto bound = [&](bool has, std::size_t i, float otherwise) {
      return !has ? otherwise : bfloat16 ? static_cast<float>(*args.input<BFloat16>(i)) : *args.input<float>(i);
    };
    const float low = bound(has_low, 1, -std::numeric_limits<float>::infinity());
    const float high = bound(has_high, 2, std::numeric_limits<float>::infinity());
    const std::byte* x = args.inputs[0];
    std::byte* y = args.outputs[0];
    parallel_for(count, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
      range(x + begin * bytes, y + begin * bytes, end - begin, low, high);
    });
  };
}

Answer consider_plain(const KernelInfo& kernel, const Problem& problem) {
  const ElementType type = problem.input(0).type;
  if (type == ElementType::float32 || type == ElementType::bfloat16) return Refusal{"is for the other types"};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  Offer offer = elementwise_offer(problem);
  offer.estimate = estimate(problem, kernel.isa, 2.0 * static_cast<double>(problem.output().shape().volume()),
                            streamed_bytes(problem), 0.25);
  return offer;
}

Runner prepare_plain(const KernelInfo&, const Problem& problem, const Offer&, WeightCache&) {
  const bool has_low = problem.has(1), has_high = problem.has(2);
  const std::int64_t count = problem.output().shape().volume();
  return visit_element_type(problem.input(0).type, [=](auto tag) -> Runner {
    using T = typename decltype(tag)::type;
    return [=](const StepArgs& args) {
      const T *x = args.input<T>(0), *low = has_low ? args.input<T>(1) : nullptr,
              *high = has_high ? args.input<T>(2) : nullptr;
      T* y = args.output<T>();
      parallel_for(count, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          T v = x[i];
          if (low != nullptr && v < *low) v = *low;
          if (high != nullptr && v > *high) v = *high;
          y[i] = v;
        }
      });
    };
  });
}

constexpr CpuKernel kernel(std::string_view name, Isa isa, ElementType type) {
  return {{.name = name, .op = Clip::kName, .isa = isa, .type = type, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
    kernel("clip_f32_portable", Isa::portable, ElementType::float32),
    kernel("clip_f32_avx2", Isa::avx2, ElementType::float32),
    kernel("clip_f32_avx512", Isa::avx512, ElementType::float32),
    kernel("clip_bf16_portable", Isa::portable, ElementType::bfloat16),
    kernel("clip_bf16_avx2", Isa::avx2, ElementType::bfloat16),
    kernel("clip_bf16_avx512", Isa::avx512, ElementType::bfloat16),
    {{.name = "clip_plain", .op = Clip::kName, .isa = Isa::portable, .consider = consider_plain}, prepare_plain},
};

}  // namespace

std::span<const CpuKernel> clip_kernels() { return kKernels; }

}  // namespace tessera::cpu
