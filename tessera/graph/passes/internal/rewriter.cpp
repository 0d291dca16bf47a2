#include "tessera/graph/passes/internal/rewriter.h"

#include "tessera/core/element_type_of.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"

#include <algorithm>
#include <iterator>

namespace tessera::internal {

Rewriter::Rewriter(Graph& graph)
    : graph_(graph),
      nodes_(std::make_move_iterator(graph.nodes.begin()), std::make_move_iterator(graph.nodes.end())),
      makers_(graph.values.size()),
      readers_(graph.values.size()),
      outputs_(graph.values.size()) {
  graph_.nodes.clear();
  for (Node& node : nodes_) count(node);
  for (ValueId id : graph.outputs) ++outputs_[at(id)];
}

Rewriter::~Rewriter() {
  for (Node& node : nodes_)
    if (alive(node)) graph_.nodes.push_back(std::move(node));
}

void Rewriter::count(Node& node) {
  for (ValueId id : node.inputs)
    if (id != kNoValue) readers_[at(id)].push_back(&node);
  for (ValueId id : node.outputs)
    if (id != kNoValue) makers_[at(id)] = &node;
}

Node* Rewriter::maker(ValueId id) const { return id == kNoValue ? nullptr : makers_[at(id)]; }

std::size_t Rewriter::uses(ValueId id) const {
  return readers_[at(id)].size() + static_cast<std::size_t>(outputs_[at(id)]);
}

Node* Rewriter::only_reader(ValueId id) const {
  return id != kNoValue && uses(id) == 1 && !is_output(id) ? readers_[at(id)].front() : nullptr;
}

ValueId Rewriter::add_value(const std::string& name, TensorType type) {
  makers_.push_back(nullptr);
  readers_.emplace_back();
  outputs_.push_back(0);
  return graph_.add_value(name, std::move(type));
}

ValueId Rewriter::add_constant(const std::string& name, Array array) {
  return add_constant(name, std::make_shared<const Array>(std::move(array)));
}

ValueId Rewriter::add_constant(const std::string& name, std::shared_ptr<const Array> array) {
  const ValueId id = add_value(name, TensorType(array->type(), array->shape()));
  graph_.value(id).constant = std::move(array);
  return id;
}

void Rewriter::insert(NodeAt before, Node node) {
  count(*nodes_.insert(before, std::move(node)));
  changed_ = true;
}

ValueId Rewriter::insert(NodeAt before, const std::string& name, Op op, std::vector<ValueId> inputs) {
  Node node{name, std::move(op), std::move(inputs), {}, {}, 0};
  node.outputs = {add_value(name, infer_node(graph_, node).outputs.at(0))};
  const ValueId made = node.outputs[0];
  insert(before, std::move(node));
  return made;
}

void Rewriter::forget_reads(Node& node) {
  for (ValueId id : node.inputs) {
    if (id == kNoValue) continue;
    std::vector<Node*>& readers = readers_[at(id)];
    readers.erase(std::find(readers.begin(), readers.end(), &node));
  }
}

void Rewriter::release(ValueId id) {
  if (id == kNoValue || uses(id) > 0) return;
  Node* node = maker(id);
  if (node == nullptr) return;
  if (std::all_of(node->outputs.begin(), node->outputs.end(),
                  [&](ValueId made) { return made == kNoValue || uses(made) == 0; }))
    kill(*node);
}

void Rewriter::kill(Node& node) {
  if (!dead_.insert(&node).second) return;
  changed_ = true;
  for (ValueId id : node.outputs)
    if (id != kNoValue && makers_[at(id)] == &node) makers_[at(id)] = nullptr;
  forget_reads(node);
  for (ValueId id : node.inputs) release(id);
}

void Rewriter::set_inputs(Node& node, std::vector<ValueId> inputs) {
  changed_ = true;
  forget_reads(node);
  const std::vector<ValueId> before = std::exchange(node.inputs, std::move(inputs));
  for (ValueId id : node.inputs)
    if (id != kNoValue) readers_[at(id)].push_back(&node);
  for (ValueId id : before) release(id);
}

void Rewriter::become(Node& node, Op op, std::vector<ValueId> inputs) {
  node.op = std::move(op);
  set_inputs(node, std::move(inputs));
}

void Rewriter::become_constant(Node& node, Array array) {
  const ValueId id = std::exchange(node.outputs[0], kNoValue);
  makers_[at(id)] = nullptr;
  graph_.value(id).type = TensorType(array.type(), array.shape());
  graph_.value(id).constant = std::make_shared<const Array>(std::move(array));
  kill(node);
}

bool Rewriter::replace(ValueId old, ValueId now) {
  Node* old_maker = maker(old);
  const bool renames = is_output(old);
  if (renames) {
    Node* now_maker = maker(now);
    if (now_maker == nullptr || old_maker == nullptr || is_output(now)) return false;
    std::replace(old_maker->outputs.begin(), old_maker->outputs.end(), old, kNoValue);
    std::replace(now_maker->outputs.begin(), now_maker->outputs.end(), now, old);
    makers_[at(old)] = now_maker;
    makers_[at(now)] = nullptr;
    std::swap(old, now);
  }
  changed_ = changed_ || renames || !readers_[at(old)].empty();
  for (Node* reader : readers_[at(old)]) std::replace(reader->inputs.begin(), reader->inputs.end(), old, now);
  readers_[at(now)].insert(readers_[at(now)].end(), readers_[at(old)].begin(), readers_[at(old)].end());
  readers_[at(old)].clear();
  if (old_maker != nullptr && std::all_of(old_maker->outputs.begin(), old_maker->outputs.end(),
                                          [&](ValueId made) { return made == kNoValue || uses(made) == 0; }))
    kill(*old_maker);
  return true;
}

void Rewriter::absorb(Node& producer, Node& reader) {
  const ValueId between = std::exchange(producer.outputs[0], reader.outputs[0]);
  makers_[at(between)] = nullptr;
  makers_[at(producer.outputs[0])] = &producer;
  std::fill(reader.outputs.begin(), reader.outputs.end(), kNoValue);
  kill(reader);
}

void Rewriter::move_before(Node& node, const Node& place) {
  const auto find = [&](const Node& wanted) {
    return std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& n) { return &n == &wanted; });
  };
  nodes_.splice(find(place), nodes_, find(node));
  changed_ = true;
}

