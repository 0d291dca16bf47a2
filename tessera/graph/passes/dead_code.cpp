#include "tessera/graph/passes/pass.h"

#include <algorithm>

namespace tessera {
namespace {

// What the outputs need, found from the last node to the first.
std::vector<bool> needed_values(const Graph& graph) {
  std::vector<bool> needed(graph.values.size());
  for (ValueId id : graph.outputs) needed[static_cast<std::size_t>(id)] = true;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool alive = std::any_of(node->outputs.begin(), node->outputs.end(),
                                   [&](ValueId id) { return id != kNoValue && needed[static_cast<std::size_t>(id)]; });
    if (!alive) continue;
    for (ValueId id : node->inputs)
      if (id != kNoValue) needed[static_cast<std::size_t>(id)] = true;
  }
  return needed;
}

}  // namespace

bool remove_dead_code(Graph& graph) {
  std::vector<bool> kept = needed_values(graph);
  // A node lives as long as one of its outputs; the others are asked for by nobody.
  const std::size_t nodes_before = graph.nodes.size();
  std::erase_if(graph.nodes, [&](const Node& node) {
    return std::none_of(node.outputs.begin(), node.outputs.end(),
                        [&](ValueId id) { return id != kNoValue && kept[static_cast<std::size_t>(id)]; });
  });
  for (ValueId id : graph.inputs) kept[static_cast<std::size_t>(id)] = true;

  std::vector<ValueId> renamed(graph.values.size(), kNoValue);
  std::vector<Value> values;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (!kept[i]) continue;
    renamed[i] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[i]));
  }
  const bool changed = graph.nodes.size() != nodes_before || values.size() != graph.values.size();
  graph.values = std::move(values);
  const auto rename = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids)
      if (id != kNoValue) id = renamed[static_cast<std::size_t>(id)];
  };
  rename(graph.inputs);
  rename(graph.outputs);
  for (Node& node : graph.nodes) {
    rename(node.inputs);
    rename(node.outputs);
  }
  return changed;
}

}  // namespace tessera
