#pragma once

// A graph while a pass rewrites it: who makes and who reads each value, kept up to date. Nodes that nobody reads any
// more go at once; the nodes themselves never move in memory, so a pass may hold on to them.

#include "tessera/graph/graph.h"

#include <list>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tessera::internal {

class Rewriter {
 public:
  using NodeAt = std::list<Node>::iterator;

  // Takes the nodes out of the graph; they are back, without those that died, when this ends.
  explicit Rewriter(Graph& graph);
  ~Rewriter();
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  std::list<Node>& nodes() { return nodes_; }
  bool alive(const Node& node) const { return !dead_.contains(&node); }
  bool changed() const { return changed_; }

  const Graph& graph() const { return graph_; }  // values, inputs and outputs; its list of nodes is empty meanwhile
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }
  const Array* constant(ValueId id) const { return id == kNoValue ? nullptr : graph_.value(id).constant.get(); }
  bool is_output(ValueId id) const { return outputs_[static_cast<std::size_t>(id)] > 0; }

  Node* maker(ValueId id) const;  // none for inputs and constants
  // The maker, if it is an X with nothing fused.
  template <class X>
  Node* made_by(ValueId id) const {
    Node* node = maker(id);
    return node != nullptr && node->fused.empty() && std::holds_alternative<X>(node->op) ? node : nullptr;
  }
  // Operands of nodes and outputs of the graph that are this value.
  std::size_t uses(ValueId id) const;
  // The node that reads the value, if it does so once and nobody else does, not even an output of the graph.
  Node* only_reader(ValueId id) const;

  ValueId add_constant(const std::string& name, Array array);
  // A new node before another; its only output, of inferred type.
  ValueId insert(NodeAt before, const std::string& name, Op op, std::vector<ValueId> inputs);
  // A copy of a node of another graph, with operands and results of this one.
  void insert(NodeAt before, Node node);
  ValueId add_value(const std::string& name, TensorType type);

  void set_inputs(Node& node, std::vector<ValueId> inputs);
  // The node computes something else; it must have nothing fused.
  void become(Node& node, Op op, std::vector<ValueId> inputs);
  // The first output of a node becomes a constant. Nothing may be made of the others.
  void become_constant(Node& node, Array array);
  void refine(ValueId id, TensorType type) { graph_.value(id).type = std::move(type); }

  // Everyone who reads `old` reads `now`, which must be made before those readers. Outputs of the graph keep their
  // names; false, and nothing done, where that cannot be.
  bool replace(ValueId old, ValueId now);
  // `producer` makes what its only reader made, which goes.
  void absorb(Node& producer, Node& reader);
  // To the place of another node, before it.
  void move_before(Node& node, const Node& place);

 private:
  std::size_t at(ValueId id) const { return static_cast<std::size_t>(id); }
  void count(Node& node);
  void forget_reads(Node& node);
  void release(ValueId id);
  void kill(Node& node);

  Graph& graph_;
  std::list<Node> nodes_;
  std::vector<Node*> makers_;
  std::vector<std::vector<Node*>> readers_;  // once for each operand
  std::vector<int> outputs_;                 // how many outputs of the graph a value is
  std::unordered_set<const Node*> dead_;
  bool changed_ = false;
};

// Sweeps visit(rewriter, position of a node) over all nodes in order until one changes nothing. Whether any did.
template <class Visit>
bool rewrite_until_settled(Graph& graph, Visit&& visit) {
  for (bool any = false;; any = true) {
    Rewriter rewriter(graph);
    for (auto it = rewriter.nodes().begin(); it != rewriter.nodes().end(); ++it)
      if (rewriter.alive(*it)) visit(rewriter, it);
    if (!rewriter.changed()) return any;
  }
}

// The value of a constant of one element.
std::optional<double> scalar_of(const Rewriter& r, ValueId id);
// The same, for one that changes nothing about the shape of x when they meet.
std::optional<double> scalar_beside(const Rewriter& r, ValueId id, ValueId x);
// The numbers of a constant list; none if it is not constant.
std::optional<std::vector<std::int64_t>> integers_of(const Rewriter& r, ValueId id);
// An array of any floating type from doubles, each rounded once.
Array floating_array(ElementType type, const Shape& shape, const std::vector<double>& values);
Array integer_list(const std::vector<std::int64_t>& values);

bool is_floating_type(ElementType type);
bool is_binary(const Node& node, Binary::Kind kind);
bool is_unary(const Node& node, Unary::Kind kind);
inline ValueId input(const Node& node, std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : kNoValue; }

}  // namespace tessera::internal
