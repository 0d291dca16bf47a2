// Operators that ONNX had on trial until opset 9 and took back; models of that time still use them.

#include "tessera/io/onnx/internal/formula.h"
#include "tessera/io/onnx/internal/registry.h"

namespace tessera::onnx {
namespace {

double factor(NodeReader& node, const std::string& name) { return static_cast<double>(node.real(name, 1.0f)); }

}  // namespace

// alpha x + beta
Values import_affine(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(1, 1);
  const double alpha = factor(node, "alpha"), beta = static_cast<double>(node.real("beta", 0.0f));
  return {f.shifted(f.scaled(node.input(0), alpha), beta)};
}

// scale x + bias of the channel
Values import_image_scaler(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(1, 1);
  const std::vector<float> bias = node.reals("bias");
  const ValueId y = f.scaled(node.input(0), factor(node, "scale"));
  if (bias.empty()) return {y};
  const Array per_channel = Array::of<float>(Shape{static_cast<std::int64_t>(bias.size()), 1, 1}, bias);
  return {f.add(y, f.cast(build.constant(per_channel), node.type(0).type))};
}

// alpha tanh(beta x), alpha softplus(beta x)
Values import_scaled_activation(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(1, 1);
  const double alpha = factor(node, "alpha"), beta = factor(node, "beta");
  const Unary::Kind kind = node.op_type() == "ScaledTanh" ? Unary::Kind::tanh : Unary::Kind::softplus;
  return {f.scaled(f.unary(kind, f.scaled(node.input(0), beta)), alpha)};
}

// Borders left, top, right, bottom are cut off; a scale is the height and width to keep instead of the last two.
Values import_crop(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(1, 1);
  const std::vector<std::int64_t> border = node.integers("border"), scale = node.integers("scale");
  check(border.size() == 4 && (scale.empty() || scale.size() == 2), Code::parse,
        "there are {} borders and {} extents, 4 and none or 2 are needed", border.size(), scale.size());
  const Formula::Dims starts = {border[1], border[0]};
  const ValueId ends = scale.empty() ? f.sub(f.extents(node.input(0), 2, 4), f.list({border[3], border[2]}))
                                     : f.add(f.list(starts), f.list(scale));
  return {f.slice_by(node.input(0), f.list(starts), ends, {2, 3})};
}

}  // namespace tessera::onnx
