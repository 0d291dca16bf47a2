// Element by element: the common functions in vectors, the rest and the other types in plain loops.

#include "tessera/core/element_type_of.h"
#include "tessera/targets/cpu/kernels/elementwise/elementwise.h"
#include "tessera/targets/cpu/kernels/elementwise/unary_range.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tessera::cpu {
namespace {

using Kind = Unary::Kind;

bool is_cheap(Kind kind) {
  switch (kind) {
    case Kind::abs:
    case Kind::ceil:
    case Kind::floor:
    case Kind::hard_sigmoid:
    case Kind::hard_swish:
    case Kind::leaky_relu:
    case Kind::neg:
    case Kind::reciprocal:
    case Kind::relu:
    case Kind::round:
    case Kind::shrink:
    case Kind::sign:
    case Kind::softsign:
    case Kind::sqrt:
    case Kind::thresholded_relu: return true;
    default: return false;
  }
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const auto& op = std::get<Unary>(problem.node.op);
  const ElementType type = problem.input(0).type;
  if (type != kernel.type) return Refusal{fmt::format("elements are {}", name(type))};
  if (TSR_FOR_ISA(Isa::portable, unary_range)(op.kind, false) == nullptr) return Refusal{"no vector form of it"};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  Offer offer = elementwise_offer(problem);
  const double count = static_cast<double>(problem.output().shape().volume());
  offer.estimate = estimate(problem, kernel.isa, count * (is_cheap(op.kind) ? 2 : 30), streamed_bytes(problem), 0.5);
  return offer;
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache&) {
  const auto& op = std::get<Unary>(problem.node.op);
  const UnaryRange range = TSR_FOR_ISA(kernel.isa, unary_range)(op.kind, kernel.type == ElementType::bfloat16);
  const float alpha = op.kind == Kind::silu && op.alpha == 0 ? 1.0f : op.alpha, beta = op.beta;
  const std::int64_t count = problem.output().shape().volume(), bytes = element_bytes(kernel.type);
  const std::int64_t grain = is_cheap(op.kind) ? kCheapGrain : kCostlyGrain;
  return [=](const StepArgs& args) {
    const std::byte* x = args.inputs[0];
    std::byte* y = args.outputs[0];
    parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
      range(x + begin * bytes, y + begin * bytes, end - begin, alpha, beta);
    });
  };
}

// The functions of the C library, which are as good in double as the reference.
double (*library_function(Kind kind))(double) {
  switch (kind) {
    case Kind::acos: return std::acos;
    case Kind::acosh: return std::acosh;
    case Kind::asin: return std::asin;
    case Kind::asinh: return std::asinh;
    case Kind::atan: return std::atan;
    case Kind::atanh: return std::atanh;
    case Kind::cos: return std::cos;
    case Kind::cosh: return std::cosh;
    case Kind::sin: return std::sin;
    case Kind::sinh: return std::sinh;
    case Kind::tan: return std::tan;
    default: return nullptr;
  }
}

using PlainRange = void (*)(const Unary& op, const void* x, void* y, std::int64_t n);

template <class T, class Y, class F>
void each(const void* x, void* y, std::int64_t n, F&& f) {
  const T* from = static_cast<const T*>(x);
  Y* to = static_cast<Y*>(y);
  for (std::int64_t i = 0; i < n; ++i) to[i] = f(from[i]);
}

template <class T>
void library_range(const Unary& op, const void* x, void* y, std::int64_t n) {
  double (*const f)(double) = library_function(op.kind);
  each<T, T>(x, y, n, [f](T v) {
    if constexpr (std::is_same_v<T, double>)
      return f(v);
    else
      return T(static_cast<float>(f(static_cast<double>(static_cast<float>(v)))));
  });
}

template <class T>
void test_range(const Unary& op, const void* x, void* y, std::int64_t n) {
  const bool negative = op.alpha != 0, positive = op.beta != 0;
  using Float = std::conditional_t<std::is_same_v<T, double>, double, float>;
  if (op.kind == Kind::is_nan)
    each<T, bool>(x, y, n, [](T v) { return std::isnan(static_cast<Float>(v)); });
  else
    each<T, bool>(x, y, n, [=](T v) {
      const auto value = static_cast<Float>(v);
      return std::isinf(value) && (value < 0 ? negative : positive);
    });
}

