#include "tessera/graph/rebatch.h"

#include "tessera/core/error.h"
#include "tessera/graph/graph.h"

#include <memory>
#include <utility>
#include <vector>

namespace tessera {
namespace {

// The first extent, if it is known.
std::int64_t first_of(const TensorType& type) {
  return type.dims && !type.dims->empty() ? type.dims->front() : TensorType::kUnknown;
}

std::int64_t batch_of(const Graph& graph) {
  std::int64_t batch = TensorType::kUnknown;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    const std::int64_t first = first_of(value.type);
    if (first == TensorType::kUnknown) continue;
    check(batch == TensorType::kUnknown || batch == first, Code::invalid_argument,
          "'{}' is {}, and another input begins with {}: which of them is the batch is not known", value.name,
          value.type.to_string(), batch);
    batch = first;
  }
  check(batch != TensorType::kUnknown, Code::invalid_argument, "no input begins with an extent that is known");
  return batch;
}

// A shape that begins with the old batch, as that of what it is the shape for does.
void change_target(Graph& graph, Node& node, std::int64_t old, std::int64_t batch) {
  if (!std::holds_alternative<Reshape>(node.op) && !std::holds_alternative<Expand>(node.op)) return;
  if (node.inputs.size() < 2 || node.inputs[1] == kNoValue) return;
  const std::shared_ptr<const Array> target = graph.value(node.inputs[1]).constant;
  if (target == nullptr || target->type() != ElementType::int64 || target->count() == 0) return;
  if (first_of(graph.value(node.inputs[0]).type) != old || target->as<std::int64_t>()[0] != old) return;
  Array changed = *target;
  changed.as<std::int64_t>()[0] = batch;
  node.inputs[1] = graph.add_constant(graph.value(node.inputs[1]).name + "_rebatched", std::move(changed));
}

}  // namespace

void rebatch(Graph& graph, std::int64_t batch) {
  check(batch > 0, Code::invalid_argument, "a batch of {} is none", batch);
  Graph changed = graph;
  infer_types(changed);
  const std::int64_t old = batch_of(changed);
  std::vector<ValueId> follow;  // outputs
  for (const ValueId id : changed.outputs)
    if (first_of(changed.value(id).type) == old) follow.push_back(id);
  for (Node& node : changed.nodes) change_target(changed, node, old, batch);
  for (const ValueId id : changed.inputs)
    if (first_of(changed.value(id).type) == old) changed.value(id).type.dims->front() = batch;
  for (const Node& node : changed.nodes)
    for (const ValueId id : node.outputs)
      if (id != kNoValue) changed.value(id).type.dims.reset();
  with_context(fmt::format("while giving the model a batch of {} in place of {}", batch, old),
               [&] { infer_types(changed); });
  for (const ValueId id : follow)
    check(
        first_of(changed.value(id).type) == batch, Code::unsupported, Hint{"export the model with an open batch"},
        "with a batch of {} in place of {} the output '{}' would be {}: some operator between is made for the old one",
        batch, old, changed.value(id).name, changed.value(id).type.to_string());
  graph = std::move(changed);
}

}  // namespace tessera
