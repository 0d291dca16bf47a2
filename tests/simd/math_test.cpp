#include "tessera/core/float_bits.h"
#include "tessera/core/isa.h"
#include "tests/simd/functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace tessera::simd {
namespace {

// The sets that the library is compiled for; those above them have the same vectors.
std::vector<Isa> vector_isas() {
  std::vector<Isa> out;
  for (const Isa isa : usable_isas())
    if (isa <= Isa::avx512) out.push_back(isa);
  return out;
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
  Function function;
  std::string name;
  double (*exact)(double);
  double ulps;
  bool of_argument = false;                 // ulp of x rather than of the result
  double low = -INFINITY, high = INFINITY;  // arguments that the bound is for
};

// Where functions of gates, which have no subnormal results, are as exact as they say.
constexpr double kLog2 = 0.693147180559945309;

const Bound kBounds[] = {
    {Function::exp, "exp", [](double x) { return std::exp(x); }, 2},
    {Function::expm1, "expm1", [](double x) { return std::expm1(x); }, 3},
    {Function::sigmoid, "sigmoid", sigmoid_of, 4},
    {Function::silu, "silu", silu_of, 4},
    {Function::log, "log", [](double x) { return std::log(x); }, 2},
    {Function::softplus, "softplus", softplus_of, 4},
    {Function::tanh, "tanh", [](double x) { return std::tanh(x); }, 4},
    {Function::erf, "erf", [](double x) { return std::erf(x); }, 4},
    {Function::gelu, "gelu", gelu_of, 4, true},
    {Function::gelu_tanh, "gelu_tanh", gelu_tanh_of, 4, true},
    {Function::mish, "mish", mish_of, 6},
    {Function::quick_exp, "quick_exp", [](double x) { return std::exp(x); }, 1.5, false, -87, 88},
    {Function::quick_sigmoid, "quick_sigmoid", sigmoid_of, 3, false, -87},
    {Function::quick_tanh, "quick_tanh", [](double x) { return std::tanh(x); }, 3},
    {Function::quick_sigmoid_exp2, "quick_sigmoid_exp2", [](double y) { return sigmoid_of(-y * kLog2); }, 2.5, false,
     -INFINITY, 126},
};

// Distance of neighbouring floats around x.
double ulp_of(double x) {
  const int exponent = std::abs(x) < 1e-45 ? -126 : std::max(std::ilogb(x), -126);
  return std::ldexp(1.0, std::min(exponent, 127) - 23);
}

double distance_in_ulps(double exact, float found, double unit) {
  if (std::isnan(exact) || std::isnan(found)) return std::isnan(exact) == std::isnan(found) ? 0 : INFINITY;
  if (std::abs(exact) > static_cast<double>(std::numeric_limits<float>::max()) || std::isinf(found)) {
    // Rounding may end on either side of the largest float.
    const double limited = std::min(std::abs(exact), std::ldexp(1.0, 128));
    const double size = std::isinf(found) ? std::ldexp(1.0, 128) : std::abs(static_cast<double>(found));
    return std::abs(limited - size) / ulp_of(limited / 2);
  }
  return std::abs(static_cast<double>(found) - exact) / unit;
}

// Every so manieth float is tried; TESSERA_EXHAUSTIVE=1 in the environment tries all (minutes for each function).
std::uint32_t stride() {
  const char* all = std::getenv("TESSERA_EXHAUSTIVE");
  return all != nullptr && *all == '1' ? 1 : 2053;  // prime: all bits of the mantissa vary
}

struct Worst {
  double ulps = 0;
  float at = 0;
};

// The largest distance over floats of all exponents, for each set.
std::vector<Worst> worst_of(const Bound& bound, const std::vector<Isa>& isas) {
  std::vector<Worst> worst(isas.size());
  constexpr int kAtOnce = 64;
  float x[kAtOnce], y[kAtOnce];
  double exact[kAtOnce];
  const std::uint64_t step = stride();
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += kAtOnce * step) {
    for (std::uint64_t i = 0; i < kAtOnce; ++i) {
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits + i * step));
      exact[i] = bound.exact(static_cast<double>(x[i]));
    }
    for (std::size_t k = 0; k < isas.size(); ++k) {
      TSR_FOR_ISA(isas[k], values_of)(bound.function, x, y, kAtOnce);
      for (int i = 0; i < kAtOnce; ++i) {
        if (x[i] < bound.low || x[i] > bound.high) continue;
        const double unit = ulp_of(bound.of_argument ? static_cast<double>(x[i]) : exact[i]);
        const double off = distance_in_ulps(exact[i], y[i], unit);
        if (off > worst[k].ulps) worst[k] = {off, x[i]};
      }
    }
  }
  return worst;
}

class SimdMath : public testing::TestWithParam<Bound> {};

TEST_P(SimdMath, IsWithinItsBoundOverAllFloats) {
  const std::vector<Isa> isas = vector_isas();
  const std::vector<Worst> worst = worst_of(GetParam(), isas);
  for (std::size_t k = 0; k < isas.size(); ++k) {
    EXPECT_LE(worst[k].ulps, GetParam().ulps) << name(isas[k]) << " at " << worst[k].at;
    RecordProperty(std::string(name(isas[k])), std::to_string(worst[k].ulps));
  }
}

