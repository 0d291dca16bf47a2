#include "tessera/targets/cpu/plan/stage.h"

#include <algorithm>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kFewInputs = 8;   // a shape, a rate, a flag: not a sentence of tokens
constexpr std::int64_t kFewValues = 64;  // what shape arithmetic works with

bool few_whole_numbers(const TensorType& type, std::int64_t most) {
  switch (type.type) {
    case ElementType::boolean:
    case ElementType::int32:
    case ElementType::int64: return type.is_static() && type.shape().rank() <= 1 && type.shape().volume() <= most;
    default: return false;
  }
}

bool is_static(const Graph& graph, const std::vector<ValueId>& ids) {
  return std::all_of(ids.begin(), ids.end(),
                     [&](ValueId id) { return id == kNoValue || graph.value(id).type.is_static(); });
}

}  // namespace

bool Cut::whole() const { return std::find(late.begin(), late.end(), true) == late.end(); }

Cut cut(const Graph& graph) {
  Cut result{std::vector<bool>(graph.nodes.size()), std::vector<bool>(graph.nodes.size())};
  std::vector<bool> after(graph.values.size());  // values that come from a late node
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool rest = std::any_of(node.inputs.begin(), node.inputs.end(),
                                  [&](ValueId id) { return id != kNoValue && after[static_cast<std::size_t>(id)]; });
    const bool body = std::holds_alternative<If>(node.op) || std::holds_alternative<Loop>(node.op);
    result.rest[n] = rest;
    result.late[n] = !rest && (body || !is_static(graph, node.outputs) || !is_static(graph, node.inputs));
    if (!result.rest[n] && !result.late[n]) continue;
    for (const ValueId id : node.outputs)
      if (id != kNoValue) after[static_cast<std::size_t>(id)] = true;
  }
  return result;
}

std::vector<std::size_t> deciding_inputs(const Graph& graph, const Cut& cut) {
  std::vector<bool> asked(graph.values.size());
  const auto ask = [&](const Node& node) {
    for (const ValueId id : node.inputs)
      if (id != kNoValue && few_whole_numbers(graph.value(id).type, kFewValues))
        asked[static_cast<std::size_t>(id)] = true;
  };
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (std::holds_alternative<Loop>(node.op) || cut.rest[n]) continue;
    const bool decides = std::any_of(node.outputs.begin(), node.outputs.end(),
                                     [&](ValueId id) { return id != kNoValue && asked[static_cast<std::size_t>(id)]; });
    if (cut.late[n] || decides) ask(node);
  }
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    if (asked[static_cast<std::size_t>(graph.inputs[i])] &&
        few_whole_numbers(graph.value(graph.inputs[i]).type, kFewInputs))
      inputs.push_back(i);
  return inputs;
}

}  // namespace tessera::cpu
