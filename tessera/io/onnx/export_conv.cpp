// Convolutions, pools and products of matrices.

#include "tessera/io/onnx/internal/writers.h"

#include <algorithm>

namespace tessera::onnx {
namespace {

bool dilated(const Window& window) {
  return std::any_of(window.dilations.begin(), window.dilations.end(), [](std::int64_t d) { return d != 1; });
}

// Opset 22 leaves out a last window that begins beyond the input; before, the rounding up was all there was to it, and
// the same attributes ask for one more.
void check_ceil_mode(const Window& window, NodeWriter& out) {
  const TensorType& x = out.type(0);
  if (!x.is_static()) return;
  const std::vector<std::int64_t> spatial(x.dims->begin() + 2, x.dims->end());
  const ResolvedWindow resolved = resolve(window, spatial, true, "ceil_mode");
  for (std::size_t d = 0; d < spatial.size(); ++d) {
    const std::int64_t reach = resolved.dilations[d] * (resolved.kernel[d] - 1) + 1;
    const std::int64_t room = spatial[d] + resolved.begins[d] + resolved.ends[d] - reach;
    const std::int64_t rounded_up = (room + resolved.strides[d] - 1) / resolved.strides[d] + 1;
    if (rounded_up == resolved.output[d]) continue;
    out.refuse("a last window that begins beyond the input is left out from opset 22 on only");
    return;
  }
}

}  // namespace

void write(const Conv& op, NodeWriter& out) { out.add("Conv").window(op.window).integer("group", op.groups, 1); }

void write(const ConvTranspose& op, NodeWriter& out) {
  out.add("ConvTranspose")
      .window(op.window)
      .integer("group", op.groups, 1)
      .integers("output_padding", op.output_padding)
      .integers("output_shape", op.output_shape);
}

void write(const ConvInteger& op, NodeWriter& out) {
  out.add("ConvInteger").window(op.window).integer("group", op.groups, 1);
}

void write(const QLinearConv& op, NodeWriter& out) {
  out.add("QLinearConv").window(op.window).integer("group", op.groups, 1);
}

void write(const MaxPool& op, NodeWriter& out) {
  if (op.ceil_mode) check_ceil_mode(op.window, out);
  out.add("MaxPool")
      .window(op.window)
      .integer("ceil_mode", op.ceil_mode, 0)
      .integer("storage_order", op.column_major_indices, 0);
}

void write(const AveragePool& op, NodeWriter& out) {
  if (dilated(op.window)) out.need_opset(19, "AveragePool with dilations");
  if (op.ceil_mode) check_ceil_mode(op.window, out);
  out.add("AveragePool")
      .window(op.window)
      .integer("ceil_mode", op.ceil_mode, 0)
      .integer("count_include_pad", op.count_include_pad, 0);
}

void write(const LpPool& op, NodeWriter& out) {
  if (dilated(op.window)) out.need_opset(18, "LpPool with dilations");
  if (op.ceil_mode) out.need_opset(18, "LpPool with ceil_mode");
  out.add("LpPool").window(op.window).integer("ceil_mode", op.ceil_mode, 0).integer("p", op.p, 2);
}

void write(const GlobalPool& op, NodeWriter& out) {
  switch (op.kind) {
    case GlobalPool::Kind::max: out.add("GlobalMaxPool"); return;
    case GlobalPool::Kind::average: out.add("GlobalAveragePool"); return;
    case GlobalPool::Kind::lp: out.add("GlobalLpPool").integer("p", op.p, 2); return;
  }
}

void write(const MatMul&, NodeWriter& out) { out.add("MatMul"); }

void write(const MatMulInteger&, NodeWriter& out) { out.add("MatMulInteger"); }

void write(const QLinearMatMul&, NodeWriter& out) {
  if (out.type(1).type != ElementType::float32)
    out.need_opset(21, fmt::format("QLinearMatMul with scales of {}", name(out.type(1).type)));
  out.add("QLinearMatMul");
}

void write(const Gemm& op, NodeWriter& out) {
  NodeAttributes attributes = out.add("Gemm");
  if (op.alpha != 1) attributes.real("alpha", op.alpha);
  if (op.beta != 1) attributes.real("beta", op.beta);
  attributes.integer("transA", op.transpose_a, 0).integer("transB", op.transpose_b, 0);
}

void write(const Determinant&, NodeWriter& out) { out.add("Det"); }

void write(const Einsum& op, NodeWriter& out) { out.add("Einsum").text("equation", op.equation); }

}  // namespace tessera::onnx
