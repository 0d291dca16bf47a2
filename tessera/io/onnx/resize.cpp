#include "tessera/io/onnx/internal/registry.h"

namespace tessera::onnx {
namespace {

// Opsets 11 and 12 spell an input left out as a tensor without elements.
ValueId unless_empty(const NodeReader& node, std::size_t i) {
  const Array* constant = node.constant(i);
  return constant != nullptr && constant->count() == 0 ? kNoValue : node.input(i);
}

Resize::Mode mode_of(NodeReader& node) {
  using M = Resize::Mode;
  return node.choice<M>("mode", "nearest",
                        {{"nearest", M::nearest}, {"linear", M::linear}, {"bilinear", M::linear}, {"cubic", M::cubic}});
}

// Upsample, and Resize in opset 10: an output position over the scale.
Resize first_form(NodeReader& node) {
  Resize op;
  op.mode = mode_of(node);
  op.coordinates = Resize::Coordinates::asymmetric;
  op.nearest = Resize::Nearest::floor;
  return op;
}

}  // namespace

Values import_upsample(NodeReader& node, NodeBuilder& build) {
  const Resize op = first_form(node);
  if (node.opset() >= 9) return {build.add(op, {node.inputs(2, 2)[0], kNoValue, node.input(1)})};
  node.inputs(1, 1);
  const std::vector<float> scales = node.reals("scales");
  check(!scales.empty(), Code::parse, "attribute 'scales' is missing");
  const ValueId constant = build.constant(Array::of<float>(Shape{static_cast<std::int64_t>(scales.size())}, scales));
  return {build.add(op, {node.input(0), kNoValue, constant})};
}

Values import_resize(NodeReader& node, NodeBuilder& build) {
  if (node.opset() < 11) return {build.add(first_form(node), {node.inputs(2, 2)[0], kNoValue, node.input(1)})};
  using C = Resize::Coordinates;
  using N = Resize::Nearest;
  using A = Resize::Aspect;
  Resize op;
  op.mode = mode_of(node);
  op.coordinates = node.choice<C>("coordinate_transformation_mode", "half_pixel",
                                  {{"half_pixel", C::half_pixel},
                                   {"half_pixel_symmetric", C::half_pixel_symmetric},
                                   {"pytorch_half_pixel", C::pytorch_half_pixel},
                                   {"align_corners", C::align_corners},
                                   {"asymmetric", C::asymmetric},
                                   {"tf_half_pixel_for_nn", C::tf_half_pixel_for_nn},
                                   {"tf_crop_and_resize", C::tf_crop_and_resize}});
  op.nearest = node.choice<N>("nearest_mode", "round_prefer_floor",
                              {{"round_prefer_floor", N::round_prefer_floor},
                               {"round_prefer_ceil", N::round_prefer_ceil},
                               {"floor", N::floor},
                               {"ceil", N::ceil}});
  op.aspect = node.choice<A>("keep_aspect_ratio_policy", "stretch",
                             {{"stretch", A::stretch}, {"not_larger", A::not_larger}, {"not_smaller", A::not_smaller}});
  op.cubic_a = node.real("cubic_coeff_a", -0.75f);
  op.exclude_outside = node.flag("exclude_outside", false);
  op.antialias = node.flag("antialias", false);
  op.extrapolation_value = node.real("extrapolation_value", 0.0f);
  op.axes = node.integers("axes");
  node.inputs(1, 4);
  const ValueId sizes = unless_empty(node, 3);
  // Both may be named where the scales are computed; the sizes decide then.
  const ValueId scales = sizes == kNoValue ? unless_empty(node, 2) : kNoValue;
  return {build.add(op, {node.input(0), unless_empty(node, 1), scales, sizes})};
}

}  // namespace tessera::onnx
