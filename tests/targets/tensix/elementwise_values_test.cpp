#include "tessera/targets/tensix/ops/elementwise/elementwise_values.h"

#include "tests/targets/tensix/random_values.h"

#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::tensix {
namespace {

constexpr DType kBf16 = DType::bfloat16, kF32 = DType::float32;

float one(Binary::Kind kind, float a, float b, const ComputeConfig& compute, DType dtype = kBf16) {
  const float x[] = {a}, y[] = {b};
  return binary_values(kind, x, dtype, y, dtype, compute)[0];
}

TEST(ElementwiseValues, SumsOfBfloat16AreRoundedOnce) {
  const std::vector<float> a = random_values(500, 1, Kind::bfloat16), b = random_values(500, 2, Kind::bfloat16);
  const std::vector<float> y = binary_values(Binary::Kind::add, a, kBf16, b, kBf16, {});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], into_dst(a[i] + b[i], false)) << a[i] << " + " << b[i];
}

TEST(ElementwiseValues, ProductsOfTheVectorUnitAreRoundedOnce) {
  const std::vector<float> a = random_values(500, 1, Kind::bfloat16), b = random_values(500, 2, Kind::bfloat16);
  const std::vector<float> y = binary_values(Binary::Kind::mul, a, kBf16, b, kBf16, {});
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], float_from_bfloat16(bfloat16_from_float_host(a[i] * b[i]))) << a[i] << " * " << b[i];
}

TEST(ElementwiseValues, ProductsOfTheMatrixEngineLoseWhatTheirPhasesLeaveOut) {
  const auto product = [](float a, float b, const ComputeConfig& compute) {
    const float x[] = {a}, y[] = {b};
    return binary_values(Binary::Kind::mul, x, kBf16, y, kBf16, compute, {}, Multiplier::matrix_engine)[0];
  };
  const float all_ones = float_from_bits(0x3FFF'0000u);  // 1.1111111b
  const ComputeConfig wide{.fidelity = MathFidelity::hifi4, .fp32_dest_acc_en = true};
  EXPECT_EQ(product(all_ones, all_ones, wide), all_ones * all_ones);
  ComputeConfig low = wide;
  low.fidelity = MathFidelity::lofi;
  EXPECT_EQ(product(all_ones, all_ones, low), 1.9375f * 1.984375f);
  low.fidelity = MathFidelity::hifi2;
  EXPECT_EQ(product(all_ones, all_ones, low), all_ones * 1.984375f);
  EXPECT_EQ(product(all_ones, 1.0f, low), all_ones);
}

TEST(ElementwiseValues, TheVectorUnitKeepsFloat32) {
  const ComputeConfig wide{.fp32_dest_acc_en = true};
  const float fine = 1.0f + 0x1p-20f;
  EXPECT_EQ(one(Binary::Kind::add, fine, fine, wide, kF32), 2 * fine);
  EXPECT_EQ(one(Binary::Kind::add, fine, fine, wide, kBf16), 2.0f);
  EXPECT_EQ(one(Binary::Kind::div, 1.0f, 3.0f, wide, kF32), 1.0f / 3.0f);
  EXPECT_EQ(one(Binary::Kind::max, -1.0f, 3.0f, {}, kBf16), 3.0f);
}

TEST(ElementwiseValues, ActivationsFollowSums) {
  const std::vector<float> a{-3, 1}, b{1, 1};
  EXPECT_THAT(binary_values(Binary::Kind::add, a, kBf16, b, kBf16, {}, activation_from_name("relu")),
              testing::ElementsAre(0, 2));
  EXPECT_THAT(unary_values(activation_from_name("exp"), std::vector<float>{0.0f}, {}), testing::ElementsAre(1.0f));
}

TEST(ElementwiseValues, RefuseOperandsOfTwoLengths) {
  try {
    binary_values(Binary::Kind::add, std::vector<float>(2), kBf16, std::vector<float>(3), kBf16, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("operands of 2 and 3 elements"));
  }
}

TEST(ElementwiseValues, SoftmaxAddsUpToOneAsFarAsItsTypesAllow) {
  const std::int64_t rows = 5, columns = 77;
  const std::vector<float> x = random_values(rows * columns, 3, Kind::bfloat16);
  for (const bool float32 : {false, true}) {
    const ComputeConfig compute{.fidelity = MathFidelity::hifi4, .fp32_dest_acc_en = float32};
    const std::vector<float> y = softmax_values(x, rows, columns, compute);
    // Difference, exponential, sum, reciprocal, product: each half a step of its type at most, the difference's up to
    // 8 wide before the exponential; sums and products of float32 pass through 10 bits and fewer of SrcA.
    const double step = float32 ? 0x1p-9 : 0x1p-8, instructions = 2 * 4 * std::ceil(columns / 32.0);
    const double allowed = step * ((float32 ? 0.01 : 8) + 4 + instructions);
    for (std::int64_t r = 0; r < rows; ++r) {
      double sum = 0, most = -INFINITY;
      for (std::int64_t c = 0; c < columns; ++c)
        most = std::max<double>(most, x[static_cast<std::size_t>(r * columns + c)]);
      for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(x[static_cast<std::size_t>(r * columns + c)] - most);
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto i = static_cast<std::size_t>(r * columns + c);
        const double wanted = std::exp(x[i] - most) / sum;
        EXPECT_NEAR(y[i], wanted, allowed * wanted) << float32;
      }
    }
  }
  const std::vector<float> bad{1, NAN, 2, 1, INFINITY, 2};
  for (const float v : softmax_values(bad, 2, 3, {})) EXPECT_TRUE(std::isnan(v));
}

}  // namespace
}  // namespace tessera::tensix
