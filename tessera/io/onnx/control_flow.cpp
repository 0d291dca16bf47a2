// Graphs inside nodes. What they use of the graph around them becomes inputs of the node.

#include "tessera/io/onnx/internal/registry.h"

namespace tessera::onnx {
namespace {

// What a carried value is known to be: what the body declares, without the extents that the first value contradicts.
TensorType carried_type(const pb::ValueInfoProto& declared, const TensorType& first, const NodeBuilder& build) {
  TensorType type = first;
  if (!declared.has_type() || declared.type().value_case() == pb::TypeProto::VALUE_NOT_SET ||
      (declared.type().has_tensor_type() && declared.type().tensor_type().elem_type() == 0)) {
    type.dims.reset();
    return type;
  }
  type = build.declared(declared);
  if (type.dims && first.dims) {
    if (type.dims->size() != first.dims->size())
      type.dims.reset();
    else
      for (std::size_t i = 0; i < type.dims->size(); ++i)
        if ((*type.dims)[i] != (*first.dims)[i]) (*type.dims)[i] = TensorType::kUnknown;
  }
  return type;
}

}  // namespace

Values import_if(NodeReader& node, NodeBuilder& build) {
  const pb::GraphProto& then_graph = node.graph("then_branch");
  const pb::GraphProto& else_graph = node.graph("else_branch");
  node.inputs(1, 1);
  for (const auto* branch : {&then_graph, &else_graph}) {
    check(branch->input_size() == 0, Code::parse, "branch '{}' takes inputs", branch->name());
    check(branch->output_size() == node.output_count(), Code::parse, "branch '{}' has {} outputs, the node {}",
          branch->name(), branch->output_size(), node.output_count());
  }
  const std::vector<std::string> captures = build.captures({&then_graph, &else_graph});
  If op;
  op.then_branch = build.body(then_graph, {}, captures);
  op.else_branch = build.body(else_graph, {}, captures);
  op.captures = static_cast<int>(captures.size());
  Values inputs = {node.input(0)};
  for (const ValueId id : build.values_of(captures)) inputs.push_back(id);
  return build.add(op, inputs, node.output_count());
}

Values import_loop(NodeReader& node, NodeBuilder& build) {
  const pb::GraphProto& body = node.graph("body");
  const int carried = static_cast<int>(node.node().input_size()) - 2;
  check(carried >= 0, Code::parse, "{} inputs are given, at least 2 are needed", node.node().input_size());
  check(body.input_size() == carried + 2, Code::parse, "the body takes {} inputs instead of {}", body.input_size(),
        carried + 2);
  check(body.output_size() >= carried + 1, Code::parse, "the body has {} outputs, at least {} are needed",
        body.output_size(), carried + 1);
  check(node.output_count() == body.output_size() - 1, Code::parse, "the node has {} outputs, its body gives {}",
        node.output_count(), body.output_size() - 1);
  std::vector<TensorType> types = {TensorType(ElementType::int64, Shape{}),
                                   TensorType(ElementType::boolean, std::nullopt)};
  for (int i = 0; i < carried; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) + 2;
    types.push_back(carried_type(body.input(i + 2), node.type(at), build));
  }
  const std::vector<std::string> captures = build.captures({&body});
  Loop op;
  op.body = build.body(body, types, captures);
  op.carried = carried;
  op.captures = static_cast<int>(captures.size());
  Values inputs = {node.input(0), node.input(1)};
  for (int i = 0; i < carried; ++i) inputs.push_back(node.input(static_cast<std::size_t>(i) + 2));
  for (const ValueId id : build.values_of(captures)) inputs.push_back(id);
  return build.add(op, inputs, node.output_count());
}

}  // namespace tessera::onnx
