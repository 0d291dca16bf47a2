#include "tessera/io/onnx/internal/registry.h"

namespace tessera::onnx {

Values import_matmul(NodeReader& node, NodeBuilder& build) { return {build.add(MatMul{}, node.inputs(2, 2))}; }

Values import_matmul_integer(NodeReader& node, NodeBuilder& build) {
  return {build.add(MatMulInteger{}, node.inputs(2, 4))};
}

Values import_gemm(NodeReader& node, NodeBuilder& build) {
  if (node.opset() < 7) node.ignore({"broadcast"});
  return {build.add(Gemm{.alpha = node.real("alpha", 1.0f),
                         .beta = node.real("beta", 1.0f),
                         .transpose_a = node.flag("transA", false),
                         .transpose_b = node.flag("transB", false)},
                    node.inputs(2, 3))};
}

Values import_einsum(NodeReader& node, NodeBuilder& build) {
  node.inputs(1, node.input_count());
  return {build.add(Einsum{.equation = node.text("equation", "")}, node.inputs())};
}

Values import_qlinear_matmul(NodeReader& node, NodeBuilder& build) {
  return {build.add(QLinearMatMul{}, node.inputs(8, 8))};
}

}  // namespace tessera::onnx
