// Taking and writing elements by index, ordering, counting, boxes.

#include "tessera/io/onnx/internal/writers.h"

namespace tessera::onnx {
namespace {

void add_scatter(std::string_view name, std::optional<std::int64_t> axis, ScatterND::Reduction reduction,
                 NodeWriter& out) {
  using R = ScatterND::Reduction;
  constexpr std::string_view kReductions[] = {"none", "add", "mul", "max", "min"};
  if (reduction == R::max || reduction == R::min) out.need_opset(18, fmt::format("{} with max or min", name));
  NodeAttributes attributes = out.add(name);
  if (axis) attributes.integer("axis", *axis, 0);
  attributes.text("reduction", kReductions[static_cast<std::size_t>(reduction)], "none");
}

}  // namespace

void write(const Gather& op, NodeWriter& out) { out.add("Gather").integer("axis", op.axis, 0); }

void write(const GatherElements& op, NodeWriter& out) { out.add("GatherElements").integer("axis", op.axis, 0); }

void write(const GatherND& op, NodeWriter& out) { out.add("GatherND").integer("batch_dims", op.batch_dims, 0); }

void write(const ScatterND& op, NodeWriter& out) { add_scatter("ScatterND", std::nullopt, op.reduction, out); }

void write(const ScatterElements& op, NodeWriter& out) { add_scatter("ScatterElements", op.axis, op.reduction, out); }

void write(const TopK& op, NodeWriter& out) {
  out.add("TopK").integer("axis", op.axis, -1).integer("largest", op.largest, 1).integer("sorted", op.sorted, 1);
}

void write(const CumSum& op, NodeWriter& out) {
  if (op.product) out.refuse("CumProd is known from opset 26 on");
  out.add("CumSum").integer("exclusive", op.exclusive, 0).integer("reverse", op.reverse, 0);
}

void write(const OneHot& op, NodeWriter& out) { out.add("OneHot").integer("axis", op.axis, -1); }

void write(const Trilu& op, NodeWriter& out) { out.add("Trilu").integer("upper", op.upper, 1); }

void write(const NonZero&, NodeWriter& out) { out.add("NonZero"); }

void write(const Unique& op, NodeWriter& out) {
  NodeAttributes attributes = out.add("Unique").integer("sorted", op.sorted, 1);
  if (op.axis) attributes.integer("axis", *op.axis);
}

void write(const NonMaxSuppression& op, NodeWriter& out) {
  out.add("NonMaxSuppression").integer("center_point_box", op.center_point_box, 0);
}

void write(const RoiAlign& op, NodeWriter& out) {
  out.add("RoiAlign")
      .text("mode", op.max ? "max" : "avg", "avg")
      .text("coordinate_transformation_mode", op.half_pixel ? "half_pixel" : "output_half_pixel", "half_pixel")
      .integer("output_height", op.output_height, 1)
      .integer("output_width", op.output_width, 1)
      .integer("sampling_ratio", op.sampling_ratio, 0)
      .real("spatial_scale", op.spatial_scale);
}

void write(const GridSample& op, NodeWriter& out) {
  constexpr std::string_view kModes[] = {"linear", "nearest", "cubic"};
  constexpr std::string_view kFirstModes[] = {"bilinear", "nearest", "bicubic"};
  constexpr std::string_view kPaddings[] = {"zeros", "border", "reflection"};
  out.add("GridSample")
      .text("mode", (out.opset() < 20 ? kFirstModes : kModes)[static_cast<std::size_t>(op.mode)])
      .text("padding_mode", kPaddings[static_cast<std::size_t>(op.padding)], "zeros")
      .integer("align_corners", op.align_corners, 0);
}

}  // namespace tessera::onnx