INSTANTIATE_TEST_SUITE_P(All, SimdMath, testing::ValuesIn(kBounds), [](const auto& test) { return test.param.name; });

TEST(SimdMathEnds, InfinitiesZerosAndSignsComeOutAsTheyShould) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Isa isa : vector_isas()) {
    const auto value = [&](Function function, float x) {
      float xs[16], ys[16];
      for (float& v : xs) v = x;
      TSR_FOR_ISA(isa, values_of)(function, xs, ys, 16);
      return ys[3];
    };
    EXPECT_EQ(value(Function::exp, kInfinity), kInfinity);
    EXPECT_EQ(value(Function::exp, -kInfinity), 0.0f);
    EXPECT_EQ(value(Function::exp, 0.0f), 1.0f);
    EXPECT_EQ(value(Function::expm1, -kInfinity), -1.0f);
    EXPECT_EQ(value(Function::log, 0.0f), -kInfinity);
    EXPECT_EQ(value(Function::log, kInfinity), kInfinity);
    EXPECT_EQ(value(Function::log, 1.0f), 0.0f);
    EXPECT_TRUE(std::isnan(value(Function::log, -1e-40f)));
    EXPECT_EQ(value(Function::tanh, -kInfinity), -1.0f);
    EXPECT_TRUE(std::signbit(value(Function::tanh, -0.0f)));
    EXPECT_EQ(value(Function::erf, kInfinity), 1.0f);
    EXPECT_TRUE(std::signbit(value(Function::erf, -0.0f)));
    EXPECT_EQ(value(Function::sigmoid, -kInfinity), 0.0f);
    EXPECT_EQ(value(Function::sigmoid, kInfinity), 1.0f);
    EXPECT_EQ(value(Function::softplus, kInfinity), kInfinity);
    EXPECT_TRUE(std::isnan(value(Function::silu, -kInfinity)));
  }
}

TEST(SimdMathEnds, GatesSaturateAndKeepNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Isa isa : vector_isas()) {
    SCOPED_TRACE(name(isa));
    const auto values = [&](Function function) {
      const float xs[16] = {kInfinity, -kInfinity, 1e30f, -1e30f, NAN, 0, 200, -200};
      std::vector<float> ys(16);
      TSR_FOR_ISA(isa, values_of)(function, xs, ys.data(), 16);
      return ys;
    };
    const std::vector<float> tanhs = values(Function::quick_tanh), sigmoids = values(Function::quick_sigmoid),
                             exps = values(Function::quick_exp), opens = values(Function::quick_sigmoid_exp2);
    for (const int i : {0, 2, 6}) {
      EXPECT_EQ(tanhs[i], 1);
      EXPECT_EQ(sigmoids[i], 1);
      EXPECT_GT(exps[i], 1e38f);
      EXPECT_LT(opens[i], 1e-37f);
    }
    for (const int i : {1, 3, 7}) {
      EXPECT_EQ(tanhs[i], -1);
      EXPECT_LT(sigmoids[i], 1e-37f);
      EXPECT_LT(exps[i], 1e-37f);
      EXPECT_EQ(opens[i], 1);
    }
    for (const std::vector<float>& all : {tanhs, sigmoids, exps, opens}) EXPECT_TRUE(std::isnan(all[4]));
    EXPECT_EQ(tanhs[5], 0);
    EXPECT_EQ(sigmoids[5], 0.5f);
    EXPECT_EQ(exps[5], 1);
    EXPECT_EQ(opens[5], 0.5f);
  }
}

// Against the definitions of core/float_bits.h.
TEST(SimdRounding, IsToTheNearestNumberOfSixteenBits) {
  constexpr std::uint32_t kStride = 4099;
  for (const Isa isa : vector_isas())
    for (std::uint64_t first = 0; first < (1ull << 32); first += 16ull * kStride) {
      float x[16], bf16[16], f16[16];
      for (std::uint32_t i = 0; i < 16; ++i) x[i] = float_from_bits(static_cast<std::uint32_t>(first + i * kStride));
      TSR_FOR_ISA(isa, values_of)(Function::rounded_to_bfloat16, x, bf16, 16);
      TSR_FOR_ISA(isa, values_of)(Function::rounded_to_float16, x, f16, 16);
      for (int i = 0; i < 16; ++i) {
        if (std::isnan(x[i])) {
          ASSERT_TRUE(std::isnan(bf16[i]) && std::isnan(f16[i])) << name(isa);
          continue;
        }
        ASSERT_EQ(float_bits(bf16[i]), float_bits(float_from_bfloat16(bfloat16_from_float_host(x[i])))) << name(isa);
        ASSERT_EQ(float_bits(f16[i]), float_bits(float_from_float16(float16_from_float(x[i])))) << name(isa) << x[i];
      }
    }
}

}  // namespace
}  // namespace tessera::simd
