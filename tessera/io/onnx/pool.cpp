#include "tessera/io/onnx/internal/registry.h"
#include "tessera/io/onnx/internal/window_attributes.h"

namespace tessera::onnx {

Values import_max_pool(NodeReader& node, NodeBuilder& build) {
  const bool with_indices = node.wants_output(1);
  MaxPool op{.window = read_window(node),
             .ceil_mode = node.flag("ceil_mode", false),
             .column_major_indices = node.flag("storage_order", false),
             .with_indices = with_indices};
  return build.add(op, node.inputs(1, 1), with_indices ? 2 : 1);
}

Values import_average_pool(NodeReader& node, NodeBuilder& build) {
  return {build.add(AveragePool{.window = read_window(node),
                                .ceil_mode = node.flag("ceil_mode", false),
                                .count_include_pad = node.flag("count_include_pad", false)},
                    node.inputs(1, 1))};
}

Values import_lp_pool(NodeReader& node, NodeBuilder& build) {
  return {build.add(
      LpPool{.window = read_window(node), .ceil_mode = node.flag("ceil_mode", false), .p = node.integer("p", 2)},
      node.inputs(1, 1))};
}

Values import_global_pool(NodeReader& node, NodeBuilder& build) {
  using Kind = GlobalPool::Kind;
  const std::string& name = node.op_type();
  const Kind kind = name == "GlobalMaxPool" ? Kind::max : name == "GlobalLpPool" ? Kind::lp : Kind::average;
  GlobalPool op{.kind = kind, .p = 2};
  if (kind == Kind::lp) op.p = node.integer("p", 2);
  return {build.add(op, node.inputs(1, 1))};
}

}  // namespace tessera::onnx
