#pragma once

// What becomes of int32 sums of products. Plain data: files compiled for an instruction set include it.

#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

// q = round(sum * factor), within bounds, + zero; then perhaps the sum of q and a residual, in the same way. Bounds are
// less the zero point and hold the ends of the type and of any Clip.
struct IntegerEpilogue {
  bool requantizes = true;  // otherwise sums are stored as they are
  float low = 0, high = 0;
  std::int32_t zero = 0;

  bool adds = false, residual_sign = false;
  std::int32_t shift = 0;          // from q less its own zero point to q less the one that the addition knows
  std::int32_t residual_less = 0;  // less the zero point of the residual
  float scale = 0, residual_scale = 0;
  float sum_scale = 1, reciprocal = 1;  // of the sum
  bool divides = true;                  // quotients by sum_scale are not to be made of the reciprocal
  float sum_low = 0, sum_high = 0;
  std::int32_t sum_zero = 0;
};

}  // namespace tessera::cpu
