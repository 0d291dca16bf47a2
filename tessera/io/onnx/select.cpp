// Ordering, counting and marking.

#include "tessera/io/onnx/internal/formula.h"
#include "tessera/io/onnx/internal/registry.h"

#include <algorithm>

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
  return {build.add(CumSum{.exclusive = node.flag("exclusive", false),
                           .reverse = node.flag("reverse", false),
                           .product = node.op_type() == "CumProd"},
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

Values import_unique(NodeReader& node, NodeBuilder& build) {
  return build.add(Unique{.axis = node.maybe_integer("axis"), .sorted = node.flag("sorted", true)}, node.inputs(1, 1),
                   4);
}

Values import_determinant(NodeReader& node, NodeBuilder& build) {
  return {build.add(Determinant{}, node.inputs(1, 1))};
}

// The first elements of each sequence the other way around, as many as it is long.
Values import_reverse_sequence(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(2, 2);
  const std::int64_t batch = node.integer("batch_axis", 1), time = node.integer("time_axis", 0);
  check(batch + time == 1 && batch * time == 0, Code::parse, "batch_axis {} and time_axis {} must be 0 and 1", batch,
        time);
  const int rank = node.rank(0);
  check(rank >= 2, Code::parse, "the input has rank {}, at least 2 is needed", rank);
  Formula::Dims trailing;
  for (int i = 2; i < rank; ++i) trailing.push_back(i);
  const ValueId lengths = f.unsqueeze(f.cast(node.input(1), ElementType::int64), {time});
  const ValueId at = f.unsqueeze(f.range(f.scalar(f.extent(node.input(0), time))), {batch});
  ValueId from = f.where(f.less(at, lengths), f.sub(f.shifted(lengths, -1), at), at);
  if (!trailing.empty()) from = f.unsqueeze(from, trailing);
  return {build.add(GatherElements{.axis = time}, {node.input(0), f.expand(from, f.shape(node.input(0)))})};
}

// The update written from a position of its own in every batch, around the end if circular.
Values import_tensor_scatter(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(2, 3);
  const int rank = node.rank(0);
  const int axis = normalized_axis(node.integer("axis", -2), rank, node.op_type());
  check(axis > 0, Code::parse, "axis 0 is the batch");
  const bool circular = node.choice<bool>("mode", "linear", {{"linear", false}, {"circular", true}});
  Formula::Dims along(static_cast<std::size_t>(rank), 1), across(static_cast<std::size_t>(rank), 1);
  along[static_cast<std::size_t>(axis)] = -1;
  across[0] = -1;
  ValueId at = f.reshape(f.range(f.scalar(f.extent(node.input(1), axis))), along);
  if (node.has_input(2)) at = f.add(at, f.reshape(f.cast(node.input(2), ElementType::int64), across));
  if (circular) at = f.binary(Binary::Kind::mod, at, f.scalar(f.extent(node.input(0), axis)));
  return {
      build.add(ScatterElements{.axis = axis}, {node.input(0), f.expand(at, f.shape(node.input(1))), node.input(1)})};
}

}  // namespace tessera::onnx
