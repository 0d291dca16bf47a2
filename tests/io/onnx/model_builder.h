#pragma once

// Models made in the test, message by message.

#include <gtest/gtest.h>
#include <tessera_onnx.pb.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace tessera::onnx {

class ModelBuilder {
 public:
  explicit ModelBuilder(std::int64_t opset = 17) {
    model.set_ir_version(8);
    model.set_producer_name("test");
    model.add_opset_import()->set_version(opset);
    model.mutable_graph()->set_name("g");
  }

  pb::ModelProto model;
  pb::GraphProto& graph() { return *model.mutable_graph(); }

  static void describe(pb::ValueInfoProto& value, const std::string& name, const std::vector<std::int64_t>& dims,
                       int type = pb::TensorProto::FLOAT) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const std::int64_t extent : dims) {
      auto& dim = *tensor.mutable_shape()->add_dim();
      if (extent == -1)
        dim.set_dim_param("N");
      else
        dim.set_dim_value(extent);
    }
  }
  void input(const std::string& name, const std::vector<std::int64_t>& dims, int type = pb::TensorProto::FLOAT) {
    describe(*graph().add_input(), name, dims, type);
  }
  void output(const std::string& name) { describe(*graph().add_output(), name, {}); }

  static pb::NodeProto& node(pb::GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs) {
    pb::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    node.set_name("n" + std::to_string(graph.node_size()));
    for (const auto& name : inputs) node.add_input(name);
    for (const auto& name : outputs) node.add_output(name);
    return node;
  }
  pb::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
    return node(graph(), op, inputs, outputs);
  }

  static pb::AttributeProto& attribute(pb::NodeProto& node, const std::string& name,
                                       pb::AttributeProto::AttributeType type) {
    pb::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }
  static void integer(pb::NodeProto& node, const std::string& name, std::int64_t value) {
    attribute(node, name, pb::AttributeProto::INT).set_i(value);
  }
  static void real(pb::NodeProto& node, const std::string& name, float value) {
    attribute(node, name, pb::AttributeProto::FLOAT).set_f(value);
  }
  static void integers(pb::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
    auto& a = attribute(node, name, pb::AttributeProto::INTS);
    for (const std::int64_t value : values) a.add_ints(value);
  }
  static pb::GraphProto& subgraph(pb::NodeProto& node, const std::string& name) {
    return *attribute(node, name, pb::AttributeProto::GRAPH).mutable_g();
  }

  pb::TensorProto& initializer(const std::string& name, const std::vector<std::int64_t>& dims,
                               int type = pb::TensorProto::FLOAT) {
    pb::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t extent : dims) tensor.add_dims(extent);
    return tensor;
  }
  void floats(const std::string& name, const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
    pb::TensorProto& tensor = initializer(name, dims);
    for (const float value : values) tensor.add_float_data(value);
  }

  std::vector<std::byte> bytes() const {
    const std::string text = model.SerializeAsString();
    std::vector<std::byte> out(text.size());
    std::memcpy(out.data(), text.data(), text.size());
    return out;
  }
};

}  // namespace tessera::onnx
