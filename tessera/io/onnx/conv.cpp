#include "tessera/io/onnx/internal/registry.h"
#include "tessera/io/onnx/internal/window_attributes.h"

namespace tessera::onnx {

Values import_conv(NodeReader& node, NodeBuilder& build) {
  return {build.add(Conv{.window = read_window(node), .groups = node.integer("group", 1)}, node.inputs(2, 3))};
}

Values import_conv_transpose(NodeReader& node, NodeBuilder& build) {
  ConvTranspose op{.window = read_window(node),
                   .groups = node.integer("group", 1),
                   .output_padding = node.integers("output_padding"),
                   .output_shape = node.integers("output_shape")};
  // Some exporters give the whole shape.
  if (!op.output_shape.empty() && node.type(0).dims && op.output_shape.size() == node.type(0).dims->size())
    op.output_shape.erase(op.output_shape.begin(), op.output_shape.begin() + 2);
  return {build.add(op, node.inputs(2, 3))};
}

Values import_conv_integer(NodeReader& node, NodeBuilder& build) {
  return {build.add(ConvInteger{.window = read_window(node), .groups = node.integer("group", 1)}, node.inputs(2, 4))};
}

Values import_qlinear_conv(NodeReader& node, NodeBuilder& build) {
  return {build.add(QLinearConv{.window = read_window(node), .groups = node.integer("group", 1)}, node.inputs(8, 9))};
}

}  // namespace tessera::onnx
