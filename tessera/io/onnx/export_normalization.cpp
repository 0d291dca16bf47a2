// Normalisation, reductions and quantisation.

#include "tessera/io/onnx/internal/tensor.h"
#include "tessera/io/onnx/internal/writers.h"

namespace tessera::onnx {

void write(const BatchNorm& op, NodeWriter& out) {
  NodeAttributes attributes = out.add("BatchNormalization").real("epsilon", op.epsilon);
  if (op.training) attributes.real("momentum", op.momentum).integer("training_mode", 1);
}

void write(const InstanceNorm& op, NodeWriter& out) { out.add("InstanceNormalization").real("epsilon", op.epsilon); }

void write(const GroupNorm& op, NodeWriter& out) {
  if (!op.per_group_scale)
    out.need_opset(21, "GroupNormalization with a scale for each channel");
  else if (out.opset() < 18 || out.opset() >= 21)
    out.refuse("GroupNormalization with a scale for each group is known in opsets 18 to 20 only");
  out.add("GroupNormalization").integer("num_groups", op.groups).real("epsilon", op.epsilon);
}

void write(const LayerNorm& op, NodeWriter& out) {
  out.add("LayerNormalization").integer("axis", op.axis, -1).real("epsilon", op.epsilon);
}

// scale * x / sqrt(mean(x * x) + epsilon): RMSNormalization itself came with opset 23.
void write(const RmsNorm& op, NodeWriter& out) {
  const TensorType& x = out.type(0);
  if (!x.dims) {
    out.refuse("the input's rank is not known");
    return;
  }
  std::vector<std::int64_t> axes;
  for (int axis = normalized_axis(op.axis, x.rank(), op.kName); axis < x.rank(); ++axis) axes.push_back(axis);
  const std::string square = out.between("square"), mean = out.between("mean"), shifted = out.between("shifted"),
                    root = out.between("root"), normal = out.between("normal");
  out.add("Mul", {out.input(0), out.input(0)}, {square});
  if (out.opset() >= 18)
    out.add("ReduceMean", {square, out.integers("axes", axes)}, {mean});
  else
    out.add("ReduceMean", {square}, {mean}).integers("axes", axes);
  out.add("Add", {mean, out.scalar("epsilon", x.type, static_cast<double>(op.epsilon))}, {shifted});
  out.add("Sqrt", {shifted}, {root});
  out.add("Div", {out.input(0), root}, {normal});
  out.add("Mul", {normal, out.input(1)});
}

void write(const LpNorm& op, NodeWriter& out) {
  out.add("LpNormalization").integer("axis", op.axis, -1).integer("p", op.p, 2);
}

void write(const Lrn& op, NodeWriter& out) {
  out.add("LRN").integer("size", op.size).real("alpha", op.alpha).real("beta", op.beta).real("bias", op.bias);
}

void write(const MeanVarianceNorm& op, NodeWriter& out) {
  out.add("MeanVarianceNormalization").integers("axes", op.axes);
}

void write(const Reduce& op, NodeWriter& out) {
  constexpr std::string_view kNames[] = {"ReduceSum",    "ReduceMean",     "ReduceMax", "ReduceMin",
                                         "ReduceProd",   "ReduceL1",       "ReduceL2",  "ReduceSumSquare",
                                         "ReduceLogSum", "ReduceLogSumExp"};
  const std::string_view name = kNames[static_cast<std::size_t>(op.kind)];
  if (out.type(0).type == ElementType::boolean) out.need_opset(20, fmt::format("{} of truth values", name));
  const bool axes_are_input = op.kind == Reduce::Kind::sum || out.opset() >= 18;
  if (axes_are_input) {
    Names inputs = {out.input(0), op.axes.empty() ? out.input(1) : out.integers("axes", op.axes)};
    out.add(name, std::move(inputs))
        .integer("keepdims", op.keep_dims, 1)
        .integer("noop_with_empty_axes", op.no_axes_means_none, 0);
    return;
  }
  std::vector<std::int64_t> axes = op.axes;
  if (axes.empty() && out.has(1)) {
    if (const Array* constant = out.constant(1))
      axes = constant->to_int64();
    else
      out.need_opset(18, fmt::format("{} over axes that are computed", name));
  }
  if (axes.empty() && op.no_axes_means_none) out.need_opset(18, fmt::format("{} over no axes", name));
  out.add(name, {out.input(0)}).integers("axes", axes).integer("keepdims", op.keep_dims, 1);
}

void write(const ArgReduce& op, NodeWriter& out) {
  out.add(op.min ? "ArgMin" : "ArgMax")
      .integer("axis", op.axis, 0)
      .integer("keepdims", op.keep_dims, 1)
      .integer("select_last_index", op.last_index, 0);
}

void write(const QuantizeLinear& op, NodeWriter& out) {
  if (out.has(2) && element_bytes(out.type(2).type) > 1) out.need_opset(21, "QuantizeLinear to 16 bits");
  if (op.block != 0) out.need_opset(21, "QuantizeLinear by blocks");
  if (!op.saturate) out.need_opset(19, "QuantizeLinear without saturation");
  if (op.precision) out.refuse("a precision of the division is known from opset 23 on");
  const bool typed = op.type && !out.has(2) && *op.type != ElementType::uint8;
  if (typed) out.need_opset(21, "QuantizeLinear to a type that no zero point tells");
  NodeAttributes attributes = out.add("QuantizeLinear").integer("axis", op.axis, 1);
  attributes.integer("block_size", op.block, 0).integer("saturate", op.saturate, 1);
  if (typed) attributes.integer("output_dtype", data_type(*op.type));
}

void write(const DequantizeLinear& op, NodeWriter& out) {
  if (element_bytes(out.type(0).type) == 2) out.need_opset(21, "DequantizeLinear from 16 bits");
  if (op.block != 0) out.need_opset(21, "DequantizeLinear by blocks");
  if (op.type && *op.type != out.type(1).type)
    out.refuse("another type than that of the scale is known from opset 23 on");
  out.add("DequantizeLinear").integer("axis", op.axis, 1).integer("block_size", op.block, 0);
}

void write(const DynamicQuantizeLinear&, NodeWriter& out) { out.add("DynamicQuantizeLinear"); }

// ONNX itself has no operators for these: numbers in, the operator, numbers out.
void write(const QLinearAdd&, NodeWriter& out) {
  const std::string a = out.between("a"), b = out.between("b"), sum = out.between("sum");
  out.add("DequantizeLinear", {out.input(0), out.input(1), out.input(2)}, {a});
  out.add("DequantizeLinear", {out.input(3), out.input(4), out.input(5)}, {b});
  out.add("Add", {a, b}, {sum});
  out.add("QuantizeLinear", {sum, out.input(6), out.input(7)});
}

void write(const QLinearGlobalAveragePool&, NodeWriter& out) {
  const std::string x = out.between("x"), mean = out.between("mean");
  out.add("DequantizeLinear", {out.input(0), out.input(1), out.input(2)}, {x});
  out.add("GlobalAveragePool", {x}, {mean});
  out.add("QuantizeLinear", {mean, out.input(3), out.input(4)});
}

// A negative index counts from the end of the table, where those bytes lie.
void write(const Attention&, NodeWriter& out) {
  out.refuse(
      "products, softmax and heads are one operator here, which planning makes of them; ONNX has it from opset 23");
}

void write(const ByteLookup&, NodeWriter& out) {
  const std::string index = out.between("index");
  out.add("Cast", {out.input(0)}, {index}).integer("to", data_type(ElementType::int64));
  out.add("Gather", {out.input(1), index});
}

}  // namespace tessera::onnx
