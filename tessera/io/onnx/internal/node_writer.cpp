#include "tessera/io/onnx/internal/node_writer.h"

#include "tessera/io/onnx/internal/graph_export.h"
#include "tessera/io/onnx/internal/tensor.h"

#include <algorithm>
#include <type_traits>

namespace tessera::onnx {

pb::AttributeProto& NodeAttributes::add(std::string_view name, pb::AttributeProto::AttributeType type) {
  pb::AttributeProto& attribute = *node_->add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(type);
  return attribute;
}

NodeAttributes& NodeAttributes::integer(std::string_view name, std::int64_t value) {
  add(name, pb::AttributeProto::INT).set_i(value);
  return *this;
}
NodeAttributes& NodeAttributes::integer(std::string_view name, std::int64_t value, std::int64_t otherwise) {
  return value == otherwise ? *this : integer(name, value);
}
NodeAttributes& NodeAttributes::real(std::string_view name, float value) {
  add(name, pb::AttributeProto::FLOAT).set_f(value);
  return *this;
}
NodeAttributes& NodeAttributes::text(std::string_view name, std::string_view value) {
  add(name, pb::AttributeProto::STRING).set_s(std::string(value));
  return *this;
}
NodeAttributes& NodeAttributes::text(std::string_view name, std::string_view value, std::string_view otherwise) {
  return value == otherwise ? *this : text(name, value);
}
NodeAttributes& NodeAttributes::integers(std::string_view name, const std::vector<std::int64_t>& values) {
  if (values.empty()) return *this;
  auto& attribute = add(name, pb::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
  return *this;
}
NodeAttributes& NodeAttributes::reals(std::string_view name, const std::vector<float>& values) {
  if (values.empty()) return *this;
  auto& attribute = add(name, pb::AttributeProto::FLOATS);
  for (const float value : values) attribute.add_floats(value);
  return *this;
}
NodeAttributes& NodeAttributes::texts(std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return *this;
  auto& attribute = add(name, pb::AttributeProto::STRINGS);
  for (const std::string& value : values) attribute.add_strings(value);
  return *this;
}
NodeAttributes& NodeAttributes::tensor(std::string_view name, const Array& value) {
  fill_tensor(value, *add(name, pb::AttributeProto::TENSOR).mutable_t());
  return *this;
}
NodeAttributes& NodeAttributes::window(const Window& window) {
  constexpr std::string_view kAutoPad[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  integers("kernel_shape", window.kernel).integers("strides", window.strides);
  const auto is_one = [](std::int64_t d) { return d == 1; };
  if (!std::all_of(window.dilations.begin(), window.dilations.end(), is_one)) integers("dilations", window.dilations);
  if (window.auto_pad == AutoPad::none) return integers("pads", window.pads);
  return text("auto_pad", kAutoPad[static_cast<std::size_t>(window.auto_pad)]);
}
pb::GraphProto& NodeAttributes::graph(std::string_view name) {
  return *add(name, pb::AttributeProto::GRAPH).mutable_g();
}

std::int64_t NodeWriter::opset() const { return graph_.model().opset; }

NodeAttributes NodeWriter::add(std::string_view op_type, Names inputs, Names outputs) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  while (!outputs.empty() && outputs.back().empty()) outputs.pop_back();
  pb::NodeProto& node = graph_.add_node();
  node.set_name(nodes_ == 0 ? name_ : fmt::format("{}/{}", name_, nodes_));
  ++nodes_;
  node.set_op_type(std::string(op_type));
  for (std::string& input : inputs) node.add_input(std::move(input));
  for (std::string& output : outputs) node.add_output(std::move(output));
  return NodeAttributes(node);
}

std::string NodeWriter::between(std::string_view what) {
  return graph_.model().unique_name(fmt::format("{}/{}", name_, what));
}

std::string NodeWriter::initializer(std::string_view what, const Array& value) {
  return graph_.add_initializer(between(what), value);
}

std::string NodeWriter::integers(std::string_view what, const std::vector<std::int64_t>& values) {
  return initializer(what, Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
}

std::string NodeWriter::scalar(std::string_view what, ElementType type, double value) {
  Array array(type, Shape{});
  visit_element_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T>)
      array.as<T>()[0] = static_cast<T>(value);
    else
      array.as<T>()[0] = T(static_cast<float>(value));
  });
  return initializer(what, array);
}

void NodeWriter::body(const Graph& graph, std::size_t own, const Names& captures, pb::GraphProto& proto) {
  GraphExport(graph_.model(), graph, proto).write_body(own, captures);
}

void NodeWriter::refuse(std::string reason) { graph_.add_problem(name_, std::move(reason)); }

void NodeWriter::need_opset(std::int64_t first, std::string_view what) {
  if (opset() < first) refuse(fmt::format("{} is known from opset {} on", what, first));
}

}  // namespace tessera::onnx
