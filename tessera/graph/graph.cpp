#include "tessera/graph/graph.h"

#include "tessera/core/error.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace tessera {
namespace {

Known known_of(const Graph& graph, ValueId id) {
  if (id == kNoValue) return {.type = {}, .constant = nullptr, .present = false};
  return {graph.value(id).type, graph.value(id).constant.get(), true};
}

std::vector<Known> own_knowns(const Graph& graph, const Node& node) {
  std::vector<Known> knowns;
  for (std::size_t i = 0; i < node.op_inputs(); ++i) knowns.push_back(known_of(graph, node.inputs[i]));
  return knowns;
}

std::vector<Known> fused_knowns(const Graph& graph, const Node& node, const FusedOp& fused, const TensorType& chained) {
  std::vector<Known> knowns;
  for (const int at : fused.operands)
    knowns.push_back(at == FusedOp::kChained ? Known{chained, nullptr, true}
                                             : known_of(graph, node.inputs[static_cast<std::size_t>(at)]));
  return knowns;
}

void verify_fused(const Node& node) {
  if (node.fused_inputs > node.inputs.size())
    fail(Code::internal, "node '{}' has {} inputs, {} of them fused", node.name, node.inputs.size(), node.fused_inputs);
  if (node.fused.empty()) {
    if (node.fused_inputs != 0) fail(Code::internal, "node '{}' has fused inputs and nothing fused", node.name);
    return;
  }
  if (node.outputs.size() != 1 || node.outputs[0] == kNoValue)
    fail(Code::internal, "node '{}' has something fused and {} outputs", node.name, node.outputs.size());
  for (const FusedOp& fused : node.fused)
    for (const int at : fused.operands)
      if (at < FusedOp::kChained || at >= static_cast<int>(node.inputs.size()))
        fail(Code::internal, "node '{}': fused {} reads input {} of {}", node.name, name(fused.op), at,
             node.inputs.size());
}

std::size_t position(const Graph& graph, const std::vector<ValueId>& ids, const std::string& name,
                     std::string_view kind) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (graph.value(ids[i]).name == name) return i;
    names.push_back(graph.value(ids[i]).name);
  }
  fail(Code::not_found, "the graph has no {} '{}', only {}", kind, name, fmt::join(names, ", "));
}

}  // namespace

ValueId Graph::add_value(std::string value_name, TensorType type) {
  values.push_back({std::move(value_name), std::move(type), nullptr});
  return static_cast<ValueId>(values.size()) - 1;
}

ValueId Graph::add_input(std::string value_name, TensorType type) {
  inputs.push_back(add_value(std::move(value_name), std::move(type)));
  return inputs.back();
}

ValueId Graph::add_constant(std::string value_name, Array array) {
  const ValueId id = add_value(std::move(value_name), TensorType(array.type(), array.shape()));
  value(id).constant = std::make_shared<const Array>(std::move(array));
  return id;
}

std::vector<ValueId> Graph::add_node(std::string node_name, Op op, std::vector<ValueId> node_inputs, int output_count) {
  Node node{std::move(node_name), std::move(op), std::move(node_inputs), {}, {}, 0};
  const std::vector<TensorType> types = infer_node(*this, node).outputs;
  for (int i = 0; i < output_count; ++i)
    node.outputs.push_back(
        add_value(i == 0 ? node.name : fmt::format("{}:{}", node.name, i),
                  i < static_cast<int>(types.size()) ? types[static_cast<std::size_t>(i)] : TensorType{}));
  nodes.push_back(std::move(node));
  return nodes.back().outputs;
}

std::size_t Graph::input_position(const std::string& value_name) const {
  return position(*this, inputs, value_name, "input");
}
std::size_t Graph::output_position(const std::string& value_name) const {
  return position(*this, outputs, value_name, "output");
}

