// Operators of one input that work element by element.

#include "tessera/io/onnx/internal/registry.h"

#include <map>

namespace tessera::onnx {
namespace {

using UnaryKind = Unary::Kind;

const std::map<std::string_view, UnaryKind>& plain_kinds() {
  static const std::map<std::string_view, UnaryKind> kinds = {
      {"Abs", UnaryKind::abs},
      {"Acos", UnaryKind::acos},
      {"Acosh", UnaryKind::acosh},
      {"Asin", UnaryKind::asin},
      {"Asinh", UnaryKind::asinh},
      {"Atan", UnaryKind::atan},
      {"Atanh", UnaryKind::atanh},
      {"BitwiseNot", UnaryKind::bitwise_not},
      {"Ceil", UnaryKind::ceil},
      {"Cos", UnaryKind::cos},
      {"Cosh", UnaryKind::cosh},
      {"Erf", UnaryKind::erf},
      {"Exp", UnaryKind::exp},
      {"Floor", UnaryKind::floor},
      {"HardSwish", UnaryKind::hard_swish},
      {"Identity", UnaryKind::identity},
      {"IsNaN", UnaryKind::is_nan},
      {"Log", UnaryKind::log},
      {"Mish", UnaryKind::mish},
      {"Neg", UnaryKind::neg},
      {"Not", UnaryKind::logical_not},
      {"Reciprocal", UnaryKind::reciprocal},
      {"Relu", UnaryKind::relu},
      {"Round", UnaryKind::round},
      {"Sigmoid", UnaryKind::sigmoid},
      {"Sign", UnaryKind::sign},
      {"Sin", UnaryKind::sin},
      {"Sinh", UnaryKind::sinh},
      {"Softplus", UnaryKind::softplus},
      {"Softsign", UnaryKind::softsign},
      {"Sqrt", UnaryKind::sqrt},
      {"Tan", UnaryKind::tan},
      {"Tanh", UnaryKind::tanh},
  };
  return kinds;
}

Unary with_parameters(NodeReader& node) {
  const std::string& name = node.op_type();
  if (name == "Celu") return {UnaryKind::celu, node.real("alpha", 1.0f), 0};
  if (name == "Elu") return {UnaryKind::elu, node.real("alpha", 1.0f), 0};
  if (name == "Gelu")
    return {node.choice<UnaryKind>("approximate", "none", {{"none", UnaryKind::gelu}, {"tanh", UnaryKind::gelu_tanh}}),
            0, 0};
  if (name == "HardSigmoid") return {UnaryKind::hard_sigmoid, node.real("alpha", 0.2f), node.real("beta", 0.5f)};
  if (name == "IsInf")
    return {UnaryKind::is_inf, node.flag("detect_negative", true) ? 1.0f : 0.0f,
            node.flag("detect_positive", true) ? 1.0f : 0.0f};
  if (name == "LeakyRelu") return {UnaryKind::leaky_relu, node.real("alpha", 0.01f), 0};
  if (name == "Selu") {
    // Before opset 6 the constants were given with fewer digits.
    const bool old = node.opset() < 6;
    return {UnaryKind::selu, node.real("alpha", old ? 1.6732f : 1.67326319217681884765625f),
            node.real("gamma", old ? 1.0507f : 1.05070102214813232421875f)};
  }
  if (name == "Shrink") return {UnaryKind::shrink, node.real("lambd", 0.5f), node.real("bias", 0.0f)};
  if (name == "ThresholdedRelu") return {UnaryKind::thresholded_relu, node.real("alpha", 1.0f), 0};
  fail(Code::internal, "{} is listed as a unary operator, but nothing says which", name);
}

}  // namespace

Values import_unary(NodeReader& node, NodeBuilder& build) {
  if (node.opset() < 6) node.ignore({"consumed_inputs"});
  if (node.op_type() == "Identity" && is_sequence(node.input(0))) return {node.inputs(1, 1)[0]};
  const auto plain = plain_kinds().find(node.op_type());
  const Unary op = plain != plain_kinds().end() ? Unary{plain->second, 0, 0} : with_parameters(node);
  return {build.add(op, node.inputs(1, 1))};
}

// x * sigmoid(alpha * x)
Values import_swish(NodeReader& node, NodeBuilder& build) {
  const float alpha = node.real("alpha", 1.0f);
  node.inputs(1, 1);
  if (alpha == 1.0f) return {build.add(Unary{UnaryKind::silu, 0, 0}, {node.input(0)})};
  const ValueId scaled = build.add(Binary{Binary::Kind::mul}, {node.input(0), build.scalar(node.type(0).type, alpha)});
  const ValueId gate = build.add(Unary{UnaryKind::sigmoid, 0, 0}, {scaled});
  return {build.add(Binary{Binary::Kind::mul}, {node.input(0), gate})};
}

Values import_softmax(NodeReader& node, NodeBuilder& build) {
  const bool flatten = node.opset() < 13;
  return {build.add(
      Softmax{
          .axis = node.integer("axis", flatten ? 1 : -1), .log = node.op_type() == "LogSoftmax", .flatten = flatten},
      node.inputs(1, 1))};
}

Values import_dropout(NodeReader& node, NodeBuilder& build) {
  if (node.opset() < 7) node.ignore({"consumed_inputs"});
  node.ignore({"ratio", "is_test"});  // before opset 12 nothing is dropped at inference
  node.inputs(1, 3);
  const int count = node.wants_output(1) ? 2 : 1;
  const Dropout op{.outputs = count, .seed = node.integer("seed", 0)};
  const bool may_train = node.opset() >= 12 && node.has_input(2);
  Values outputs = build.add(op, may_train ? node.inputs() : Values{node.input(0)}, count);
  if (node.wants_output(1) && node.opset() < 10) outputs[1] = build.add(Cast{.to = node.type(0).type}, {outputs[1]});
  return outputs;
}

}  // namespace tessera::onnx
