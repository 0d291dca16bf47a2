#pragma once

#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

// Between float32 and int8 or uint8. A scale and zero point that are `one` serve all n elements, others are one each.
struct QuantizeFunctions {
  // round(x / scale), half to even, + zero, cut at the ends of the type; NaN gives the lower end.
  void (*quantize)(const float* x, void* y, std::int64_t n, const float* scales, const float* zeros, bool one);
  // (x - zero) * scale.
  void (*dequantize)(const void* x, float* y, std::int64_t n, const float* scales, const float* zeros, bool one);
};
TSR_EACH_ISA(QuantizeFunctions quantize_functions(bool has_sign);)

// Widens [range[0], range[1]] to hold x; NaN is passed over.
TSR_EACH_ISA(void widen_range(const float* x, std::int64_t n, float* range);)

}  // namespace tessera::cpu
