#pragma once

// What QuantizeLinear and DequantizeLinear around an operator say, where it is simple enough to compute in integers.

#include "tessera/graph/passes/internal/rewriter.h"

#include <optional>
#include <span>
#include <vector>

namespace tessera::internal {

// One scale and one zero point for a tensor of int8 or uint8 and float32.
struct ByteScale {
  ElementType type = ElementType::uint8;
  float scale = 1;
  std::int64_t zero = 0;

  bool operator==(const ByteScale&) const = default;
};

// Of a node that makes bytes out of float32, or the other way round.
std::optional<ByteScale> quantized_by(const Rewriter& r, const Node& node);
std::optional<ByteScale> dequantized_by(const Rewriter& r, const Node& node);

// A float32 value that is bytes with a scale.
struct Quantized {
  ValueId bytes = kNoValue;
  ByteScale scale;
};
std::optional<Quantized> quantized_value(const Rewriter& r, ValueId id);

// Constant weights that are bytes, with one scale and zero point or one for each output channel, which is axis `axis`.
struct QuantizedWeights {
  ValueId bytes = kNoValue;
  std::vector<float> scales;
  std::vector<std::int64_t> zeros;  // as many

  float scale(std::int64_t channel) const { return scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(channel)]; }
  std::int64_t zero(std::int64_t channel) const {
    return zeros[zeros.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }
};
std::optional<QuantizedWeights> quantized_weights(const Rewriter& r, ValueId id, int axis);

// The bias in steps of x scale * w scale, one for each of `channels`. None where it is not constant, or where rounding
// it so could be seen: steps larger than kBiasStep quanta of the result, unless it is made of those very steps.
constexpr double kBiasStep = 1.0 / 16;
std::optional<std::vector<std::int32_t>> quantized_bias(const Rewriter& r, ValueId bias, std::int64_t channels,
                                                        float x_scale, const QuantizedWeights& w, float y_scale);

// Whether sums of so many products and the bias stay within int32, and every factor x scale * w scale / y scale is a
// normal number.
bool stays_exact(const std::vector<double>& largest_sums, const std::vector<std::int32_t>& bias, float x_scale,
                 const QuantizedWeights& w, float y_scale);

// The bytes that QuantizeLinear makes of numbers.
std::int64_t quantized(const ByteScale& scale, double value);

Array byte_array(ElementType type, const Shape& shape, std::span<const std::int64_t> values);

}  // namespace tessera::internal
