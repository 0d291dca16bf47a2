#include "tessera/target/fused_nodes.h"

#include "tessera/graph/graph.h"

#include <map>
#include <vector>

namespace tessera {
namespace {

class Network {
 public:
  explicit Network(const Graph& graph) : graph_(graph) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ValueId id : graph.nodes[n].outputs) maker_[id] = n;
      for (const ValueId id : graph.nodes[n].inputs) readers_[id].push_back(n);
    }
  }

  const Node* find(const std::string& name) const {
    for (const Node& node : graph_.nodes) {
      if (node.name == name) return &node;
      for (const ValueId id : node.outputs)
        if (id != kNoValue && graph_.value(id).name == name) return &node;
    }
    return nullptr;
  }

  const Node* before(const Node& node) const {
    for (const ValueId id : node.inputs)
      if (const auto found = maker_.find(id); found != maker_.end()) return &graph_.nodes[found->second];
    return nullptr;
  }

  const Node* behind(const Node& node) const {
    for (const ValueId id : node.outputs)
      if (const auto found = readers_.find(id); found != readers_.end()) return &graph_.nodes[found->second.front()];
    return nullptr;
  }

  // Whether nothing that it depends on is an input of the network.
  bool is_constant(const Node& node) const {
    std::vector<const Node*> todo{&node};
    std::set<const Node*> seen;
    while (!todo.empty()) {
      const Node* one = todo.back();
      todo.pop_back();
      if (!seen.insert(one).second) continue;
      for (const ValueId id : one->inputs) {
        if (id == kNoValue || graph_.value(id).constant) continue;
        const auto found = maker_.find(id);
        if (found == maker_.end()) return false;
        todo.push_back(&graph_.nodes[found->second]);
      }
    }
    return true;
  }

 private:
  const Graph& graph_;
  std::map<ValueId, std::size_t> maker_;
  std::map<ValueId, std::vector<std::size_t>> readers_;
};

}  // namespace

NodeFate fate_of(const Graph& graph, const std::set<std::string>& steps, const std::string& node) {
  const Network network(graph);
  const Node* asked = network.find(node);
  if (asked == nullptr) return {};
  if (steps.contains(asked->name)) return {NodeFate::Kind::step, asked->name};
  if (network.is_constant(*asked)) return {NodeFate::Kind::ahead};
  for (const Node* at = network.before(*asked); at != nullptr; at = network.before(*at))
    if (steps.contains(at->name)) return {NodeFate::Kind::part, at->name};
  for (const Node* at = network.behind(*asked); at != nullptr; at = network.behind(*at))
    if (steps.contains(at->name)) return {NodeFate::Kind::part, at->name};
  return {NodeFate::Kind::gone};
}

}  // namespace tessera
