#include "tessera/targets/cpu/kernels/epilogue.h"

#include <fmt/format.h>

#include <limits>

namespace tessera::cpu {
namespace {

std::optional<float> bound(const Array* array, float otherwise) {
  if (array == nullptr) return otherwise;
  if (array->count() != 1) return std::nullopt;
  return static_cast<float>(array->to_double()[0]);
}

bool is_chained(const FusedOp& fused, std::size_t i) {
  return i < fused.operands.size() && fused.operands[i] == FusedOp::kChained;
}

// Constants of a fused Clip; a bound that is computed at run time is refused by the caller.
std::optional<Activation> fused_activation(const Problem& problem, const FusedOp& fused) {
  const auto bound_at = [&](std::size_t i) -> int { return i < fused.operands.size() ? fused.operands[i] : -2; };
  const Array* bounds[2] = {nullptr, nullptr};
  for (std::size_t i : {1, 2}) {
    const int at = bound_at(i);
    if (at < 0 || !problem.has(static_cast<std::size_t>(at))) continue;
    bounds[i - 1] = problem.constant(static_cast<std::size_t>(at));
    if (bounds[i - 1] == nullptr) return std::nullopt;
  }
  return read_activation(fused.op, bounds[0], bounds[1]);
}

// The input that is added to the chained result, if that is what the operator does.
std::optional<int> residual_of(const Problem& problem, const FusedOp& fused, const TensorType& chained) {
  const auto* binary = std::get_if<Binary>(&fused.op);
  if (binary == nullptr || binary->kind != Binary::Kind::add || fused.operands.size() != 2) return std::nullopt;
  const int other = is_chained(fused, 0) ? fused.operands[1] : fused.operands[0];
  if (other < 0 || problem.input(static_cast<std::size_t>(other)) != chained) return std::nullopt;
  return other;
}

}  // namespace

std::optional<Activation> read_activation(const Op& op, const Array* low, const Array* high) {
  using Kind = Activation::Kind;
  if (std::holds_alternative<Clip>(op)) {
    const auto least = bound(low, -std::numeric_limits<float>::infinity()),
               most = bound(high, std::numeric_limits<float>::infinity());
    if (!least || !most) return std::nullopt;
    return Activation{Kind::clip, *least, *most};
  }
  const auto* unary = std::get_if<Unary>(&op);
  if (unary == nullptr) return std::nullopt;
  switch (unary->kind) {
    case Unary::Kind::identity: return Activation{};
    case Unary::Kind::relu: return Activation{Kind::relu};
    case Unary::Kind::leaky_relu: return Activation{Kind::leaky_relu, unary->alpha};
    case Unary::Kind::elu: return Activation{Kind::elu, unary->alpha};
    case Unary::Kind::sigmoid: return Activation{Kind::sigmoid};
    case Unary::Kind::silu: return Activation{Kind::silu, unary->alpha == 0 ? 1 : unary->alpha};
    case Unary::Kind::hard_sigmoid: return Activation{Kind::hard_sigmoid, unary->alpha, unary->beta};
    case Unary::Kind::hard_swish: return Activation{Kind::hard_swish};
    case Unary::Kind::tanh: return Activation{Kind::tanh};
    case Unary::Kind::softplus: return Activation{Kind::softplus};
    case Unary::Kind::mish: return Activation{Kind::mish};
    case Unary::Kind::gelu: return Activation{Kind::gelu};
    case Unary::Kind::gelu_tanh: return Activation{Kind::gelu_tanh};
    default: return std::nullopt;
  }
}

std::variant<Epilogue, Refusal> read_epilogue(const Problem& problem) {
  return read_epilogue(problem, 0, problem.node.fused.size());
}

std::variant<Epilogue, Refusal> read_epilogue(const Problem& problem, std::size_t begin, std::size_t end) {
  Epilogue epilogue;
  const std::vector<FusedOp>& fused = problem.node.fused;
  for (std::size_t i = begin; i < end; ++i) {
    if (epilogue.pool != nullptr) return Refusal{fmt::format("{} after a fused pool", name(fused[i].op))};
    if (const auto residual = residual_of(problem, fused[i], problem.types.chained[i])) {
      if (epilogue.residual >= 0) return Refusal{"two residual sums"};
      epilogue.residual = *residual;
    } else if (const auto activation = fused_activation(problem, fused[i]); activation && is_chained(fused[i], 0)) {
      Activation& slot = epilogue.residual >= 0 ? epilogue.after : epilogue.before;
      if (slot.kind != Activation::Kind::none) return Refusal{"two activations in a row"};
      slot = *activation;
    } else if (const auto* pool = std::get_if<MaxPool>(&fused[i].op)) {
      epilogue.pool = pool;
    } else {
      return Refusal{fmt::format("cannot apply a fused {}", name(fused[i].op))};
    }
  }
  return epilogue;
}

}  // namespace tessera::cpu
