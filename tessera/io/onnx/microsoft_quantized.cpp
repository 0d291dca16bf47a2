// Quantised operators of ONNX Runtime: numbers in, the operator, numbers out.

#include "tessera/io/onnx/internal/formula.h"
#include "tessera/io/onnx/internal/registry.h"
#include "tessera/io/onnx/internal/window_attributes.h"

#include <numeric>
#include <utility>

namespace tessera::onnx {
namespace {

// Inputs i, i + 1, i + 2 are a quantised tensor, its scale and its zero point.
ValueId number_of(NodeReader& node, NodeBuilder& build, std::size_t i, std::int64_t axis = 1) {
  return build.add(DequantizeLinear{.axis = axis}, {node.input(i), node.input(i + 1), node.input(i + 2)});
}

// y as a tensor of the scale i and the zero point i + 1; of the type of input `like` without a zero point.
ValueId quantized(NodeReader& node, NodeBuilder& build, ValueId y, std::size_t i, std::size_t like = 0) {
  QuantizeLinear op;
  if (!node.has_input(i + 1)) op.type = node.type(like).type;
  return build.add(std::move(op), {y, node.input(i), node.input(i + 1)});
}

// The channels from the end to where they are here, and back.
ValueId channels_first(const Formula& f, ValueId x, int rank) {
  Formula::Dims perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin() + 2, perm.end(), 1);
  perm[1] = rank - 1;
  return f.transpose(x, perm);
}

ValueId channels_last(const Formula& f, ValueId x, int rank) {
  Formula::Dims perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin() + 1, perm.end() - 1, 2);
  perm.back() = 1;
  return f.transpose(x, perm);
}

int spatial_rank(const NodeReader& node) {
  check(node.rank(0) >= 3, Code::parse, "the input has rank {}, at least 3 is needed", node.rank(0));
  return node.rank(0);
}

// y = inside(x), with the channels where `inside` wants them.
template <class Inside>
ValueId with_channels_first(NodeReader& node, NodeBuilder& build, bool last, ValueId x, Inside&& inside) {
  if (!last) return inside(x);
  const Formula f(build);
  const int rank = spatial_rank(node);
  return channels_last(f, inside(channels_first(f, x, rank)), rank);
}

}  // namespace

Values import_qlinear_binary(NodeReader& node, NodeBuilder& build) {
  node.inputs(7, 8);
  const Binary::Kind kind = node.op_type() == "QLinearAdd" ? Binary::Kind::add : Binary::Kind::mul;
  const ValueId y = build.add(Binary{kind}, {number_of(node, build, 0), number_of(node, build, 3)});
  return {quantized(node, build, y, 6)};
}

Values import_qlinear_unary(NodeReader& node, NodeBuilder& build) {
  node.inputs(4, 5);
  const bool sigmoid = node.op_type() == "QLinearSigmoid";
  const Unary op =
      sigmoid ? Unary{Unary::Kind::sigmoid, 0, 0} : Unary{Unary::Kind::leaky_relu, node.real("alpha", 0.01f), 0};
  return {quantized(node, build, build.add(op, {number_of(node, build, 0)}), 3)};
}

Values import_qlinear_softmax(NodeReader& node, NodeBuilder& build) {
  node.inputs(4, 5);
  const bool flatten = node.integer("opset", 13) < 13;
  const ValueId y = build.add(Softmax{.axis = node.integer("axis", -1), .log = false, .flatten = flatten},
                              {number_of(node, build, 0)});
  return {quantized(node, build, y, 3)};
}

Values import_qlinear_average_pool(NodeReader& node, NodeBuilder& build) {
  node.inputs(4, 5);
  const AveragePool op{.window = read_window(node),
                       .ceil_mode = node.flag("ceil_mode", false),
                       .count_include_pad = node.flag("count_include_pad", false)};
  const ValueId y = with_channels_first(node, build, node.flag("channels_last", false), number_of(node, build, 0),
                                        [&](ValueId x) { return build.add(op, {x}); });
  return {quantized(node, build, y, 3)};
}

