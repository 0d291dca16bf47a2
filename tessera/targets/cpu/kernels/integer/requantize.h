#pragma once

// What the quantised convolution and matrix product have in common.

#include "tessera/core/element_type.h"
#include "tessera/targets/cpu/kernels/integer/integer_epilogue.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tessera::cpu {

// A byte as its type says.
inline std::int32_t byte_value(const std::byte* at, bool has_sign) {
  return has_sign ? *reinterpret_cast<const std::int8_t*>(at) : static_cast<std::int32_t>(*at);
}

// Products of any int32 with smaller factors are within int32.
constexpr float kWithinInt32 = 0.99f;

// The zero points of a constant, or none.
inline std::vector<std::int64_t> constant_zeros(const Array* zeros) {
  return zeros == nullptr ? std::vector<std::int64_t>{0} : zeros->to_int64();
}

// Part of a key of packed weights.
std::string zeros_text(const Array* zeros);

struct Requantization {
  IntegerEpilogue epilogue;
  int residual = -1;  // position in Node::inputs
};
// The output's constant zero point at input `y_zero` and what is fused: Clip, QLinearAdd, Clip, each where there is
// one.
std::variant<Requantization, Refusal> read_requantization(const Problem& problem, std::size_t y_zero);
// A QLinearAdd of its own with constant scales, and a fused Clip: of its first input, whose zero point is in `shift`,
// and the second as the residual.
std::variant<IntegerEpilogue, Refusal> read_requantized_add(const Problem& problem);

}  // namespace tessera::cpu
