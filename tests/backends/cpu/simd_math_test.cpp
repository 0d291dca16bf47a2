// For the portable Vec; the tests of kernels cover the others.
#include "tessera/backends/cpu/internal/simd_math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::cpu::portable {
namespace {

float exp_of(float x) {
  float y[Vec::kWidth];
  exp(Vec::all(x)).store(y);
  return y[0];
}

TEST(SimdMath, ExpIsWithinTwoUlp) {
  double worst = 0;
  for (float x = -87.0f; x < 88.7f; x += 0.00137f) {
    const double wanted = std::exp(static_cast<double>(x));
    const double ulp = std::abs(std::nextafter(static_cast<float>(wanted), INFINITY) - static_cast<float>(wanted));
    worst = std::max(worst, std::abs(exp_of(x) - wanted) / ulp);
  }
  EXPECT_LE(worst, 2.0);
}

TEST(SimdMath, ExpKeepsTheEndsOfTheRange) {
  EXPECT_EQ(exp_of(INFINITY), INFINITY);
  EXPECT_EQ(exp_of(-INFINITY), 0.0f);
  EXPECT_EQ(exp_of(89.5f), INFINITY);
  EXPECT_TRUE(std::isnan(exp_of(NAN)));
  EXPECT_GT(exp_of(-100.0f), 0.0f);
}

}  // namespace
}  // namespace tessera::cpu::portable
