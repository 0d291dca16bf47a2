#include "tessera/io/onnx/internal/printable_names.h"

#include "tessera/core/text.h"

#include <string>

namespace tessera::onnx {
namespace {

void change(std::string& name) {
  if (!is_printable(name)) name = printable(name);
}

template <class Names>
void change_all(Names& names) {
  for (std::string& name : names) change(name);
}

void change_value(pb::ValueInfoProto& value) {
  change(*value.mutable_name());
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return;
  for (auto& dim : *value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
    if (!dim.dim_param().empty()) change(*dim.mutable_dim_param());
}

void change_graph(pb::GraphProto& graph);

void change_node(pb::NodeProto& node) {
  change(*node.mutable_name());
  change(*node.mutable_op_type());
  change(*node.mutable_domain());
  change(*node.mutable_overload());
  change_all(*node.mutable_input());
  change_all(*node.mutable_output());
  for (auto& attribute : *node.mutable_attribute()) {
    change(*attribute.mutable_name());
    change(*attribute.mutable_ref_attr_name());
    if (attribute.has_g()) change_graph(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) change_graph(graph);
  }
}

void change_graph(pb::GraphProto& graph) {
  change(*graph.mutable_name());
  for (auto& node : *graph.mutable_node()) change_node(node);
  for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
    for (auto& value : *values) change_value(value);
  for (auto& weights : *graph.mutable_initializer()) change(*weights.mutable_name());
  for (auto& weights : *graph.mutable_sparse_initializer()) change(*weights.mutable_values()->mutable_name());
}

}  // namespace

void make_names_printable(pb::ModelProto& model) {
  change(*model.mutable_producer_name());
  change(*model.mutable_producer_version());
  change_graph(*model.mutable_graph());
  for (auto& function : *model.mutable_functions()) {
    change(*function.mutable_name());
    change(*function.mutable_domain());
    change(*function.mutable_overload());
    change_all(*function.mutable_input());
    change_all(*function.mutable_output());
    change_all(*function.mutable_attribute());
    for (auto& node : *function.mutable_node()) change_node(node);
    for (auto& value : *function.mutable_value_info()) change_value(value);
  }
}

}  // namespace tessera::onnx
