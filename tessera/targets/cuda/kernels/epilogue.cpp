#include "tessera/targets/cuda/kernels/epilogue.h"

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/conv2d/conv2d_table.h"

#include <fmt/format.h>

#include <utility>

namespace tessera::cuda {
namespace {

using Kind = Unary::Kind;

std::optional<Activation> activation_of(const Unary& unary) {
  const auto curve = [&](Curve which) { return Activation{.curve = which, .alpha = unary.alpha, .beta = unary.beta}; };
  switch (unary.kind) {
    case Kind::identity: return kPlain;
    case Kind::relu: return kRelu;
    case Kind::silu: return curve(Curve::silu);
    case Kind::sigmoid: return curve(Curve::sigmoid);
    case Kind::tanh: return curve(Curve::tanh);
    case Kind::hard_sigmoid: return curve(Curve::hard_sigmoid);
    case Kind::hard_swish: return curve(Curve::hard_swish);
    case Kind::leaky_relu: return curve(Curve::leaky_relu);
    case Kind::elu: return curve(Curve::elu);
    case Kind::gelu: return curve(Curve::gelu);
    case Kind::gelu_tanh: return curve(Curve::gelu_tanh);
    case Kind::softplus: return curve(Curve::softplus);
    case Kind::mish: return curve(Curve::mish);
    case Kind::abs: return curve(Curve::abs);
    case Kind::erf: return curve(Curve::erf);
    case Kind::exp: return curve(Curve::exp);
    case Kind::log: return curve(Curve::log);
    case Kind::neg: return curve(Curve::neg);
    case Kind::reciprocal: return curve(Curve::reciprocal);
    case Kind::sqrt: return curve(Curve::sqrt);
    default: return std::nullopt;
  }
}

// The largest of 2x2 next to each other; what is left over at the edge is dropped.
bool is_plain_pool(const MaxPool& pool, const TensorType& x) {
  if (pool.with_indices || x.rank() != 4 || pool.window.kernel != std::vector<std::int64_t>{2, 2}) return false;
  const ResolvedWindow window = resolve(pool.window, {x.shape()[2], x.shape()[3]}, pool.ceil_mode, MaxPool::kName);
  for (std::size_t i = 0; i < 2; ++i)
    if (window.strides[i] != 2 || window.dilations[i] != 1 || window.begins[i] != 0 || window.ends[i] != 0 ||
        window.output[i] != x.shape()[static_cast<int>(i) + 2] / 2)
      return false;
  return true;
}

// Whether only the tensor cores do it fast enough: then the activation has to be one that they end with.
bool wants_tiles(const Node& node, const TensorType& y) {
  const auto* conv = std::get_if<Conv>(&node.op);
  if (conv != nullptr && conv->groups > 1) return false;
  const Shape shape = y.shape();
  return shape.rank() != 4 || shape[2] * shape[3] > 1;
}

struct Prefix {
  Epilogue epilogue;
  std::size_t count = 0;  // fused operators that are in it
};

Prefix prefix_of(const tessera::Graph& graph, const Node& node, const NodeTypes& types) {
  Prefix prefix;
  const auto constant = [&](const FusedOp& fused, std::size_t operand) -> const Array* {
    if (operand >= fused.operands.size()) return nullptr;
    return graph.value(node.inputs[static_cast<std::size_t>(fused.operands[operand])]).constant.get();
  };
  bool activated = false;
  for (const FusedOp& fused : node.fused) {
    const TensorType& x = types.chained.at(prefix.count);
    const auto* binary = std::get_if<tessera::Binary>(&fused.op);
    if (binary != nullptr && binary->kind == tessera::Binary::Kind::add && !activated && prefix.epilogue.residual < 0) {
      prefix.epilogue.residual = fused.operands[0] == FusedOp::kChained ? fused.operands[1] : fused.operands[0];
    } else if (const auto activation = read_activation(fused.op, constant(fused, 1), constant(fused, 2));
               activation && !activated &&
               (tiles_take(*activation, prefix.epilogue.residual >= 0) || !wants_tiles(node, x))) {
      prefix.epilogue.activation = *activation;
      activated = true;
    } else if (const auto* pool = std::get_if<MaxPool>(&fused.op)) {
      const auto* conv = std::get_if<Conv>(&node.op);
      if (conv != nullptr && conv->groups == 1 && is_plain_pool(*pool, x)) {
        prefix.epilogue.pool = 2;
        ++prefix.count;
      }
      break;
    } else {
      break;
    }
    ++prefix.count;
  }
  return prefix;
}

}  // namespace

std::optional<Activation> read_activation(const Op& op, const Array* low, const Array* high) {
  if (const auto* unary = std::get_if<Unary>(&op)) return activation_of(*unary);
  if (!std::holds_alternative<Clip>(op)) return std::nullopt;
  Activation activation;
  if (low != nullptr) activation.lower = static_cast<float>(low->to_double().at(0));
  if (high != nullptr) activation.upper = static_cast<float>(high->to_double().at(0));
  return activation;
}

std::variant<Epilogue, Refusal> read_epilogue(const Problem& problem) {
  const Prefix prefix = prefix_of(problem.graph, problem.node, problem.types);
  if (prefix.count == problem.node.fused.size()) return prefix.epilogue;
  return Refusal{fmt::format("{} is fused in a way that no kernel takes", name(problem.node.fused[prefix.count].op))};
}

void split_epilogues(tessera::Graph& graph) {
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    const NodeTypes types = node.fused.empty() ? NodeTypes{} : infer_node(graph, node);
    const std::size_t keep = node.fused.empty() ? 0 : prefix_of(graph, node, types).count;
    if (keep == node.fused.size()) {
      graph.nodes.push_back(std::move(node));
      continue;
    }
    const std::vector<FusedOp> fused = std::exchange(node.fused, {});
    const std::vector<ValueId> inputs = node.inputs;
    const ValueId result = node.outputs[0];
    std::size_t kept_inputs = node.op_inputs();
    for (std::size_t f = 0; f < keep; ++f) {
      node.fused.push_back(fused[f]);
      for (const int operand : fused[f].operands)
        kept_inputs = std::max(kept_inputs, static_cast<std::size_t>(operand + 1));
    }
    node.fused_inputs = kept_inputs - node.op_inputs();
    node.inputs.resize(kept_inputs);
    ValueId last = graph.add_value(node.name + ":sum", types.chained[keep]);
    node.outputs = {last};
    const std::string base = node.name;
    graph.nodes.push_back(std::move(node));
    for (std::size_t f = keep; f < fused.size(); ++f) {
      Node next;
      next.name = fmt::format("{}:{}", base, name(fused[f].op));
      next.op = fused[f].op;
      for (const int operand : fused[f].operands)
        next.inputs.push_back(operand == FusedOp::kChained ? last : inputs[static_cast<std::size_t>(operand)]);
      last = f + 1 == fused.size() ? result : graph.add_value(next.name, types.chained[f + 1]);
      next.outputs = {last};
      graph.nodes.push_back(std::move(next));
    }
  }
  verify(graph);
}

}  // namespace tessera::cuda