template <class T>
void integer_range(const Unary& op, const void* x, void* y, std::int64_t n) {
  using Bits = std::make_unsigned_t<T>;
  const auto negated = [](T v) { return static_cast<T>(Bits{0} - static_cast<Bits>(v)); };
  switch (op.kind) {
    case Kind::abs: return each<T, T>(x, y, n, [&](T v) { return v < 0 ? negated(v) : v; });
    case Kind::neg: return each<T, T>(x, y, n, negated);
    case Kind::bitwise_not: return each<T, T>(x, y, n, [](T v) { return static_cast<T>(~v); });
    case Kind::relu: return each<T, T>(x, y, n, [](T v) { return v < 0 ? T{0} : v; });
    default: return each<T, T>(x, y, n, [](T v) { return static_cast<T>(v > 0 ? 1 : v < 0 ? -1 : 0); });
  }
}

void not_range(const Unary&, const void* x, void* y, std::int64_t n) {
  each<bool, bool>(x, y, n, [](bool v) { return !v; });
}

PlainRange plain_range(Kind kind, ElementType type) {
  if (is_narrow(type)) return nullptr;
  return visit_element_type(type, [kind](auto tag) -> PlainRange {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) {
      return kind == Kind::logical_not ? not_range : nullptr;
    } else if constexpr (is_floating_v<T>) {
      if (kind == Kind::is_nan || kind == Kind::is_inf) return test_range<T>;
      return library_function(kind) != nullptr ? library_range<T> : nullptr;
    } else {
      const bool known = kind == Kind::abs || kind == Kind::neg || kind == Kind::bitwise_not || kind == Kind::relu ||
                         kind == Kind::sign;
      return known ? integer_range<T> : nullptr;
    }
  });
}

Answer consider_plain(const KernelInfo& kernel, const Problem& problem) {
  const auto& op = std::get<Unary>(problem.node.op);
  if (plain_range(op.kind, problem.input(0).type) == nullptr)
    return Refusal{fmt::format("no plain loop of it over {}", name(problem.input(0).type))};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  Offer offer = elementwise_offer(problem);
  const double count = static_cast<double>(problem.output().shape().volume());
  offer.estimate = estimate(problem, kernel.isa, count * (library_function(op.kind) != nullptr ? 100 : 2),
                            streamed_bytes(problem), 0.25);
  return offer;
}

Runner prepare_plain(const KernelInfo&, const Problem& problem, const Offer&, WeightCache&) {
  const auto& op = std::get<Unary>(problem.node.op);
  const PlainRange range = plain_range(op.kind, problem.input(0).type);
  const std::int64_t count = problem.output().shape().volume(), from_bytes = element_bytes(problem.input(0).type),
                     to_bytes = element_bytes(problem.output().type);
  const std::int64_t grain = library_function(op.kind) != nullptr ? kCostlyGrain / 4 : kCheapGrain;
  return [=](const StepArgs& args) {
    const std::byte* x = args.inputs[0];
    std::byte* y = args.outputs[0];
    parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
      range(op, x + begin * from_bytes, y + begin * to_bytes, end - begin);
    });
  };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa, ElementType type) {
  return {{.name = name, .op = Unary::kName, .isa = isa, .type = type, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
    kernel("unary_f32_portable", Isa::portable, ElementType::float32),
    kernel("unary_f32_avx2", Isa::avx2, ElementType::float32),
    kernel("unary_f32_avx512", Isa::avx512, ElementType::float32),
    kernel("unary_bf16_portable", Isa::portable, ElementType::bfloat16),
    kernel("unary_bf16_avx2", Isa::avx2, ElementType::bfloat16),
    kernel("unary_bf16_avx512", Isa::avx512, ElementType::bfloat16),
    {{.name = "unary_plain", .op = Unary::kName, .isa = Isa::portable, .consider = consider_plain}, prepare_plain},
};

}  // namespace

std::span<const CpuKernel> unary_kernels() { return kKernels; }

}  // namespace tessera::cpu
