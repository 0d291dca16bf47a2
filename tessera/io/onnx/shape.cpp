// Shapes as values, and operators that move elements without changing them.

#include "tessera/io/onnx/internal/registry.h"
#include "tessera/io/onnx/internal/tensor.h"

namespace tessera::onnx {

Values import_reshape(NodeReader& node, NodeBuilder& build) {
  if (node.opset() < 5) {
    node.ignore({"consumed_inputs"});
    node.inputs(1, 1);
    return {build.add(Reshape{}, {node.input(0), build.constant(node.integers("shape"))})};
  }
  return {build.add(Reshape{.allow_zero = node.flag("allowzero", false)}, node.inputs(2, 2))};
}

Values import_flatten(NodeReader& node, NodeBuilder& build) {
  return {build.add(Flatten{.axis = node.integer("axis", 1)}, node.inputs(1, 1))};
}

Values import_squeeze(NodeReader& node, NodeBuilder& build) {
  if (node.opset() >= 13) return {build.add(Squeeze{}, node.inputs(1, 2))};
  return {build.add(Squeeze{.axes = node.integers("axes")}, node.inputs(1, 1))};
}

Values import_unsqueeze(NodeReader& node, NodeBuilder& build) {
  if (node.opset() >= 13) return {build.add(Unsqueeze{}, node.inputs(2, 2))};
  return {build.add(Unsqueeze{.axes = node.integers("axes")}, node.inputs(1, 1))};
}

Values import_transpose(NodeReader& node, NodeBuilder& build) {
  return {build.add(Transpose{.perm = node.integers("perm")}, node.inputs(1, 1))};
}

Values import_concat(NodeReader& node, NodeBuilder& build) {
  check(node.input_count() > 0, Code::parse, "at least one input is needed");
  const std::int64_t axis = node.opset() < 4 ? node.integer("axis", 1) : node.integer("axis");
  return {build.add(Concat{.axis = axis}, node.inputs(node.input_count(), node.input_count()))};
}

Values import_split(NodeReader& node, NodeBuilder& build) {
  Split op{.axis = node.integer("axis", 0), .sizes = {}, .outputs = node.output_count()};
  check(op.outputs > 0, Code::parse, "no output is asked for");
  if (node.opset() < 13) {
    op.sizes = node.integers("split");
    return build.add(op, node.inputs(1, 1), op.outputs);
  }
  if (node.opset() >= 18) {
    const std::int64_t parts = node.integer("num_outputs", op.outputs);
    check(parts == op.outputs, Code::parse, "num_outputs is {}, but the node has {} outputs", parts, op.outputs);
  }
  return build.add(op, node.inputs(1, 2), op.outputs);
}

Values import_slice(NodeReader& node, NodeBuilder& build) {
  if (node.opset() >= 10) return {build.add(Slice{}, node.inputs(3, 5))};
  node.inputs(1, 1);
  const ValueId starts = build.constant(node.integers("starts")), ends = build.constant(node.integers("ends"));
  const ValueId axes = node.has("axes") ? build.constant(node.integers("axes")) : kNoValue;
  return {build.add(Slice{}, {node.input(0), starts, ends, axes})};
}

Values import_pad(NodeReader& node, NodeBuilder& build) {
  using M = Pad::Mode;
  const Pad op{.mode = node.choice<M>(
                   "mode", "constant",
                   {{"constant", M::constant}, {"reflect", M::reflect}, {"edge", M::edge}, {"wrap", M::wrap}})};
  if (node.opset() >= 11) return {build.add(op, node.inputs(2, 4))};
  node.inputs(1, 1);
  const ValueId pads = build.constant(node.integers("pads"));
  return {build.add(
      op, {node.input(0), pads, build.scalar(node.type(0).type, static_cast<double>(node.real("value", 0.0f)))})};
}

Values import_expand(NodeReader& node, NodeBuilder& build) { return {build.add(Expand{}, node.inputs(2, 2))}; }

Values import_tile(NodeReader& node, NodeBuilder& build) { return {build.add(TileRepeat{}, node.inputs(2, 2))}; }

Values import_depth_to_space(NodeReader& node, NodeBuilder& build) {
  DepthToSpace op{.block = node.integer("blocksize")};
  if (node.opset() >= 11) op.column_row_depth = node.choice<bool>("mode", "DCR", {{"DCR", false}, {"CRD", true}});
  return {build.add(op, node.inputs(1, 1))};
}

Values import_space_to_depth(NodeReader& node, NodeBuilder& build) {
  return {build.add(SpaceToDepth{.block = node.integer("blocksize")}, node.inputs(1, 1))};
}

Values import_shape_of(NodeReader& node, NodeBuilder& build) {
  ShapeOf op;
  if (node.opset() >= 15) {
    op.start = node.integer("start", 0);
    op.end = node.maybe_integer("end");
  }
  return {build.add(op, node.inputs(1, 1))};
}

Values import_size_of(NodeReader& node, NodeBuilder& build) { return {build.add(SizeOf{}, node.inputs(1, 1))}; }

Values import_range(NodeReader& node, NodeBuilder& build) {
  node.ignore({"stash_type"});
  return {build.add(Range{}, node.inputs(3, 3))};
}

Values import_eye_like(NodeReader& node, NodeBuilder& build) {
  EyeLike op{.type = {}, .diagonal = node.integer("k", 0)};
  if (const auto type = node.maybe_integer("dtype")) op.type = checked_element_type(*type, "the wanted type");
  return {build.add(op, node.inputs(1, 1))};
}

Values import_constant_of_shape(NodeReader& node, NodeBuilder& build) {
  ConstantOfShape op;
  if (const auto* value = node.tensor("value")) op.value = tensor_array(*value, build.folder());
  check(op.value.count() == 1, Code::parse, "'value' has {} elements instead of one", op.value.count());
  return {build.add(op, node.inputs(1, 1))};
}

Values import_constant(NodeReader& node, NodeBuilder& build) {
  node.inputs(0, 0);
  if (const auto* tensor = node.tensor("value")) return {build.constant(tensor_array(*tensor, build.folder()))};
  if (const auto value = node.maybe_real("value_float")) return {build.constant(Array::scalar<float>(*value))};
  if (const auto value = node.maybe_integer("value_int")) return {build.constant(Array::scalar<std::int64_t>(*value))};
  if (node.has("value_floats")) {
    const std::vector<float> values = node.reals("value_floats");
    return {build.constant(Array::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values))};
  }
  if (node.has("value_ints")) return {build.constant(node.integers("value_ints"))};
  for (const char* kind : {"sparse_value", "value_string", "value_strings"})
    check(!node.has(kind), Code::unsupported, "a constant given as {} is not known", kind);
  fail(Code::parse, "the constant has no value");
}

}  // namespace tessera::onnx
