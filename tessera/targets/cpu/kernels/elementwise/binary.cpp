// Two operands with broadcasting. float32 and bfloat16 run in vectors; binary_plain.cpp has the other types and kinds.

#include "tessera/targets/cpu/kernels/broadcast.h"
#include "tessera/targets/cpu/kernels/elementwise/binary_plain.h"
#include "tessera/targets/cpu/kernels/elementwise/binary_range.h"
#include "tessera/targets/cpu/kernels/elementwise/elementwise.h"
#include "tessera/targets/cpu/kernels/elementwise/unary_range.h"
#include "tessera/targets/cpu/kernels/epilogue.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <variant>

namespace tessera::cpu {
namespace {

using Kind = Binary::Kind;

// The exponent of a power, if it is one that is quickly taken.
std::optional<Power> power_of(const Problem& problem) {
  const Array* exponent = problem.constant(1);
  if (exponent == nullptr || exponent->count() != 1 || exponent->shape().rank() > problem.input(0).shape().rank())
    return std::nullopt;
  const double value = exponent->to_double()[0];
  if (value == 2) return Power::square;
  if (value == 3) return Power::cube;
  if (value == 0.5) return Power::root;
  return std::nullopt;
}

// What follows the operator: nothing, or one activation, done on each piece of the result while it is in the cache.
struct Follower {
  UnaryRange range = nullptr;
  float alpha = 0, beta = 0;
};
std::variant<Follower, Refusal> follower_of(Isa isa, const Problem& problem) {
  if (problem.node.fused.empty()) return Follower{};
  const auto read = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const Epilogue& epilogue = std::get<Epilogue>(read);
  const bool bfloat16 = problem.output().type == ElementType::bfloat16;
  if (epilogue.residual >= 0 || epilogue.pool != nullptr || problem.output().type != problem.op_output().type)
    return Refusal{"more than an activation is fused"};
  const Activation& activation = epilogue.before;
  if (activation.kind == Activation::Kind::none) return Follower{};
  if (activation.kind == Activation::Kind::clip)
    return Follower{TSR_FOR_ISA(isa, clip_range)(bfloat16), activation.alpha, activation.beta};
  const Unary::Kind kind = std::get<Unary>(problem.node.fused.back().op).kind;
  const UnaryRange range = TSR_FOR_ISA(isa, unary_range)(kind, bfloat16);
  if (range == nullptr) return Refusal{"the fused activation has no vector form"};
  return Follower{range, activation.alpha, activation.beta};
}

BinaryRange range_for(Isa isa, const Problem& problem) {
  const auto& op = std::get<Binary>(problem.node.op);
  const bool bfloat16 = problem.input(0).type == ElementType::bfloat16;
  if (op.kind != Kind::pow) return TSR_FOR_ISA(isa, binary_range)(op.kind, bfloat16);
  const std::optional<Power> power = power_of(problem);
  return power ? TSR_FOR_ISA(isa, power_range)(*power, bfloat16) : nullptr;
}

Offer offer_for(const KernelInfo& kernel, const Problem& problem, double flops_each, double efficiency) {
  Offer offer;
  const Shape to = problem.output().shape();
  const Order order = broadcast_order(problem, 2, to);
  offer.inputs = broadcast_inputs(problem, 2, to, order);
  offer.outputs = {order};
  offer.may_overwrite = overwritable(problem, offer.inputs, 2, to, order, element_bytes(problem.output().type));
  offer.estimate =
      estimate(problem, kernel.isa, flops_each * static_cast<double>(to.volume()), streamed_bytes(problem), efficiency);
  return offer;
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const ElementType type = problem.input(0).type;
  if (type != kernel.type) return Refusal{fmt::format("elements are {}", name(type))};
  const auto follower = follower_of(kernel.isa, problem);
  if (const auto* refusal = std::get_if<Refusal>(&follower)) return *refusal;
  if (range_for(kernel.isa, problem) == nullptr) return Refusal{"no vector form of it"};
  return offer_for(kernel, problem, 1, 0.25);
}

BroadcastLoop<2> loop_of(const Problem& problem, const Offer& offer) {
  const Shape to = problem.output().shape();
  const Order order = offer.outputs[0];
  return {stored_shape(to, order),
          {broadcast_strides(problem.input(0).shape(), offer.inputs[0], to, order),
           broadcast_strides(problem.input(1).shape(), offer.inputs[1], to, order)}};
}

// Elements that a stride scatters are gathered in pieces of so many bytes.
constexpr std::int64_t kPieceBytes = 2048;

template <class T>
void gather(const std::byte* from, std::int64_t stride, std::byte* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof(T)), from + i * stride * static_cast<std::int64_t>(sizeof(T)),
                sizeof(T));
}

void gather(const std::byte* from, std::int64_t stride, std::byte* to, std::int64_t n, std::int64_t element) {
  switch (element) {
    case 1: return gather<std::uint8_t>(from, stride, to, n);
    case 2: return gather<std::uint16_t>(from, stride, to, n);
    case 4: return gather<std::uint32_t>(from, stride, to, n);
    default: return gather<std::uint64_t>(from, stride, to, n);
  }
}

