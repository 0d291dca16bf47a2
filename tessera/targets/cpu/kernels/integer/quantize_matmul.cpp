// QLinearMatMul and MatMulInteger on the integer engine, exactly as defined, where the left matrix and the result have
// one scale and one zero point each.

#include "tessera/core/shape.h"
#include "tessera/graph/ops/quantize.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/integer/integer_dense.h"
#include "tessera/targets/cpu/kernels/integer/requantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

namespace tessera::cpu {
namespace {

struct Inputs {
  std::size_t b = 3, a_zero = 2, b_zero = 5;
  bool requantizes = true;
};
Inputs inputs_of(const Op& op) { return std::holds_alternative<QLinearMatMul>(op) ? Inputs{} : Inputs{1, 2, 3, false}; }

// All rows of the left matrices that meet one right matrix are one image of one row.
std::optional<IntegerShape> shape_of(const Problem& problem, const Inputs& in) {
  const Shape a = problem.input(0).shape(), b = problem.input(in.b).shape();
  if (a.rank() < 2 || b.rank() < 2) return std::nullopt;
  IntegerShape s;
  s.ic = a[-1], s.oc = b[-1];
  if (b.rank() == 2) {
    s.w = s.ic == 0 ? 0 : a.volume() / s.ic;
  } else {
    if (a.rank() != b.rank()) return std::nullopt;
    s.batched = true;
    for (int d = 0; d < a.rank() - 2; ++d) {
      if (a[d] != b[d]) return std::nullopt;
      s.groups *= a[d];
    }
    s.w = a[-2];
  }
  s.ow = s.w;
  return s;
}

bool is_one(const Problem& problem, std::size_t i) { return !problem.has(i) || problem.input(i).shape().volume() == 1; }

// The right matrices and their zero points are known beforehand.
bool packs_once(const Problem& problem, const Inputs& in) {
  return problem.constant(in.b) != nullptr && (!problem.has(in.b_zero) || problem.constant(in.b_zero) != nullptr);
}

// Scratch: bias and factors of all columns, the right matrices if they are packed for each run, the engine's own.
std::int64_t column_bytes(const IntegerWork& engine) { return round_up(engine.columns() * 8, 64); }
std::int64_t packed_bytes(const IntegerWork& engine) {
  return round_up(engine.weight_bytes() + engine.columns() * 4, 64);
}

Answer consider(const KernelInfo& info, const Problem& problem) {
  const Inputs in = inputs_of(problem.node.op);
  const std::optional<IntegerShape> s = shape_of(problem, in);
  if (!s) return Refusal{"vectors, or batches that differ"};
  if (!is_one(problem, in.a_zero)) return Refusal{"zero points for each row"};
  if (!is_one(problem, in.b_zero) && problem.input(in.b).rank() != 2) return Refusal{"zero points for each matrix"};
  if (in.requantizes) {
    for (const std::size_t i : {1, 4, 6})
      if (problem.input(i).type != ElementType::float32) return Refusal{"a scale is not float32"};
    for (const std::size_t i : {1, 6, 7})
      if (!is_one(problem, i)) return Refusal{"scales for each row"};
    if (!is_one(problem, 4) && problem.input(in.b).rank() != 2) return Refusal{"scales for each matrix"};
    const auto requantization = read_requantization(problem, 7);
    if (const auto* refusal = std::get_if<Refusal>(&requantization)) return *refusal;
  } else if (!problem.node.fused.empty()) {
    return Refusal{"something is fused"};
  }
  const IntegerKernel& kernel = integer_kernel(info.isa);
  if (const std::string_view reason = refuse_integer(*s, kernel); !reason.empty()) return Refusal{std::string(reason)};
  const bool once = packs_once(problem, in);
  if (kernel.in_place()) {
    if (!once) return Refusal{"whether the right matrix less its zero point fits int8 is known when it runs"};
    if (!fit_int8(*problem.constant(in.b), problem.constant(in.b_zero), 1))
      return Refusal{"the right matrix less its zero point does not fit int8"};
  }
  const IntegerWork engine = integer_work(*s, kernel, problem.threads);
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  offer.scratch_bytes =
      column_bytes(engine) + (once ? 0 : packed_bytes(engine)) + engine.padding_bytes() + engine.copy_bytes();
  const Work w = work(problem.graph, problem.node);
  const double packing = once ? 0 : 16.0 * static_cast<double>(s->groups * s->ic * s->oc);
  offer.estimate =
      estimate(problem, info.isa, w.flops + packing, w.read_bytes + w.write_bytes, integer_efficiency(engine));
  return offer;
}

void pack(const IntegerWork& engine, const std::byte* b, bool has_sign, const std::byte* zeros, bool one_zero,
          std::byte* to) {
  const IntegerShape& s = engine.shape;
  IntegerWeights from;
  from.at = b;
  from.has_sign = has_sign;
  from.group = s.ic * s.oc, from.column = 1, from.channel = s.oc;
  from.zeros = zeros, from.one_zero = one_zero;
  pack_integers(engine, from, to);
}

Runner prepare(const KernelInfo& info, const Problem& problem, const Offer&, WeightCache& weights) {
  struct State {
    Inputs in;
    IntegerWork work;
    std::shared_ptr<const PackedWeights> packed;
    Requantization requantization;
    bool a_sign = false, b_sign = false, has_a_zero = false, has_b_zero = false, one_b_zero = true, one_scale = true;
  };
  auto state = std::make_shared<State>();
  State& to = *state;
  const Inputs in = to.in = inputs_of(problem.node.op);
  to.work = integer_work(*shape_of(problem, in), integer_kernel(info.isa), problem.threads);
  to.a_sign = problem.input(0).type == ElementType::int8, to.b_sign = problem.input(in.b).type == ElementType::int8;
  to.has_a_zero = problem.has(in.a_zero), to.has_b_zero = problem.has(in.b_zero);
  to.one_b_zero = is_one(problem, in.b_zero);
  if (in.requantizes) {
    to.requantization = std::get<Requantization>(read_requantization(problem, 7));
    to.one_scale = is_one(problem, 4);
  } else {
    to.requantization.epilogue.requantizes = false;
  }
  if (packs_once(problem, in)) {
    const Array* zeros = problem.constant(in.b_zero);
    to.packed = weights.get(problem.graph.value(problem.node.inputs[in.b]).constant,
                            fmt::format("integers of a right matrix by {} columns={} zeros={}", to.work.kernel->group,
                                        to.work.kernel->columns, zeros_text(zeros)),
                            [&](const Array& b) {
                              PackedWeights packed(static_cast<std::size_t>(packed_bytes(to.work)));
                              pack(to.work, b.bytes().data(), to.b_sign,
                                   zeros == nullptr ? nullptr : zeros->bytes().data(), to.one_b_zero, packed.data());
                              return packed;
                            });
  }
  return [state](const StepArgs& args) {
    const State& from = *state;
    const IntegerWork& engine = from.work;
    auto* bias = reinterpret_cast<std::int32_t*>(args.scratch);
    auto* factors = reinterpret_cast<float*>(args.scratch + 4 * engine.columns());
    std::byte* scratch = args.scratch + column_bytes(engine);
    IntegerOperands operands;
    if (from.packed) {
      operands.weights = from.packed->data();
    } else {
      pack(engine, args.inputs[from.in.b], from.b_sign, from.has_b_zero ? args.inputs[from.in.b_zero] : nullptr,
           from.one_b_zero, scratch);
      operands.weights = scratch;
      scratch += packed_bytes(engine);
    }
    operands.x = args.inputs[0];
    operands.x_sign = from.a_sign;
    operands.x_zero = from.has_a_zero ? byte_value(args.inputs[from.in.a_zero], from.a_sign) : 0;
    const std::int32_t* sums = integer_sums(engine, operands.weights);
    const auto less = static_cast<std::uint32_t>(operands.x_zero + (from.a_sign ? 128 : 0));
    for (std::int64_t i = 0; i < engine.columns(); ++i)
      bias[i] = sums == nullptr ? 0 : static_cast<std::int32_t>(0u - less * static_cast<std::uint32_t>(sums[i]));
    operands.bias = bias;
    if (from.in.requantizes) {
      std::fill_n(factors, engine.columns(), 0.0f);
      operands.within_int32 = true;
      for (std::int64_t g = 0; g < engine.shape.groups; ++g)
        for (std::int64_t n = 0; n < engine.shape.oc; ++n) {
          float& factor = factors[g * engine.padded + n];
          factor = *args.input<float>(1) * args.input<float>(4)[from.one_scale ? 0 : n] / *args.input<float>(6);
          operands.within_int32 = operands.within_int32 && std::abs(factor) < kWithinInt32;
        }
      operands.factors = factors;
    }
    operands.epilogue = &from.requantization.epilogue;
    if (from.requantization.residual >= 0)
      operands.residual = args.inputs[static_cast<std::size_t>(from.requantization.residual)];
    operands.y = args.outputs[0];
    operands.scratch = scratch;
    run_integer(engine, operands);
  };
}

constexpr CpuKernel kernel(std::string_view name, std::string_view op, Isa isa) {
  return {{.name = name, .op = op, .isa = isa, .type = ElementType::int8, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
    kernel("qlinear_matmul_i8_portable", QLinearMatMul::kName, Isa::portable),
    kernel("matmul_integer_i8_portable", MatMulInteger::kName, Isa::portable),
#if defined(__x86_64__)
    kernel("qlinear_matmul_i8_6x16_avx2", QLinearMatMul::kName, Isa::avx2),
    kernel("qlinear_matmul_i8_14x32_avx512", QLinearMatMul::kName, Isa::avx512),
    kernel("qlinear_matmul_i8_14x32_avx512_vnni", QLinearMatMul::kName, Isa::avx512_vnni),
    kernel("matmul_integer_i8_6x16_avx2", MatMulInteger::kName, Isa::avx2),
    kernel("matmul_integer_i8_14x32_avx512", MatMulInteger::kName, Isa::avx512),
    kernel("matmul_integer_i8_14x32_avx512_vnni", MatMulInteger::kName, Isa::avx512_vnni),
#endif
};

}  // namespace

std::span<const CpuKernel> quantize_matmul_kernels() { return kKernels; }

}  // namespace tessera::cpu
