// Ordering, counting and marking.

#include "tessera/io/onnx/internal/registry.h"

namespace tessera::onnx {

Values import_top_k(NodeReader& node, NodeBuilder& build) {
  TopK op{.axis = node.integer("axis", -1), .largest = true, .sorted = true};
  if (node.opset() < 10) {
    node.inputs(1, 1);
    return build.add(op, {node.input(0), build.constant(std::vector<std::int64_t>{node.integer("k")})}, 2);
  }
  if (node.opset() >= 11) {
    op.largest = node.flag("largest", true);
    op.sorted = node.flag("sorted", true);
  }
  return build.add(op, node.inputs(2, 2), 2);
}

Values import_cum_sum(NodeReader& node, NodeBuilder& build) {
  return {build.add(CumSum{.exclusive = node.flag("exclusive", false), .reverse = node.flag("reverse", false)},
                    node.inputs(2, 2))};
}

Values import_one_hot(NodeReader& node, NodeBuilder& build) {
  return {build.add(OneHot{.axis = node.integer("axis", -1)}, node.inputs(3, 3))};
}

Values import_trilu(NodeReader& node, NodeBuilder& build) {
  return {build.add(Trilu{.upper = node.flag("upper", true)}, node.inputs(1, 2))};
}

Values import_non_zero(NodeReader& node, NodeBuilder& build) { return {build.add(NonZero{}, node.inputs(1, 1))}; }

// One at the first largest element along the axis, zero elsewhere. Before opset 13 everything from the axis on was one
// row.
Values import_hardmax(NodeReader& node, NodeBuilder& build) {
  node.inputs(1, 1);
  const bool flatten = node.opset() < 13;
  const std::int64_t axis = node.integer("axis", flatten ? 1 : -1);
  ValueId x = node.input(0);
  if (flatten) x = build.add(Flatten{.axis = axis}, {x});
  const int rank = flatten ? 2 : node.rank(0);
  const int at = flatten ? 1 : normalized_axis(axis, rank, node.op_type());
  const ValueId best = build.add(ArgReduce{.min = false, .axis = at, .keep_dims = false}, {x});
  const ValueId depth = build.add(ShapeOf{.start = at, .end = at + 1}, {x});
  const ElementType type = node.type(0).type;
  const ValueId marks = build.add(Cast{.to = type}, {build.constant(std::vector<std::int64_t>{0, 1})});
  ValueId out = build.add(OneHot{.axis = at}, {best, depth, marks});
  if (flatten) out = build.add(Reshape{}, {out, build.add(ShapeOf{}, {node.input(0)})});
  return {out};
}

}  // namespace tessera::onnx
