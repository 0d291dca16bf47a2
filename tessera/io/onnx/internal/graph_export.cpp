#include "tessera/io/onnx/internal/graph_export.h"

#include "tessera/io/onnx/internal/tensor.h"
#include "tessera/io/onnx/internal/writers.h"

#include <algorithm>
#include <utility>

namespace tessera::onnx {
namespace {

void fill_type(const TensorType& type, pb::ValueInfoProto& info) {
  pb::TypeProto_Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(data_type(type.type));
  if (!type.dims) return;
  pb::TensorShapeProto& shape = *tensor.mutable_shape();
  for (const std::int64_t extent : *type.dims) {
    auto& dim = *shape.add_dim();
    if (extent != TensorType::kUnknown) dim.set_dim_value(extent);
  }
}

}  // namespace

std::string ModelExport::unique_name(const std::string& wanted) {
  const std::string stem = wanted.empty() ? "value" : wanted;
  std::string name = stem;
  for (int i = 2; !names.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
  return name;
}

std::string GraphExport::add_initializer(const std::string& name, const Array& value) {
  pb::TensorProto& tensor = *proto_.add_initializer();
  if (model_.with_weights) fill_tensor(value, tensor);
  tensor.set_name(name);
  return name;
}

void GraphExport::add_problem(const std::string& node, std::string reason) {
  model_.problems.push_back({node, std::string(op_), std::move(reason)});
}

const std::string& GraphExport::name_of(ValueId id) {
  static const std::string kLeftOut;
  if (id == kNoValue) return kLeftOut;
  std::string& name = names_[static_cast<std::size_t>(id)];
  if (!name.empty()) return name;
  const Value& value = graph_.value(id);
  name = model_.unique_name(value.name);
  if (value.constant) add_initializer(name, *value.constant);
  return name;
}

void GraphExport::describe(ValueId id, const std::string& name, pb::ValueInfoProto& info) const {
  info.set_name(name);
  fill_type(graph_.value(id).type, info);
}

void GraphExport::name_inputs(std::size_t own) {
  for (std::size_t i = 0; i < own; ++i) {
    const ValueId id = graph_.inputs[i];
    describe(id, name_of(id), *proto_.add_input());
  }
  for (const ValueId id : graph_.outputs) name_of(id);  // ahead of anything that only looks alike
}

void GraphExport::write() {
  proto_.set_name(graph_.name.empty() ? "graph" : graph_.name);
  name_inputs(graph_.inputs.size());
  write_nodes();
  write_outputs(false);
}

void GraphExport::write_body(std::size_t own, const Names& captures) {
  proto_.set_name(graph_.name.empty() ? "body" : graph_.name);
  for (std::size_t i = 0; i < captures.size(); ++i)
    names_[static_cast<std::size_t>(graph_.inputs[own + i])] = captures[i];
  name_inputs(own);
  write_nodes();
  write_outputs(true);
}

void GraphExport::write_outputs(bool body) {
  std::unordered_set<ValueId> named;
  for (const ValueId id : graph_.outputs) {
    std::string name = name_of(id);
    // A body gives only what it makes itself, and nothing is given under one name twice.
    const bool copy = !named.insert(id).second || (body && !made_.contains(id));
    if (copy) {
      std::string other = model_.unique_name(name);
      pb::NodeProto& node = add_node();
      node.set_name(other);
      node.set_op_type("Identity");
      node.add_input(name);
      node.add_output(other);
      name = std::move(other);
    }
    describe(id, name, *proto_.add_output());
  }
}

void GraphExport::write_nodes() {
  for (const Node& node : graph_.nodes) write_node(node);
}

void GraphExport::write_node(const Node& node) {
  const auto known = [&](ValueId id) {
    if (id == kNoValue) return Known{.type = {}, .constant = nullptr, .present = false};
    return Known{.type = graph_.value(id).type, .constant = graph_.value(id).constant.get(), .present = true};
  };
  Names outputs;
  std::vector<TensorType> output_types;
  for (const ValueId id : node.outputs) {
    outputs.push_back(name_of(id));
    output_types.push_back(id == kNoValue ? TensorType{} : graph_.value(id).type);
    if (id == kNoValue) continue;
    made_.insert(id);
    const bool described = std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
    if (!described && graph_.value(id).type.is_static()) describe(id, outputs.back(), *proto_.add_value_info());
  }
  Names inputs;
  std::vector<Known> knowns;
  for (std::size_t i = 0; i < node.op_inputs(); ++i) {
    inputs.push_back(name_of(node.inputs[i]));
    knowns.push_back(known(node.inputs[i]));
  }
  if (node.fused.empty()) {
    write_op(node.op, NodeWriter(*this, node.name, std::move(inputs), std::move(knowns), std::move(outputs),
                                 std::move(output_types)));
    return;
  }

  const NodeTypes types = infer_node(graph_, node);
  std::string chained = model_.unique_name(node.name + "/" + std::string(name(node.op)));
  write_op(node.op, NodeWriter(*this, node.name, std::move(inputs), std::move(knowns), {chained}, {types.chained[0]}));
  for (std::size_t f = 0; f < node.fused.size(); ++f) {
    const FusedOp& fused = node.fused[f];
    const bool last = f + 1 == node.fused.size();
    const std::string step = fmt::format("{}/{}", node.name, name(fused.op));
    Names operands;
    std::vector<Known> operand_types;
    for (const int at : fused.operands) {
      const bool chain = at == FusedOp::kChained;
      const ValueId id = chain ? kNoValue : node.inputs[static_cast<std::size_t>(at)];
      operands.push_back(chain ? chained : name_of(id));
      operand_types.push_back(chain ? Known{.type = types.chained[f], .constant = nullptr, .present = true}
                                    : known(id));
    }
    chained = last ? outputs[0] : model_.unique_name(step);
    write_op(fused.op, NodeWriter(*this, step, std::move(operands), std::move(operand_types), {chained},
                                  {last ? output_types[0] : types.chained[f + 1]}));
  }
}

void GraphExport::write_op(const Op& op, NodeWriter writer) {
  const std::string_view outer = std::exchange(op_, name(op));
  std::visit([&](const auto& o) { onnx::write(o, writer); }, op);
  op_ = outer;
}

}  // namespace tessera::onnx
