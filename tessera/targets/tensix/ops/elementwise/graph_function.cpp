#include "tessera/targets/tensix/ops/elementwise/graph_function.h"

#include <cmath>
#include <limits>

namespace tessera::tensix {
namespace {

// Of TTNN's functions the one that computes the same.
std::optional<VectorFunction> function_of(const Unary& op) {
  using Kind = Unary::Kind;
  const auto plain = [](std::string_view name) { return vector_function(name); };
  const auto with = [](std::string_view name, float alpha) { return vector_function(name, std::span(&alpha, 1)); };
  switch (op.kind) {
    case Kind::abs: return plain("abs");
    case Kind::elu: return with("elu", op.alpha);
    case Kind::exp: return plain("exp");
    case Kind::gelu: return plain("gelu");
    case Kind::hard_sigmoid:
      if (std::abs(op.alpha - 1.0f / 6) > 1e-6f || op.beta != 0.5f) return std::nullopt;
      return plain("hardsigmoid");
    case Kind::hard_swish: return plain("hardswish");
    case Kind::leaky_relu: return with("leaky_relu", op.alpha);
    case Kind::log: return plain("log");
    case Kind::mish: return plain("mish");
    case Kind::neg: return plain("neg");
    case Kind::reciprocal: return plain("reciprocal");
    case Kind::relu: return plain("relu");
    case Kind::sigmoid: return plain("sigmoid");
    case Kind::silu:
      if (op.alpha != 0 && op.alpha != 1) return std::nullopt;
      return plain("silu");
    case Kind::softplus: return plain("softplus");
    case Kind::sqrt: return plain("sqrt");
    case Kind::tanh: return plain("tanh");
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<VectorFunction> vector_function_of(const Node& node, const Lowering& graph) {
  if (const auto* unary = std::get_if<Unary>(&node.op)) return function_of(*unary);
  if (!std::holds_alternative<Clip>(node.op)) return std::nullopt;
  float bounds[2] = {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
  for (std::size_t i = 1; i < 3; ++i) {
    if (i >= node.inputs.size() || node.inputs[i] == kNoValue) continue;
    const Constant c = graph.constant(node, i);
    if (!c || c->type() != ElementType::float32 || c->count() != 1) return std::nullopt;
    bounds[i - 1] = c->as<float>()[0];
  }
  if (bounds[0] == 0 && bounds[1] == 6) return vector_function("relu6");
  return vector_function("clamp", bounds);
}

}  // namespace tessera::tensix
