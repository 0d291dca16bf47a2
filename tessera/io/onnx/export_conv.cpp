// Convolutions, pools and products of matrices.

#include "tessera/io/onnx/internal/writers.h"

#include <algorithm>

namespace tessera::onnx {
namespace {

bool dilated(const Window& window) {
  return std::any_of(window.dilations.begin(), window.dilations.end(), [](std::int64_t d) { return d != 1; });
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
  out.add("MaxPool")
      .window(op.window)
      .integer("ceil_mode", op.ceil_mode, 0)
      .integer("storage_order", op.column_major_indices, 0);
}

void write(const AveragePool& op, NodeWriter& out) {
  if (dilated(op.window)) out.need_opset(19, "AveragePool with dilations");
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

void write(const QLinearMatMul&, NodeWriter& out) { out.add("QLinearMatMul"); }

void write(const Gemm& op, NodeWriter& out) {
  NodeAttributes attributes = out.add("Gemm");
  if (op.alpha != 1) attributes.real("alpha", op.alpha);
  if (op.beta != 1) attributes.real("beta", op.beta);
  attributes.integer("transA", op.transpose_a, 0).integer("transB", op.transpose_b, 0);
}

void write(const Determinant&, NodeWriter& out) { out.add("Det"); }

void write(const Einsum& op, NodeWriter& out) { out.add("Einsum").text("equation", op.equation); }

}  // namespace tessera::onnx