void verify(const Graph& graph) {
  const auto in_range = [&](ValueId id) { return id >= 0 && id < static_cast<ValueId>(graph.values.size()); };
  std::vector<bool> made(graph.values.size());
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& v = graph.values[i];
    made[i] = v.constant != nullptr;
    if (v.constant && v.type != TensorType(v.constant->type(), v.constant->shape()))
      fail(Code::internal, "constant '{}' is {}, but its type says {}", v.name, v.constant->to_string(),
           v.type.to_string());
  }
  for (ValueId id : graph.inputs) {
    if (!in_range(id) || made[static_cast<std::size_t>(id)])
      fail(Code::internal, "graph input {} is out of range or given twice", id);
    made[static_cast<std::size_t>(id)] = true;
  }
  for (const Node& node : graph.nodes) {
    verify_fused(node);
    for (ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      if (!in_range(id))
        fail(Code::internal, "node '{}' reads value {}, there are {}", node.name, id, graph.values.size());
      if (!made[static_cast<std::size_t>(id)])
        fail(Code::internal, "node '{}' reads '{}' before anything makes it", node.name, graph.value(id).name);
    }
    for (ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      if (!in_range(id))
        fail(Code::internal, "node '{}' makes value {}, there are {}", node.name, id, graph.values.size());
      if (made[static_cast<std::size_t>(id)])
        fail(Code::internal, "'{}' is made twice, the second time by node '{}'", graph.value(id).name, node.name);
      made[static_cast<std::size_t>(id)] = true;
    }
  }
  for (ValueId id : graph.outputs)
    if (!in_range(id) || !made[static_cast<std::size_t>(id)])
      fail(Code::internal, "graph output {} is made by nothing", id);
}

void infer_types(Graph& graph) {
  for (const Node& node : graph.nodes) {
    const std::vector<TensorType> types = infer_node(graph, node).outputs;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      check(i < types.size(), Code::invalid_argument, "node '{}' ({}) has {} outputs, {} were asked for", node.name,
            name(node.op), types.size(), node.outputs.size());
      graph.value(node.outputs[i]).type = types[i];
    }
  }
}

NodeTypes infer_node(const Graph& graph, const Node& node) {
  return with_context(fmt::format("while inferring node '{}' ({})", node.name, name(node.op)), [&] {
    NodeTypes types{{}, infer(node.op, own_knowns(graph, node))};
    for (const FusedOp& fused : node.fused) {
      types.chained.push_back(types.outputs.at(0));
      types.outputs = infer(fused.op, fused_knowns(graph, node, fused, types.chained.back()));
    }
    return types;
  });
}

Work work(const Graph& graph, const Node& node) {
  const auto type_of = [&](ValueId id) {
    return id == kNoValue ? TensorType(ElementType::float32, Shape{0}) : graph.value(id).type;
  };
  const NodeTypes types = infer_node(graph, node);
  std::vector<TensorType> inputs;
  for (std::size_t i = 0; i < node.op_inputs(); ++i) inputs.push_back(type_of(node.inputs[i]));
  Work total = work(node.op, inputs, node.fused.empty() ? Types(types.outputs) : Types(&types.chained[0], 1));
  if (node.fused.empty()) return total;
  const auto bytes_of = [](const TensorType& type) {
    return static_cast<double>(type.shape().volume()) * static_cast<double>(element_bytes(type.type));
  };
  for (std::size_t f = 0; f < node.fused.size(); ++f) {
    std::vector<TensorType> operands;
    for (const int at : node.fused[f].operands)
      operands.push_back(at == FusedOp::kChained ? types.chained[f]
                                                 : type_of(node.inputs[static_cast<std::size_t>(at)]));
    const Types made = f + 1 < node.fused.size() ? Types(&types.chained[f + 1], 1) : Types(types.outputs);
    total.flops += work(node.fused[f].op, operands, made).flops;
  }
  for (std::size_t i = node.op_inputs(); i < node.inputs.size(); ++i)
    total.read_bytes += bytes_of(type_of(node.inputs[i]));
  total.write_bytes = bytes_of(types.outputs.at(0));
  return total;
}

}  // namespace tessera
