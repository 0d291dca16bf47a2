#include "tessera/targets/cpu/kernels/quantize/quantize_range.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

// Elements that pass through a buffer of floats or integers at a time.
constexpr int kPiece = 64;

template <class T>
void quantize(const float* x, void* y, std::int64_t n, const float* scales, const float* zeros, bool one) {
  T* to = static_cast<T*>(y);
  constexpr bool has_sign = T(-1) < T(0);
  const Vec low = Vec::all(has_sign ? -128.0f : 0.0f), high = Vec::all(has_sign ? 127.0f : 255.0f);
  float values[kPiece] = {};
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    const int count = n - begin < kPiece ? static_cast<int>(n - begin) : kPiece;
    for (int i = 0; i < count; i += Vec::kWidth) {
      const auto m = Vec::first(count - i);
      const Vec scale = one ? Vec::all(*scales) : Vec::load(scales + begin + i, m);
      const Vec zero = one ? Vec::all(*zeros) : Vec::load(zeros + begin + i, m);
      const Vec v = round(Vec::load(x + begin + i, m) / scale) + zero;
      min_second(high, max_second(v, low)).store(values + i, m);
    }
    for (int i = 0; i < count; ++i) to[begin + i] = static_cast<T>(static_cast<std::int32_t>(values[i]));
  }
}

template <class T>
void dequantize(const void* x, float* y, std::int64_t n, const float* scales, const float* zeros, bool one) {
  const T* from = static_cast<const T*>(x);
  float values[kPiece] = {};
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    const int count = n - begin < kPiece ? static_cast<int>(n - begin) : kPiece;
    for (int i = 0; i < count; ++i) values[i] = static_cast<float>(from[begin + i]);
    for (int i = 0; i < count; i += Vec::kWidth) {
      const auto m = Vec::first(count - i);
      const Vec scale = one ? Vec::all(*scales) : Vec::load(scales + begin + i, m);
      const Vec zero = one ? Vec::all(*zeros) : Vec::load(zeros + begin + i, m);
      ((Vec::load(values + i, m) - zero) * scale).store(y + begin + i, m);
    }
  }
}

}  // namespace

QuantizeFunctions quantize_functions(bool has_sign) {
  if (has_sign) return {quantize<std::int8_t>, dequantize<std::int8_t>};
  return {quantize<std::uint8_t>, dequantize<std::uint8_t>};
}

void widen_range(const float* x, std::int64_t n, float* range) {
  Vec low = Vec::all(range[0]), high = Vec::all(range[1]);
  std::int64_t i = 0;
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) {
    const Vec v = Vec::load(x + i);
    low = min_second(v, low);
    high = max_second(v, high);
  }
  float lows[Vec::kWidth], highs[Vec::kWidth];
  low.store(lows);
  high.store(highs);
  for (int l = 0; l < Vec::kWidth; ++l) {
    if (lows[l] < range[0]) range[0] = lows[l];
    if (highs[l] > range[1]) range[1] = highs[l];
  }
  for (; i < n; ++i) {
    if (x[i] < range[0]) range[0] = x[i];
    if (x[i] > range[1]) range[1] = x[i];
  }
}

}  // namespace tessera::cpu::TSR_ISA
