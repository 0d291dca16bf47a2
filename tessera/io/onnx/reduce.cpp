#include "tessera/io/onnx/internal/registry.h"

#include <map>

namespace tessera::onnx {

Values import_reduce(NodeReader& node, NodeBuilder& build) {
  using Kind = Reduce::Kind;
  static const std::map<std::string_view, Kind> kinds = {
      {"ReduceL1", Kind::l1},          {"ReduceL2", Kind::l2},
      {"ReduceLogSum", Kind::log_sum}, {"ReduceLogSumExp", Kind::log_sum_exp},
      {"ReduceMax", Kind::max},        {"ReduceMean", Kind::mean},
      {"ReduceMin", Kind::min},        {"ReduceProd", Kind::prod},
      {"ReduceSum", Kind::sum},        {"ReduceSumSquare", Kind::sum_square}};
  Reduce op{.kind = kinds.at(node.op_type()), .axes = {}, .keep_dims = node.flag("keepdims", true)};
  const bool axes_are_input = node.opset() >= (node.op_type() == "ReduceSum" ? 13 : 18);
  if (!axes_are_input) {
    op.axes = node.integers("axes");
    return {build.add(op, node.inputs(1, 1))};
  }
  op.no_axes_means_none = node.flag("noop_with_empty_axes", false);
  return {build.add(op, node.inputs(1, 2))};
}

Values import_arg_reduce(NodeReader& node, NodeBuilder& build) {
  return {build.add(ArgReduce{.min = node.op_type() == "ArgMin",
                              .axis = node.integer("axis", 0),
                              .keep_dims = node.flag("keepdims", true),
                              .last_index = node.flag("select_last_index", false)},
                    node.inputs(1, 1))};
}

}  // namespace tessera::onnx
