// Joins a depthwise convolution with the convolutions before and after it, where what lies between is too large to stay
// in a cache: a kernel that runs them row by row never writes it to memory. Other backends plan the convolutions one by
// one, hence this is not among all_passes().

#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>

namespace tessera {
namespace {

using internal::Rewriter;

// A float32 convolution over two dimensions with constant weights and known shapes, and nothing behind it but
// activations and, if `may_add`, a residual sum.
bool is_link(const Rewriter& r, const Node* node, bool may_add) {
  const auto* conv = node == nullptr ? nullptr : std::get_if<Conv>(&node->op);
  if (conv == nullptr || node->outputs.size() != 1 || node->inputs.size() < 2) return false;
  const TensorType &x = r.type(node->inputs[0]), &y = r.type(node->outputs[0]);
  if (!x.is_static() || !y.is_static() || x.rank() != 4 || y.rank() != 4 || x.type != ElementType::float32 ||
      y.type != ElementType::float32 || x.shape().volume() == 0 || y.shape().volume() == 0)
    return false;
  if (r.constant(node->inputs[1]) == nullptr) return false;
  if (node->op_inputs() > 2 && node->inputs[2] != kNoValue && r.constant(node->inputs[2]) == nullptr) return false;
  for (const FusedOp& fused : node->fused) {
    const bool sum = std::holds_alternative<Binary>(fused.op);
    if (sum ? !may_add : !may_fuse_activation(fused.op)) return false;
  }
  return true;
}

bool is_depthwise(const Rewriter& r, const Node& node) {
  const std::int64_t channels = r.type(node.inputs[0]).shape()[1];
  return std::get<Conv>(node.op).groups == channels && r.type(node.inputs[1]).shape()[0] == channels && channels > 1;
}

bool is_pointwise(const Rewriter& r, const Node& node) {
  const Shape x = r.type(node.inputs[0]).shape(), w = r.type(node.inputs[1]).shape();
  const NodeTypes types = infer_node(r.graph(), node);
  const Shape y = (types.chained.empty() ? types.outputs.at(0) : types.chained[0]).shape();
  const Window& window = std::get<Conv>(node.op).window;
  const auto is_one = [](std::int64_t stride) { return stride == 1; };
  return std::get<Conv>(node.op).groups == 1 && w[2] == 1 && w[3] == 1 && x[2] == y[2] && x[3] == y[3] &&
         std::all_of(window.strides.begin(), window.strides.end(), is_one) &&
         std::all_of(window.pads.begin(), window.pads.end(), [](std::int64_t pad) { return pad == 0; });
}

std::int64_t bytes_of(const Rewriter& r, ValueId id) {
  return r.type(id).shape().volume() * element_bytes(r.type(id).type);
}

// `node` goes on with what its only reader does.
void join(Rewriter& r, Node& node, Node& reader) {
  std::vector<ValueId> inputs = node.inputs;
  std::vector<int> place(reader.inputs.size(), -1);  // in `inputs`, of what the reader reads
  for (std::size_t i = 1; i < reader.inputs.size(); ++i) {
    if (reader.inputs[i] == kNoValue) continue;
    place[i] = static_cast<int>(inputs.size());
    inputs.push_back(reader.inputs[i]);
  }
  FusedOp conv{reader.op, {FusedOp::kChained}};
  for (std::size_t i = 1; i < reader.op_inputs(); ++i)
    if (place[i] >= 0) conv.operands.push_back(place[i]);
  std::vector<FusedOp> fused{std::move(conv)};
  for (FusedOp more : reader.fused) {
    for (int& operand : more.operands)
      if (operand != FusedOp::kChained) operand = place[static_cast<std::size_t>(operand)];
    fused.push_back(std::move(more));
  }
  // What the reader reads beside this may be made after this node.
  r.move_before(node, reader);
  node.fused_inputs += inputs.size() - node.inputs.size();
  r.set_inputs(node, std::move(inputs));
  node.fused.insert(node.fused.end(), fused.begin(), fused.end());
  r.absorb(node, reader);
}

}  // namespace

bool fuse_chains(Graph& graph, const ChainLimits& limits) {
  Rewriter r(graph);
  std::vector<Node*> nodes;
  for (Node& node : r.nodes()) nodes.push_back(&node);
  const auto fits = [&](const Node& node) { return bytes_of(r, node.inputs[1]) <= limits.max_weight_bytes; };
  for (Node* node : nodes) {
    if (!r.alive(*node) || !is_link(r, node, true) || !is_depthwise(r, *node)) continue;
    Node *before = r.maker(node->inputs[0]), *after = r.only_reader(node->outputs[0]);
    const bool large_before = bytes_of(r, node->inputs[0]) >= limits.min_bytes,
               large_after = bytes_of(r, node->outputs[0]) >= limits.min_bytes;
    // Rows of the wide value that a window sees, and the strip made of them, must fit the cache.
    const Shape x = r.type(node->inputs[0]).shape(), w = r.type(node->inputs[1]).shape();
    if ((w[2] + 2) * x[1] * x[3] * 4 > limits.max_rows_bytes) continue;
    const bool with_before = large_before && is_link(r, before, false) && r.only_reader(node->inputs[0]) == node &&
                             std::get<Conv>(before->op).groups == 1 && fits(*before);
    bool with_after = (large_after || with_before) && is_link(r, after, true) && after->inputs[0] == node->outputs[0] &&
                      is_link(r, node, false) && is_pointwise(r, *after) && fits(*after);
    if (with_after) join(r, *node, *after);
    if (with_before) join(r, *before, *node);
  }
  return r.changed();
}

}  // namespace tessera