Values import_qlinear_global_pool(NodeReader& node, NodeBuilder& build) {
  node.inputs(4, 5);
  const ValueId y = with_channels_first(
      node, build, node.flag("channels_last", false), number_of(node, build, 0),
      [&](ValueId x) { return build.add(GlobalPool{.kind = GlobalPool::Kind::average, .p = 2}, {x}); });
  return {quantized(node, build, y, 3)};
}

Values import_qlinear_reduce_mean(NodeReader& node, NodeBuilder& build) {
  node.inputs(4, 5);
  const ValueId y = build.add(
      Reduce{.kind = Reduce::Kind::mean, .axes = node.integers("axes"), .keep_dims = node.flag("keepdims", true)},
      {number_of(node, build, 0)});
  return {quantized(node, build, y, 3)};
}

// Scale and zero point of the result come first here.
Values import_qlinear_concat(NodeReader& node, NodeBuilder& build) {
  const std::size_t count = node.input_count();
  check(count >= 5 && (count - 2) % 3 == 0, Code::parse, "{} inputs are not 2 and 3 for each tensor", count);
  Values parts;
  for (std::size_t i = 2; i < count; i += 3) parts.push_back(number_of(node, build, i));
  return {quantized(node, build, build.add(Concat{.axis = node.integer("axis")}, parts), 0, 2)};
}

Values import_qlinear_where(NodeReader& node, NodeBuilder& build) {
  node.inputs(8, 9);
  const ValueId y = build.add(Where{}, {node.input(0), number_of(node, build, 1), number_of(node, build, 4)});
  return {quantized(node, build, y, 7, 1)};
}

Values import_microsoft_qlinear_conv(NodeReader& node, NodeBuilder& build) {
  node.inputs(8, 9);
  const QLinearConv op{.window = read_window(node), .groups = node.integer("group", 1)};
  return {with_channels_first(node, build, node.flag("channels_last", false), node.input(0), [&](ValueId x) {
    Values inputs = node.inputs();
    inputs[0] = x;
    return build.add(op, inputs);
  })};
}

Values import_nhwc_max_pool(NodeReader& node, NodeBuilder& build) {
  node.inputs(1, 1);
  const MaxPool op{.window = read_window(node), .ceil_mode = node.flag("ceil_mode", false)};
  return {with_channels_first(node, build, true, node.input(0), [&](ValueId x) { return build.add(op, {x}); })};
}

// a b + c, where c counts in steps of both scales; a number where no scale of the result is given.
Values import_qgemm(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(6, 9);
  const float alpha = node.real("alpha", 1.0f);
  const bool transpose_b = node.flag("transB", false);
  const ValueId a = number_of(node, build, 0), b = number_of(node, build, 3, transpose_b ? 0 : 1);
  ValueId y = build.add(
      Gemm{.alpha = alpha, .beta = 1.0f, .transpose_a = node.flag("transA", false), .transpose_b = transpose_b},
      {a, b});
  if (node.has_input(6)) {
    const ValueId step = f.scaled(f.mul(node.input(1), node.input(4)), static_cast<double>(alpha));
    y = f.add(y, f.mul(f.cast(node.input(6), build.type(y).type), step));
  }
  return {node.has_input(7) ? quantized(node, build, y, 7) : y};
}

// Inputs a, b, their scales, their zero points, bias.
Values import_matmul_integer_to_float(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(4, 7);
  const ValueId sum = build.add(MatMulInteger{}, {node.input(0), node.input(1), node.input(4), node.input(5)});
  ValueId y = f.mul(f.cast(sum, node.type(2).type), f.mul(node.input(2), node.input(3)));
  if (node.has_input(6)) y = f.add(y, node.input(6));
  return {y};
}

// Inputs a (numbers), b, its scale, its zero point, bias.
Values import_dynamic_quantize_matmul(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(3, 5);
  const Values a = build.add(DynamicQuantizeLinear{}, {node.input(0)}, 3);
  const ValueId sum = build.add(MatMulInteger{}, {a[0], node.input(1), a[2], node.input(3)});
  ValueId y = f.mul(f.cast(sum, ElementType::float32), f.mul(a[1], node.input(2)));
  if (node.has_input(4)) y = f.add(y, node.input(4));
  return {y};
}

}  // namespace tessera::onnx
