#include "tessera/targets/tensix/ops/matmul/product_run.h"

#include <cstring>

namespace tessera::tensix::portable {
namespace {

// As numerics.h has it; operands and Dst hold no NaN but quiet ones without a payload, which survive the sum.
inline float into_quiet_dst(float x, bool float32) {
  std::uint32_t u = 0;
  std::memcpy(&u, &x, sizeof u);
  u = (u & 0x7F80'0000u) == 0 ? 0 : float32 ? u : (u + 0x7FFFu + ((u >> 16) & 1u)) & 0xFFFF'0000u;
  std::memcpy(&x, &u, sizeof x);
  return x;
}

}  // namespace

void product_run(const ProductRun& run) noexcept {
  constexpr int kRows = ProductRun::kRows, kColumns = ProductRun::kColumns;
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    if (run.right[t] == nullptr) continue;
    for (int phase = 0; phase < run.phases; ++phase) {
      const float* left = run.left + (2 * t + (phase >> 1)) * ProductRun::kLeftFloats;
      const float* right = run.right[t] + (phase & 1) * ProductRun::kRightFloats;
      for (int face = 0; face < 2; ++face, left += 16 * kRows, right += 16 * kColumns)
        for (int r = 0; r < kRows; ++r) {
          float sum[kColumns] = {};
          // Products have 12 bits, so that the sum in double needs no more than one rounding: that to float.
          for (int k = 0; k < 16; ++k) {
            const double a = left[k * kRows + r];
            for (int c = 0; c < kColumns; ++c)
              sum[c] =
                  static_cast<float>(a * static_cast<double>(right[k * kColumns + c]) + static_cast<double>(sum[c]));
          }
          float* dst = run.dst + r * kColumns;
          for (int c = 0; c < kColumns; ++c) dst[c] = into_quiet_dst(dst[c] + sum[c], run.float32);
        }
    }
  }
}

}  // namespace tessera::tensix::portable
