#include "tessera/graph/passes/pass.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"

#include <algorithm>
#include <limits>
#include <new>

namespace tessera {
namespace {

// A larger result costs more to keep in the model than to compute again.
constexpr std::int64_t kMaxFoldedBytes = std::int64_t{256} << 20;

bool all_constant(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return id == kNoValue || graph.value(id).constant; });
}

// The bytes of the result; of what is read where the result's shape depends on the values.
std::int64_t folded_bytes(const Graph& graph, const Node& node) {
  std::int64_t bytes = 0;
  const auto add = [&](const TensorType& type) {
    const std::int64_t more = type.shape().volume();
    std::int64_t sum = 0;
    if (__builtin_mul_overflow(more, element_bytes(type.type), &sum) || __builtin_add_overflow(bytes, sum, &bytes))
      bytes = std::numeric_limits<std::int64_t>::max();
  };
  const bool known = std::all_of(node.outputs.begin(), node.outputs.end(),
                                 [&](ValueId id) { return id == kNoValue || graph.value(id).type.is_static(); });
  for (ValueId id : known ? node.outputs : node.inputs)
    if (id != kNoValue) add(graph.value(id).type);
  return bytes;
}

// A body may run for as long as it likes, and belongs to the run.
bool may_fold(const Node& node) {
  return !std::holds_alternative<If>(node.op) && !std::holds_alternative<Loop>(node.op);
}

// The extents that ShapeOf asks for, where all of those are known even if others are not; SizeOf where all are.
std::optional<Array> known_shape(const Graph& graph, const Node& node) {
  const auto* shape = std::get_if<ShapeOf>(&node.op);
  if (!node.fused.empty() || (shape == nullptr && !std::holds_alternative<SizeOf>(node.op)) || node.inputs.empty() ||
      node.inputs[0] == kNoValue)
    return std::nullopt;
  const TensorType& x = graph.value(node.inputs[0]).type;
  if (!x.dims) return std::nullopt;
  if (shape == nullptr)
    return x.is_static() ? std::optional(Array::scalar<std::int64_t>(x.shape().volume())) : std::nullopt;
  const std::int64_t rank = x.rank();
  const auto position = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t first = position(shape->start), last = std::max(first, shape->end ? position(*shape->end) : rank);
  const std::vector<std::int64_t> extents(x.dims->begin() + first, x.dims->begin() + last);
  if (std::find(extents.begin(), extents.end(), TensorType::kUnknown) != extents.end()) return std::nullopt;
  return Array::of<std::int64_t>(Shape{last - first}, extents);
}

std::vector<Array> evaluated(const Graph& graph, const Node& node) {
  if (std::optional<Array> shape = known_shape(graph, node)) return {std::move(*shape)};
  if (!may_fold(node) || !all_constant(graph, node) || folded_bytes(graph, node) > kMaxFoldedBytes) return {};
  std::vector<const Array*> operands;
  for (ValueId id : node.inputs) operands.push_back(id == kNoValue ? nullptr : graph.value(id).constant.get());
  try {
    return evaluate(node, operands);
  } catch (const Error&) {
    return {};  // the run reports it, if it ever comes there
  } catch (const std::bad_alloc&) {
    return {};
  }
}

// Types of the outputs with all that is constant by now.
void infer_outputs(Graph& graph, const Node& node) {
  const std::vector<TensorType> types = infer_node(graph, node).outputs;
  for (std::size_t i = 0; i < std::min(types.size(), node.outputs.size()); ++i)
    if (node.outputs[i] != kNoValue) graph.value(node.outputs[i]).type = types[i];
}

}  // namespace

bool fold_constants(Graph& graph) {
  std::vector<bool> folded(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    infer_outputs(graph, node);
    std::vector<Array> results = evaluated(graph, node);
    if (results.empty() || results.size() < node.outputs.size()) continue;
    folded[n] = true;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      Value& value = graph.value(node.outputs[i]);
      value.type = TensorType(results[i].type(), results[i].shape());
      value.constant = std::make_shared<const Array>(std::move(results[i]));
    }
  }
  std::size_t n = 0;
  return std::erase_if(graph.nodes, [&](const Node&) { return folded[n++]; }) > 0;
}

}  // namespace tessera