std::optional<double> scalar_of(const Rewriter& r, ValueId id) {
  const Array* array = r.constant(id);
  if (array == nullptr || array->count() != 1) return std::nullopt;
  return array->to_double()[0];
}

std::optional<double> scalar_beside(const Rewriter& r, ValueId id, ValueId x) {
  const std::optional<double> value = scalar_of(r, id);
  const int rank = value ? r.type(id).rank() : 0;
  if (rank > 0 && (!r.type(x).dims || r.type(x).rank() < rank)) return std::nullopt;
  return value;
}

std::optional<std::vector<std::int64_t>> integers_of(const Rewriter& r, ValueId id) {
  const Array* array = r.constant(id);
  if (array == nullptr || !is_integer(array->type())) return std::nullopt;
  return array->to_int64();
}

Array floating_array(ElementType type, const Shape& shape, const std::vector<double>& values) {
  Array out(type, shape);
  visit_floating_type(type, "a rewrite", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto to = out.as<T>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = narrow<T>(values[i]);
  });
  return out;
}

Array integer_list(const std::vector<std::int64_t>& values) {
  return Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

bool is_floating_type(ElementType type) { return is_floating(type); }

bool is_binary(const Node& node, Binary::Kind kind) {
  const auto* op = std::get_if<Binary>(&node.op);
  return op != nullptr && op->kind == kind && node.fused.empty();
}

bool is_unary(const Node& node, Unary::Kind kind) {
  const auto* op = std::get_if<Unary>(&node.op);
  return op != nullptr && op->kind == kind && node.fused.empty();
}

}  // namespace tessera::internal
