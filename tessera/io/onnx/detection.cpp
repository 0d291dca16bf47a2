#include "tessera/io/onnx/internal/registry.h"

namespace tessera::onnx {

Values import_non_max_suppression(NodeReader& node, NodeBuilder& build) {
  return {build.add(NonMaxSuppression{.center_point_box = node.flag("center_point_box", false)}, node.inputs(2, 5))};
}

Values import_roi_align(NodeReader& node, NodeBuilder& build) {
  RoiAlign op;
  op.max = node.choice<bool>("mode", "avg", {{"avg", false}, {"max", true}});
  // Before opset 16 there was no choice.
  op.half_pixel =
      node.choice<bool>("coordinate_transformation_mode", node.opset() < 16 ? "output_half_pixel" : "half_pixel",
                        {{"half_pixel", true}, {"output_half_pixel", false}});
  op.output_height = node.integer("output_height", 1);
  op.output_width = node.integer("output_width", 1);
  op.sampling_ratio = node.integer("sampling_ratio", 0);
  op.spatial_scale = node.real("spatial_scale", 1.0f);
  return {build.add(op, node.inputs(3, 3))};
}

Values import_grid_sample(NodeReader& node, NodeBuilder& build) {
  using M = GridSample::Mode;
  using P = GridSample::Padding;
  GridSample op;
  op.mode = node.choice<M>("mode", "linear",
                           {{"linear", M::linear},
                            {"bilinear", M::linear},
                            {"nearest", M::nearest},
                            {"cubic", M::cubic},
                            {"bicubic", M::cubic}});
  op.padding = node.choice<P>("padding_mode", "zeros",
                              {{"zeros", P::zeros}, {"border", P::border}, {"reflection", P::reflection}});
  op.align_corners = node.flag("align_corners", false);
  return {build.add(op, node.inputs(2, 2))};
}

}  // namespace tessera::onnx
