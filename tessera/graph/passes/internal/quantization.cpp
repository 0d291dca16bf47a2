#include "tessera/graph/passes/internal/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::internal {
namespace {

bool is_byte(ElementType type) { return type == ElementType::int8 || type == ElementType::uint8; }
bool is_normal(float scale) { return std::isnormal(scale) && scale > 0; }

// Scale and zero point of a tensor of bytes from inputs 1 and 2 of a node.
std::optional<ByteScale> scale_of(const Rewriter& r, const Node& node, ElementType type) {
  const Array* scale = r.constant(input(node, 1));
  if (scale == nullptr || scale->type() != ElementType::float32 || scale->count() != 1 || !is_byte(type))
    return std::nullopt;
  ByteScale out{type, scale->as<float>()[0], 0};
  if (input(node, 2) != kNoValue) {
    const Array* zero = r.constant(node.inputs[2]);
    if (zero == nullptr || zero->count() != 1) return std::nullopt;
    out.zero = zero->to_int64()[0];
  }
  return is_normal(out.scale) ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<ByteScale> quantized_by(const Rewriter& r, const Node& node) {
  const auto* op = std::get_if<QuantizeLinear>(&node.op);
  if (op == nullptr || !node.fused.empty() || op->block != 0 || node.outputs[0] == kNoValue ||
      r.type(node.inputs[0]).type != ElementType::float32 ||
      op->precision.value_or(ElementType::float32) != ElementType::float32)
    return std::nullopt;
  return scale_of(r, node, r.type(node.outputs[0]).type);
}

std::optional<ByteScale> dequantized_by(const Rewriter& r, const Node& node) {
  const auto* op = std::get_if<DequantizeLinear>(&node.op);
  if (op == nullptr || !node.fused.empty() || op->block != 0 ||
      op->type.value_or(ElementType::float32) != ElementType::float32)
    return std::nullopt;
  return scale_of(r, node, r.type(node.inputs[0]).type);
}

std::optional<Quantized> quantized_value(const Rewriter& r, ValueId id) {
  const Node* node = r.made_by<DequantizeLinear>(id);
  if (node == nullptr || r.constant(node->inputs[0]) != nullptr) return std::nullopt;
  const std::optional<ByteScale> scale = dequantized_by(r, *node);
  if (!scale) return std::nullopt;
  return Quantized{node->inputs[0], *scale};
}

std::optional<QuantizedWeights> quantized_weights(const Rewriter& r, ValueId id, int axis) {
  const Node* node = r.made_by<DequantizeLinear>(id);
  const Array* bytes = node == nullptr ? nullptr : r.constant(node->inputs[0]);
  const Array* scales = node == nullptr ? nullptr : r.constant(input(*node, 1));
  if (bytes == nullptr || scales == nullptr || !is_byte(bytes->type()) || scales->type() != ElementType::float32)
    return std::nullopt;
  const auto& op = std::get<DequantizeLinear>(node->op);
  if (op.block != 0 || op.type.value_or(ElementType::float32) != ElementType::float32) return std::nullopt;
  QuantizedWeights out;
  out.bytes = node->inputs[0];
  out.scales.assign(scales->as<float>().begin(), scales->as<float>().end());
  out.zeros.assign(out.scales.size(), 0);
  if (input(*node, 2) != kNoValue) {
    const Array* zeros = r.constant(node->inputs[2]);
    if (zeros == nullptr || zeros->count() != scales->count()) return std::nullopt;
    out.zeros = zeros->to_int64();
  }
  const int rank = bytes->shape().rank();
  if (out.scales.size() != 1 && normalized_axis(op.axis, rank, DequantizeLinear::kName) != axis) return std::nullopt;
  return std::ranges::all_of(out.scales, is_normal) ? std::optional(out) : std::nullopt;
}

std::optional<std::vector<std::int32_t>> quantized_bias(const Rewriter& r, ValueId bias, std::int64_t channels,
                                                        float x_scale, const QuantizedWeights& w, float y_scale) {
  std::vector<double> values;
  bool in_steps = false;
  const Node* node = bias == kNoValue ? nullptr : r.made_by<DequantizeLinear>(bias);
  if (node != nullptr) {
    const Array *steps = r.constant(node->inputs[0]), *scales = r.constant(input(*node, 1));
    const Array* zeros = r.constant(input(*node, 2));
    if (steps == nullptr || scales == nullptr || steps->type() != ElementType::int32 || steps->count() != channels ||
        (scales->count() != 1 && scales->count() != channels) || std::get<DequantizeLinear>(node->op).block != 0 ||
        (input(*node, 2) != kNoValue && zeros == nullptr))
      return std::nullopt;
    if (zeros != nullptr && std::ranges::any_of(zeros->to_double(), [](double z) { return z != 0; }))
      return std::nullopt;
    values = steps->to_double();
    const std::vector<double> of = scales->to_double();
    const auto scale_of_channel = [&](std::size_t c) { return of[of.size() == 1 ? 0 : c]; };
    in_steps = true;
    for (std::size_t c = 0; c < values.size(); ++c) {
      const double step = static_cast<double>(x_scale) * static_cast<double>(w.scale(static_cast<std::int64_t>(c)));
      in_steps = in_steps && std::abs(scale_of_channel(c) - step) <= step * 0x1p-22;  // products of floats, rounded
    }
    if (!in_steps)
      for (std::size_t c = 0; c < values.size(); ++c) values[c] *= scale_of_channel(c);
  } else if (bias != kNoValue) {
    const Array* array = r.constant(bias);
    if (array == nullptr || array->count() != channels) return std::nullopt;
    values = array->to_double();
  } else {
    values.assign(static_cast<std::size_t>(channels), 0.0);
    in_steps = true;
  }
  std::vector<std::int32_t> out;
  for (std::size_t c = 0; c < values.size(); ++c) {
    const double step = static_cast<double>(x_scale) * static_cast<double>(w.scale(static_cast<std::int64_t>(c)));
    if (!in_steps && step > kBiasStep * static_cast<double>(y_scale)) return std::nullopt;
    const double value = in_steps ? values[c] : std::nearbyint(values[c] / step);
    if (!(std::abs(value) < 0x1p31)) return std::nullopt;
    out.push_back(static_cast<std::int32_t>(value));
  }
  return out;
}

bool stays_exact(const std::vector<double>& largest_sums, const std::vector<std::int32_t>& bias, float x_scale,
                 const QuantizedWeights& w, float y_scale) {
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const float product = x_scale * w.scale(static_cast<std::int64_t>(c));
    if (!is_normal(product) || !is_normal(product / y_scale)) return false;
    if (largest_sums[c] + std::abs(static_cast<double>(bias[c])) >= 0x1p31) return false;
  }
  return true;
}

std::int64_t quantized(const ByteScale& scale, double value) {
  const double low = scale.type == ElementType::int8 ? -128 : 0, high = low + 255;
  const auto quotient = static_cast<double>(static_cast<float>(value / static_cast<double>(scale.scale)));
  const double rounded = std::nearbyint(quotient) + static_cast<double>(scale.zero);
  return static_cast<std::int64_t>(!(rounded > low) ? low : std::min(rounded, high));
}

Array byte_array(ElementType type, const Shape& shape, std::span<const std::int64_t> values) {
  Array out(type, shape);
  for (std::size_t i = 0; i < values.size(); ++i) out.bytes()[i] = static_cast<std::byte>(values[i]);
  return out;
}

}  // namespace tessera::internal