// range(a, a_one, b, b_one, y, n) over the whole result.
template <class Range>
Runner runner_of(const Problem& problem, const Offer& offer, std::int64_t grain, Range range) {
  const std::int64_t a_bytes = element_bytes(problem.input(0).type), b_bytes = element_bytes(problem.input(1).type),
                     y_bytes = element_bytes(problem.output().type);
  return [=, loop = loop_of(problem, offer)](const StepArgs& args) {
    const std::byte *a = args.inputs[0], *b = args.inputs[1];
    std::byte* y = args.outputs[0];
    const auto [a_stride, b_stride] = loop.inner_strides;
    loop.run(grain, [&, a_stride = a_stride, b_stride = b_stride](const auto& from, std::int64_t to, std::int64_t n) {
      const std::byte *p = a + from[0] * a_bytes, *q = b + from[1] * b_bytes;
      if (a_stride <= 1 && b_stride <= 1) {
        range(p, a_stride == 0, q, b_stride == 0, y + to * y_bytes, n);
        return;
      }
      alignas(64) std::byte piece_a[kPieceBytes], piece_b[kPieceBytes];
      const std::int64_t each = kPieceBytes / std::max(a_bytes, b_bytes);
      for (std::int64_t i = 0; i < n; i += each) {
        const std::int64_t count = std::min(each, n - i);
        const auto piece = [&](const std::byte* at, std::int64_t stride, std::int64_t bytes, std::byte* space) {
          if (stride <= 1) return at + i * stride * bytes;
          gather(at + i * stride * bytes, stride, space, count, bytes);
          return static_cast<const std::byte*>(space);
        };
        range(piece(p, a_stride, a_bytes, piece_a), a_stride == 0, piece(q, b_stride, b_bytes, piece_b), b_stride == 0,
              y + (to + i) * y_bytes, count);
      }
    });
  };
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer& offer, WeightCache&) {
  const Follower follower = std::get<Follower>(follower_of(kernel.isa, problem));
  const BinaryRange range = range_for(kernel.isa, problem);
  if (follower.range == nullptr) return runner_of(problem, offer, kCheapGrain, range);
  const std::int64_t bytes = element_bytes(kernel.type);
  return runner_of(problem, offer, kCostlyGrain,
                   [=](const void* a, bool a_one, const void* b, bool b_one, void* y, std::int64_t n) {
                     constexpr std::int64_t kPiece = 2048;
                     for (std::int64_t i = 0; i < n; i += kPiece) {
                       const std::int64_t count = std::min(kPiece, n - i);
                       const auto* p = static_cast<const std::byte*>(a) + (a_one ? 0 : i * bytes);
                       const auto* q = static_cast<const std::byte*>(b) + (b_one ? 0 : i * bytes);
                       std::byte* to = static_cast<std::byte*>(y) + i * bytes;
                       range(p, a_one, q, b_one, to, count);
                       follower.range(to, to, count, follower.alpha, follower.beta);
                     }
                   });
}

Answer consider_plain(const KernelInfo& kernel, const Problem& problem) {
  const auto& op = std::get<Binary>(problem.node.op);
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (binary_plain_range(op.kind, problem.input(0).type, problem.input(1).type) == nullptr)
    return Refusal{fmt::format("no plain loop of it over {}", name(problem.input(0).type))};
  return offer_for(kernel, problem, op.kind == Kind::pow || op.kind == Kind::fmod ? 60 : 4, 0.1);
}

Runner prepare_plain(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  const auto& op = std::get<Binary>(problem.node.op);
  const bool costly = op.kind == Kind::pow || op.kind == Kind::fmod;
  return runner_of(problem, offer, costly ? kCostlyGrain / 4 : kCheapGrain,
                   binary_plain_range(op.kind, problem.input(0).type, problem.input(1).type));
}

constexpr CpuKernel kernel(std::string_view name, Isa isa, ElementType type) {
  return {{.name = name, .op = Binary::kName, .isa = isa, .type = type, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
    kernel("binary_f32_portable", Isa::portable, ElementType::float32),
    kernel("binary_f32_avx2", Isa::avx2, ElementType::float32),
    kernel("binary_f32_avx512", Isa::avx512, ElementType::float32),
    kernel("binary_bf16_portable", Isa::portable, ElementType::bfloat16),
    kernel("binary_bf16_avx2", Isa::avx2, ElementType::bfloat16),
    kernel("binary_bf16_avx512", Isa::avx512, ElementType::bfloat16),
    {{.name = "binary_plain", .op = Binary::kName, .isa = Isa::portable, .consider = consider_plain}, prepare_plain},
};

}  // namespace

std::span<const CpuKernel> binary_kernels() { return kKernels; }

}  // namespace tessera::cpu
