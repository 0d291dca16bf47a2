// Shapes as values, and operators that move elements without changing them.

#include "tessera/io/onnx/internal/tensor.h"
#include "tessera/io/onnx/internal/writers.h"

#include <algorithm>

namespace tessera::onnx {

void write(const Reshape& op, NodeWriter& out) { out.add("Reshape").integer("allowzero", op.allow_zero, 0); }

void write(const Flatten& op, NodeWriter& out) { out.add("Flatten").integer("axis", op.axis, 1); }

void write(const Squeeze& op, NodeWriter& out) {
  out.add("Squeeze", {out.input(0), op.axes.empty() ? out.input(1) : out.integers("axes", op.axes)});
}

void write(const Unsqueeze& op, NodeWriter& out) {
  out.add("Unsqueeze", {out.input(0), out.has(1) ? out.input(1) : out.integers("axes", op.axes)});
}

void write(const Transpose& op, NodeWriter& out) { out.add("Transpose").integers("perm", op.perm); }

void write(const Concat& op, NodeWriter& out) { out.add("Concat").integer("axis", op.axis); }

void write(const Split& op, NodeWriter& out) {
  // Parts that nobody reads have names, too: there are as many outputs as sizes.
  Names parts = out.outputs();
  for (std::string& part : parts)
    if (part.empty()) part = out.between("unused");
  const auto add = [&](Names inputs) {
    NodeAttributes node = out.add("Split", std::move(inputs), parts);
    node.integer("axis", op.axis, 0);
    return node;
  };
  if (out.has(1) || !op.sizes.empty()) {
    add({out.input(0), out.has(1) ? out.input(1) : out.integers("split", op.sizes)});
    return;
  }
  if (out.opset() >= 18) {
    add(out.inputs()).integer("num_outputs", op.outputs);
    return;
  }
  // Before, parts had to be equal or listed.
  const auto& types = out.output_types();
  const bool known = std::all_of(types.begin(), types.end(), [](const TensorType& t) { return t.is_static(); });
  if (!known) {
    out.need_opset(18, "Split into a number of parts of unknown size");
    return;
  }
  std::vector<std::int64_t> sizes;
  for (const TensorType& type : types)
    sizes.push_back((*type.dims)[static_cast<std::size_t>(normalized_axis(op.axis, type.rank(), "Split"))]);
  add({out.input(0), out.integers("split", sizes)});
}

void write(const Slice&, NodeWriter& out) { out.add("Slice"); }

void write(const Pad& op, NodeWriter& out) {
  constexpr std::string_view kModes[] = {"constant", "reflect", "edge", "wrap"};
  if (out.has(3)) out.need_opset(18, "Pad of some axes");
  if (op.mode == Pad::Mode::wrap) out.need_opset(19, "Pad by wrapping around");
  out.add("Pad").text("mode", kModes[static_cast<std::size_t>(op.mode)], "constant");
}

void write(const Expand&, NodeWriter& out) { out.add("Expand"); }

void write(const TileRepeat&, NodeWriter& out) { out.add("Tile"); }

void write(const DepthToSpace& op, NodeWriter& out) {
  out.add("DepthToSpace").integer("blocksize", op.block).text("mode", op.column_row_depth ? "CRD" : "DCR", "DCR");
}

void write(const SpaceToDepth& op, NodeWriter& out) { out.add("SpaceToDepth").integer("blocksize", op.block); }

void write(const ShapeOf& op, NodeWriter& out) {
  NodeAttributes attributes = out.add("Shape").integer("start", op.start, 0);
  if (op.end) attributes.integer("end", *op.end);
}

void write(const SizeOf&, NodeWriter& out) { out.add("Size"); }

void write(const ConstantOfShape& op, NodeWriter& out) {
  out.add("ConstantOfShape").tensor("value", op.value.reshaped(Shape{1}));
}

void write(const Range&, NodeWriter& out) {
  const ElementType type = out.type(0).type;
  if (type == ElementType::float16 || type == ElementType::bfloat16)
    out.refuse(fmt::format("Range of {} came after the opsets that are written", name(type)));
  out.add("Range");
}

void write(const EyeLike& op, NodeWriter& out) {
  NodeAttributes attributes = out.add("EyeLike").integer("k", op.diagonal, 0);
  if (op.type) attributes.integer("dtype", data_type(*op.type));
}

void write(const Resize& op, NodeWriter& out) {
  using C = Resize::Coordinates;
  constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
  constexpr std::string_view kCoordinates[] = {"half_pixel",        "half_pixel_symmetric", "pytorch_half_pixel",
                                               "align_corners",     "asymmetric",           "tf_half_pixel_for_nn",
                                               "tf_crop_and_resize"};
  constexpr std::string_view kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  constexpr std::string_view kAspect[] = {"stretch", "not_larger", "not_smaller"};
  if (op.antialias) out.need_opset(18, "Resize with antialiasing");
  if (!op.axes.empty()) out.need_opset(18, "Resize of some axes");
  if (op.aspect != Resize::Aspect::stretch) out.need_opset(18, "Resize that keeps the aspect");
  if (op.coordinates == C::half_pixel_symmetric) out.need_opset(19, "Resize with half_pixel_symmetric");
  if (op.coordinates == C::tf_half_pixel_for_nn) out.refuse("tf_half_pixel_for_nn is known up to opset 12 only");
  NodeAttributes attributes = out.add("Resize");
  attributes.text("mode", kModes[static_cast<std::size_t>(op.mode)], "nearest")
      .text("coordinate_transformation_mode", kCoordinates[static_cast<std::size_t>(op.coordinates)], "half_pixel")
      .text("keep_aspect_ratio_policy", kAspect[static_cast<std::size_t>(op.aspect)], "stretch")
      .integer("exclude_outside", op.exclude_outside, 0)
      .integer("antialias", op.antialias, 0)
      .integers("axes", op.axes);
  if (op.mode == Resize::Mode::nearest)
    attributes.text("nearest_mode", kNearest[static_cast<std::size_t>(op.nearest)], "round_prefer_floor");
  if (op.mode == Resize::Mode::cubic) attributes.real("cubic_coeff_a", op.cubic_a);
  if (op.coordinates == C::tf_crop_and_resize) attributes.real("extrapolation_value", op.extrapolation_value);
}

}  // namespace tessera::onnx
