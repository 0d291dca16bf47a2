#include "tessera/core/isa.h"
#include "tests/targets/cpu/simd_functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace tessera::cpu {

namespace avx2 {
void values_of(SimdFunction function, const float* x, float* y, int n);
}
namespace avx512 {
void values_of(SimdFunction function, const float* x, float* y, int n);
}

namespace TSR_FILE {

using Run = void (*)(SimdFunction, const float*, float*, int);

Run run_of(Isa isa) {
  return isa == Isa::portable ? portable::values_of : isa == Isa::avx2 ? avx2::values_of : avx512::values_of;
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double silu_of(double x) { return x * sigmoid_of(x); }
double mish_of(double x) { return x * std::tanh(softplus_of(x)); }
double gelu_of(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double gelu_tanh_of(double x) {
  return x * sigmoid_of(2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x));
}

struct Bound {
  SimdFunction function;
  std::string name;
  double (*exact)(double);
  double ulps;
  bool of_argument = false;  // ulp of x rather than of the result
};

const Bound kBounds[] = {
    {SimdFunction::exp, "exp", [](double x) { return std::exp(x); }, 2},
    {SimdFunction::expm1, "expm1", [](double x) { return std::expm1(x); }, 3},
    {SimdFunction::sigmoid, "sigmoid", sigmoid_of, 4},
    {SimdFunction::silu, "silu", silu_of, 4},
    {SimdFunction::log, "log", [](double x) { return std::log(x); }, 2},
    {SimdFunction::softplus, "softplus", softplus_of, 4},
    {SimdFunction::tanh, "tanh", [](double x) { return std::tanh(x); }, 4},
    {SimdFunction::erf, "erf", [](double x) { return std::erf(x); }, 4},
    {SimdFunction::gelu, "gelu", gelu_of, 4, true},
    {SimdFunction::gelu_tanh, "gelu_tanh", gelu_tanh_of, 4, true},
    {SimdFunction::mish, "mish", mish_of, 6},
};

// Distance of neighbouring floats around x.
double ulp_of(double x) {
  const int exponent = std::abs(x) < 1e-45 ? -126 : std::max(std::ilogb(x), -126);
  return std::ldexp(1.0, std::min(exponent, 127) - 23);
}

// The largest distance in ulp over floats of all exponents, each float of a stride.
double worst_of(const Bound& bound, Run run, float& at) {
  double worst = 0;
  float x[16], y[16];
  constexpr std::uint32_t kStride = 4099;  // prime: all mantissa bits vary
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += 16ull * kStride) {
    for (std::uint32_t i = 0; i < 16; ++i) x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits + i * kStride));
    run(bound.function, x, y, 16);
    for (int i = 0; i < 16; ++i) {
      const double exact = bound.exact(static_cast<double>(x[i]));
      double off = 0;
      if (std::isnan(exact) || std::isnan(y[i])) {
        off = std::isnan(exact) == std::isnan(y[i]) ? 0 : INFINITY;
      } else if (std::abs(exact) > static_cast<double>(std::numeric_limits<float>::max()) || std::isinf(y[i])) {
        // Rounding may end on either side of the largest float.
        const double limited = std::min(std::abs(exact), std::ldexp(1.0, 128));
        off = std::isinf(y[i]) ? (std::ldexp(1.0, 128) - limited) / ulp_of(limited / 2)
                               : std::abs(limited - std::abs(static_cast<double>(y[i]))) / ulp_of(limited / 2);
      } else {
        off =
            std::abs(static_cast<double>(y[i]) - exact) / ulp_of(bound.of_argument ? static_cast<double>(x[i]) : exact);
      }
      if (off > worst) worst = off, at = x[i];
    }
  }
  return worst;
}

class SimdMath : public testing::TestWithParam<Bound> {};

TEST_P(SimdMath, IsWithinItsBoundOverAllFloats) {
  for (const Isa isa : usable_isas()) {
    if (isa > Isa::avx512) continue;
    float at = 0;
    const double worst = worst_of(GetParam(), run_of(isa), at);
    EXPECT_LE(worst, GetParam().ulps) << name(isa) << " at " << at;
    RecordProperty(std::string(name(isa)), std::to_string(worst));
  }
}

INSTANTIATE_TEST_SUITE_P(All, SimdMath, testing::ValuesIn(kBounds), [](const auto& test) { return test.param.name; });

TEST(SimdMathEnds, InfinitiesZerosAndSignsComeOutAsTheyShould) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Isa isa : usable_isas()) {
    if (isa > Isa::avx512) continue;
    const auto value = [&](SimdFunction function, float x) {
      float xs[16], ys[16];
      for (float& v : xs) v = x;
      run_of(isa)(function, xs, ys, 16);
      return ys[3];
    };
    EXPECT_EQ(value(SimdFunction::exp, kInfinity), kInfinity);
    EXPECT_EQ(value(SimdFunction::exp, -kInfinity), 0.0f);
    EXPECT_EQ(value(SimdFunction::exp, 0.0f), 1.0f);
    EXPECT_EQ(value(SimdFunction::expm1, -kInfinity), -1.0f);
    EXPECT_EQ(value(SimdFunction::log, 0.0f), -kInfinity);
    EXPECT_EQ(value(SimdFunction::log, kInfinity), kInfinity);
    EXPECT_EQ(value(SimdFunction::log, 1.0f), 0.0f);
    EXPECT_TRUE(std::isnan(value(SimdFunction::log, -1e-40f)));
    EXPECT_EQ(value(SimdFunction::tanh, -kInfinity), -1.0f);
    EXPECT_TRUE(std::signbit(value(SimdFunction::tanh, -0.0f)));
    EXPECT_EQ(value(SimdFunction::erf, kInfinity), 1.0f);
    EXPECT_TRUE(std::signbit(value(SimdFunction::erf, -0.0f)));
    EXPECT_EQ(value(SimdFunction::sigmoid, -kInfinity), 0.0f);
    EXPECT_EQ(value(SimdFunction::sigmoid, kInfinity), 1.0f);
    EXPECT_EQ(value(SimdFunction::softplus, kInfinity), kInfinity);
    EXPECT_TRUE(std::isnan(value(SimdFunction::silu, -kInfinity)));
  }
}

}  // namespace TSR_FILE
}  // namespace tessera::cpu
