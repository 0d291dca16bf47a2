#include "tessera/graph/evaluate.h"

#include "tessera/core/error.h"
#include "tessera/core/memory_budget.h"

#include <optional>
#include <utility>

namespace tessera {

void check_input(const Graph& graph, std::size_t i, const Array& given) {
  const Value& wanted = graph.value(graph.inputs[i]);
  bool fits = wanted.type.type == given.type();
  if (wanted.type.dims) {
    fits = fits && static_cast<int>(wanted.type.dims->size()) == given.shape().rank();
    for (std::size_t d = 0; fits && d < wanted.type.dims->size(); ++d) {
      const std::int64_t extent = (*wanted.type.dims)[d];
      fits = extent == TensorType::kUnknown || extent == given.shape().dims()[d];
    }
  }
  if (!fits)
    fail(Code::invalid_argument, "input '{}' must be {}, not {}", wanted.name, wanted.type.to_string(),
         given.to_string());
}

std::vector<Array> evaluate(const Node& node, std::span<const Array* const> operands) {
  return with_context(fmt::format("while running node '{}' ({})", node.name, name(node.op)), [&] {
    std::vector<Array> results = reference(node.op, operands.first(node.op_inputs()));
    for (const FusedOp& fused : node.fused) {
      std::vector<const Array*> of_fused;
      for (const int at : fused.operands)
        of_fused.push_back(at == FusedOp::kChained ? &results.at(0) : operands[static_cast<std::size_t>(at)]);
      results = reference(fused.op, of_fused);
    }
    return results;
  });
}

std::vector<Array> evaluate(const Graph& graph, const std::vector<Array>& inputs,
                            const std::function<void(const Node&, const std::vector<const Array*>&)>& observer) {
  check(inputs.size() == graph.inputs.size(), Code::invalid_argument, "the graph takes {} inputs, {} were given",
        graph.inputs.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) check_input(graph, i, inputs[i]);

  std::vector<int> uses(graph.values.size());
  for (const Node& node : graph.nodes)
    for (ValueId id : node.inputs)
      if (id != kNoValue) ++uses[static_cast<std::size_t>(id)];
  for (ValueId id : graph.outputs) ++uses[static_cast<std::size_t>(id)];

  std::vector<std::optional<Array>> computed(graph.values.size());
  std::vector<BudgetShare> shares(graph.values.size());
  const auto drop = [&](ValueId id) {
    computed[static_cast<std::size_t>(id)].reset();
    shares[static_cast<std::size_t>(id)].leave();
  };
  std::vector<const Array*> at(graph.values.size(), nullptr);
  for (std::size_t i = 0; i < graph.values.size(); ++i) at[i] = graph.values[i].constant.get();
  for (std::size_t i = 0; i < inputs.size(); ++i) at[static_cast<std::size_t>(graph.inputs[i])] = &inputs[i];

  for (const Node& node : graph.nodes) {
    std::vector<const Array*> operands;
    for (ValueId id : node.inputs) operands.push_back(id == kNoValue ? nullptr : at[static_cast<std::size_t>(id)]);
    std::vector<Array> results = evaluate(node, operands);
    check(results.size() >= node.outputs.size(), Code::internal, "node '{}' ({}) gave {} outputs instead of {}",
          node.name, name(node.op), results.size(), node.outputs.size());
    std::vector<const Array*> seen;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) {
        seen.push_back(nullptr);
        continue;
      }
      const std::size_t id = static_cast<std::size_t>(node.outputs[i]);
      shares[id] = BudgetShare(static_cast<std::int64_t>(std::as_const(results[i]).bytes().size()));
      computed[id] = std::move(results[i]);
      at[id] = &*computed[id];
      seen.push_back(at[id]);
    }
    if (observer) observer(node, seen);
    for (ValueId id : node.outputs)
      if (id != kNoValue && uses[static_cast<std::size_t>(id)] == 0) drop(id);
    for (ValueId id : node.inputs)
      if (id != kNoValue && --uses[static_cast<std::size_t>(id)] == 0) drop(id);
  }
  std::vector<Array> outputs;
  for (ValueId id : graph.outputs) outputs.push_back(*at[static_cast<std::size_t>(id)]);
  return outputs;
}

}  // namespace tessera
