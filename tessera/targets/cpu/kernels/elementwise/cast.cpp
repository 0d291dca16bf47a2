#include "tessera/core/convert.h"
#include "tessera/core/element_type_of.h"
#include "tessera/targets/cpu/kernels/elementwise/elementwise.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tessera::cpu {
namespace {

// Those that core converts in vectors, as Cast means it.
bool is_vector_pair(ElementType from, ElementType to) {
  const auto is_short = [](ElementType type) { return type == ElementType::float16 || type == ElementType::bfloat16; };
  return (from == ElementType::float32 && is_short(to)) || (is_short(from) && to == ElementType::float32);
}

// double to float such that rounding on to 16 bits is as if rounded once: what was cut off leaves its mark in the last
// bit.
float rounded_to_odd(double x) {
  float y = static_cast<float>(x);
  if (std::isnan(x) || static_cast<double>(y) == x) return y;
  if (std::abs(static_cast<double>(y)) > std::abs(x)) y = std::nextafter(y, 0.0f);
  return float_from_bits(float_bits(y) | 1u);
}

// Towards zero, the nearest bound outside, 0 for NaN.
template <class To, class From>
To to_integer(From x) {
  if (std::isnan(x)) return 0;
  if (x >= std::ldexp(From{1}, std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
  if (x <= static_cast<From>(std::numeric_limits<To>::lowest())) return std::numeric_limits<To>::lowest();
  return static_cast<To>(x);
}

template <class To, class From>
To cast(From x) {
  constexpr bool from_short = std::is_same_v<From, Float16> || std::is_same_v<From, BFloat16>;
  constexpr bool to_short = std::is_same_v<To, Float16> || std::is_same_v<To, BFloat16>;
  if constexpr (from_short) {
    if constexpr (std::is_same_v<To, From>)
      return x;
    else
      return cast<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (to_short) {
    if constexpr (std::is_same_v<From, float>)
      return To(x);
    else
      return To(rounded_to_odd(static_cast<double>(x)));
  } else if constexpr (std::is_floating_point_v<To> || std::is_integral_v<From>) {
    return static_cast<To>(x);
  } else {
    return to_integer<To>(x);
  }
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const ElementType from = problem.input(0).type, to = problem.output().type;
  if (is_narrow(from) || is_narrow(to)) return Refusal{"types of 8 bits and fewer are converted by the reference"};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  Offer offer = elementwise_offer(problem);
  // The same bytes: nothing to cast, or bits seen as another type.
  const bool view = from == to || std::get<Cast>(problem.node.op).bits;
  if (view) offer.view_of = 0;
  const double count = static_cast<double>(problem.output().shape().volume());
  offer.estimate =
      view ? Estimate{0, "overhead"}
           : estimate(problem, kernel.isa, 2 * count, streamed_bytes(problem), is_vector_pair(from, to) ? 0.5 : 0.1);
  return offer;
}

Runner prepare(const KernelInfo&, const Problem& problem, const Offer&, WeightCache&) {
  const ElementType from = problem.input(0).type, to = problem.output().type;
  const std::int64_t count = problem.output().shape().volume();
  if (from == to)
    return [bytes = static_cast<std::size_t>(count * element_bytes(to))](const StepArgs& args) {
      if (bytes > 0 && args.outputs[0] != args.inputs[0]) std::memmove(args.outputs[0], args.inputs[0], bytes);
    };
  if (is_vector_pair(from, to))
    return [=, from_bytes = element_bytes(from), to_bytes = element_bytes(to), source = *to_dtype(from),
            target = *to_dtype(to)](const StepArgs& args) {
      parallel_for(count, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
        convert(args.inputs[0] + begin * from_bytes, source, args.outputs[0] + begin * to_bytes, target, end - begin,
                Rounding::host);
      });
    };
  return visit_element_type(from, [&](auto from_tag) {
    return visit_element_type(to, [&](auto to_tag) -> Runner {
      using From = typename decltype(from_tag)::type;
      using To = typename decltype(to_tag)::type;
      return [count](const StepArgs& args) {
        const From* x = args.input<From>(0);
        To* y = args.output<To>();
        parallel_for(count, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) y[i] = cast<To>(x[i]);
        });
      };
    });
  });
}

constexpr CpuKernel kKernels[] = {
    {{.name = "cast", .op = Cast::kName, .isa = Isa::portable, .consider = consider}, prepare},
};

}  // namespace

std::span<const CpuKernel> cast_kernels() { return kKernels; }

}  // namespace tessera::cpu
