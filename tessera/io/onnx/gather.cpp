// Taking and writing elements by index.

#include "tessera/io/onnx/internal/registry.h"

namespace tessera::onnx {
namespace {

ScatterND::Reduction reduction_of(NodeReader& node) {
  using R = ScatterND::Reduction;
  return node.choice<R>("reduction", "none",
                        {{"none", R::none}, {"add", R::add}, {"mul", R::mul}, {"max", R::max}, {"min", R::min}});
}

}  // namespace

Values import_gather(NodeReader& node, NodeBuilder& build) {
  return {build.add(Gather{.axis = node.integer("axis", 0)}, node.inputs(2, 2))};
}

Values import_gather_elements(NodeReader& node, NodeBuilder& build) {
  return {build.add(GatherElements{.axis = node.integer("axis", 0)}, node.inputs(2, 2))};
}

Values import_gather_nd(NodeReader& node, NodeBuilder& build) {
  return {build.add(GatherND{.batch_dims = node.integer("batch_dims", 0)}, node.inputs(2, 2))};
}

Values import_scatter_nd(NodeReader& node, NodeBuilder& build) {
  return {build.add(ScatterND{.reduction = reduction_of(node)}, node.inputs(3, 3))};
}

Values import_scatter_elements(NodeReader& node, NodeBuilder& build) {
  return {
      build.add(ScatterElements{.axis = node.integer("axis", 0), .reduction = reduction_of(node)}, node.inputs(3, 3))};
}

// The positions at which the condition holds, gathered.
Values import_compress(NodeReader& node, NodeBuilder& build) {
  node.inputs(2, 2);
  const auto axis = node.maybe_integer("axis");
  ValueId x = node.input(0);
  if (!axis) x = build.add(Reshape{}, {x, build.constant(std::vector<std::int64_t>{-1})});
  const ValueId positions = build.add(Squeeze{.axes = {0}}, {build.add(NonZero{}, {node.input(1)})});
  return {build.add(Gather{.axis = axis.value_or(0)}, {x, positions})};
}

}  // namespace tessera::onnx
