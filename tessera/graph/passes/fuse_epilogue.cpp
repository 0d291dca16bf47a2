// Gathers what follows a convolution or a matrix product into its node:
//
//   y = pool(after(before(product + bias) + residual))
//
// each part where there is one. A kernel then does it all while the result is still in registers.

#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/internal/symbolic_extents.h"
#include "tessera/graph/passes/pass.h"

#include <limits>
#include <unordered_map>

namespace tessera {
namespace {

using internal::Rewriter;

// How far the chain of a node has come; each part only follows those before it.
enum class Stage { product, before, residual, after, pool };

Stage stage_of(const Node& node) {
  Stage stage = Stage::product;
  for (const FusedOp& fused : node.fused) {
    const auto* binary = std::get_if<Binary>(&fused.op);
    if (may_fuse_activation(fused.op) && stage != Stage::pool)
      stage = stage >= Stage::residual ? Stage::after : Stage::before;
    else if (binary != nullptr && binary->kind == Binary::Kind::add && stage < Stage::residual)
      stage = Stage::residual;
    else
      stage = Stage::pool;
  }
  return stage;
}

bool can_carry(const Rewriter& r, const Node& node) {
  const bool product = std::holds_alternative<Conv>(node.op) || std::holds_alternative<ConvTranspose>(node.op) ||
                       std::holds_alternative<Gemm>(node.op) || std::holds_alternative<MatMul>(node.op);
  return product && node.outputs.size() == 1 && node.outputs[0] != kNoValue &&
         internal::is_floating_type(r.type(node.outputs[0]).type);
}

// The node that takes the result on, if nobody else does and it is plain.
Node* successor(const Rewriter& r, const Node& node) {
  Node* reader = r.only_reader(node.outputs[0]);
  if (reader == nullptr || !reader->fused.empty() || reader->outputs.size() != 1 || reader->outputs[0] == kNoValue)
    return nullptr;
  return reader;
}

void append(Rewriter& r, Node& node, Node& reader, FusedOp fused, const std::vector<ValueId>& more) {
  std::vector<ValueId> inputs = node.inputs;
  inputs.insert(inputs.end(), more.begin(), more.end());
  r.set_inputs(node, std::move(inputs));
  node.fused_inputs += more.size();
  node.fused.push_back(std::move(fused));
  r.absorb(node, reader);
}

bool fuse_activation(Rewriter& r, Node& node) {
  Node* reader = successor(r, node);
  if (reader == nullptr || !may_fuse_activation(reader->op)) return false;
  FusedOp fused{reader->op, {FusedOp::kChained}};
  std::vector<ValueId> bounds;
  if (std::holds_alternative<Clip>(reader->op)) {
    ValueId low = internal::input(*reader, 1), high = internal::input(*reader, 2);
    if (reader->inputs[0] != node.outputs[0] || (low != kNoValue && !internal::scalar_of(r, low)) ||
        (high != kNoValue && !internal::scalar_of(r, high)))
      return false;
    // Positions cannot be left out, so that a missing lower bound has to be one that bounds nothing.
    if (low == kNoValue && high != kNoValue)
      low = r.add_constant(reader->name + ".low", internal::floating_array(r.type(high).type, Shape{},
                                                                           {-std::numeric_limits<double>::infinity()}));
    for (ValueId bound : {low, high})
      if (bound != kNoValue) {
        fused.operands.push_back(static_cast<int>(node.inputs.size() + bounds.size()));
        bounds.push_back(bound);
      }
  }
  append(r, node, *reader, std::move(fused), bounds);
  return true;
}

// The same shape whatever shapes the inputs are given.
bool same_type(const Rewriter& r, internal::SymbolicExtents& extents, ValueId a, ValueId b) {
  return r.type(a).type == r.type(b).type && r.type(a).dims && r.type(b).dims &&
         extents.of(r.graph(), a) == extents.of(r.graph(), b);
}

// Nodes come last to first: of two that could take the sum, the later one does, which finds the other operand made.
bool fuse_residual(Rewriter& r, internal::SymbolicExtents& extents, Node& node,
                   std::unordered_map<const Node*, std::size_t>& order) {
  Node* reader = successor(r, node);
  if (reader == nullptr || !internal::is_binary(*reader, Binary::Kind::add)) return false;
  const bool second = reader->inputs[1] == node.outputs[0];
  const ValueId other = reader->inputs[second ? 0 : 1];
  if (r.constant(other) != nullptr || !same_type(r, extents, node.outputs[0], other)) return false;
  const Node* maker = r.maker(other);
  if (maker != nullptr && order[maker] > order[&node]) {
    r.move_before(node, *reader);
    order[&node] = order[reader];
  }
  const int position = static_cast<int>(node.inputs.size());
  FusedOp fused{reader->op,
                second ? std::vector{position, FusedOp::kChained} : std::vector{FusedOp::kChained, position}};
  append(r, node, *reader, std::move(fused), {other});
  return true;
}

bool fuse_pool(Rewriter& r, Node& node) {
  Node* reader = std::holds_alternative<Conv>(node.op) ? successor(r, node) : nullptr;
  const auto* pool = reader == nullptr ? nullptr : std::get_if<MaxPool>(&reader->op);
  const TensorType& x = r.type(node.outputs[0]);
  if (pool == nullptr || pool->with_indices || !x.dims || x.rank() != 4) return false;
  append(r, node, *reader, {reader->op, {FusedOp::kChained}}, {});
  return true;
}

}  // namespace

bool may_fuse_activation(const Op& op) {
  if (std::holds_alternative<Clip>(op)) return true;
  const auto* unary = std::get_if<Unary>(&op);
  if (unary == nullptr) return false;
  switch (unary->kind) {
    case Unary::Kind::relu:
    case Unary::Kind::leaky_relu:
    case Unary::Kind::elu:
    case Unary::Kind::sigmoid:
    case Unary::Kind::silu:
    case Unary::Kind::hard_sigmoid:
    case Unary::Kind::hard_swish:
    case Unary::Kind::tanh:
    case Unary::Kind::softplus:
    case Unary::Kind::mish:
    case Unary::Kind::gelu:
    case Unary::Kind::gelu_tanh: return true;
    default: return false;
  }
}

bool fuse_epilogue(Graph& graph) {
  Rewriter r(graph);
  internal::SymbolicExtents extents;
  std::vector<Node*> products;
  std::unordered_map<const Node*, std::size_t> order;
  for (Node& node : r.nodes()) {
    order[&node] = order.size();
    extents.follow(r.graph(), node);
    if (can_carry(r, node)) products.push_back(&node);
  }
  for (Node* node : products)
    if (stage_of(*node) == Stage::product) fuse_activation(r, *node);
  for (auto node = products.rbegin(); node != products.rend(); ++node)
    if (stage_of(**node) <= Stage::before) fuse_residual(r, extents, **node, order);
  for (Node* node : products) {
    if (stage_of(*node) == Stage::residual) fuse_activation(r, *node);
    if (stage_of(*node) != Stage::pool) fuse_pool(r, *node);
  }
  return r.changed();
}

}  // namespace tessera
