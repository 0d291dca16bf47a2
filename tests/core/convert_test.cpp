#include "tessera/core/convert.h"

#include "adversarial.h"
#include "with_isa.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>

namespace tessera {
namespace {

template <class To, class From>
std::vector<To> converted(const std::vector<From>& x, DType from, DType to, Rounding rounding = Rounding::host) {
  std::vector<To> y(x.size());
  convert(reinterpret_cast<const std::byte*>(x.data()), from, reinterpret_cast<std::byte*>(y.data()), to,
          static_cast<std::int64_t>(x.size()), rounding);
  return y;
}

class Convert : public for_tests::WithIsa {};

TEST_P(Convert, FloatsBecomeHalvesAsTheScalarsSay) {
  for (for_tests::Values kind : for_tests::kAllValues)
    for (std::size_t count : {0, 1, 7, 8, 15, 16, 17, 31, 33, 100'003}) {
      const std::vector<float> x = for_tests::adversarial(kind, count, 9);
      const auto host = converted<std::uint16_t>(x, DType::float32, DType::bfloat16, Rounding::host);
      const auto packer = converted<std::uint16_t>(x, DType::float32, DType::bfloat16, Rounding::packer);
      const auto half = converted<std::uint16_t>(x, DType::float32, DType::float16);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(host[i], bfloat16_from_float_host(x[i])) << float_bits(x[i]);
        ASSERT_EQ(packer[i], bfloat16_from_float_packer(x[i])) << float_bits(x[i]);
        ASSERT_EQ(half[i], float16_from_float(x[i])) << float_bits(x[i]);
      }
    }
}

TEST_P(Convert, EveryHalfBecomesTheFloatThatTheScalarsSay) {
  std::vector<std::uint16_t> all(0x10000);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  const auto from_bf16 = converted<float>(all, DType::bfloat16, DType::float32);
  const auto from_f16 = converted<float>(all, DType::float16, DType::float32);
  const auto crossed = converted<std::uint16_t>(all, DType::bfloat16, DType::float16);
  const auto back = converted<std::uint16_t>(all, DType::float16, DType::bfloat16, Rounding::packer);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(float_bits(from_bf16[i]), float_bits(float_from_bfloat16(all[i])));
    ASSERT_EQ(float_bits(from_f16[i]), float_bits(float_from_float16(all[i])));
    ASSERT_EQ(crossed[i], float16_from_float(float_from_bfloat16(all[i])));
    ASSERT_EQ(back[i], bfloat16_from_float_packer(float_from_float16(all[i])));
  }
}

TEST_P(Convert, WritesNothingPastTheEnd) {
  const std::vector<float> x(37, 1.0f);
  std::vector<std::uint16_t> y(38, 0xABCD);
  convert(reinterpret_cast<const std::byte*>(x.data()), DType::float32, reinterpret_cast<std::byte*>(y.data()),
          DType::float16, 37, Rounding::host);
  EXPECT_EQ(y[36], 0x3C00);
  EXPECT_EQ(y[37], 0xABCD);
}

TESSERA_FOR_EACH_ISA(Convert);

TEST(ConvertIntegers, FloatsAreTruncatedAndSaturated) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{0.9f, -0.9f, 1.5f, -1.5f, 255.9f, 256.0f, 3e9f, 5e9f, -3e9f, kInfinity, -kInfinity, kNan};
  EXPECT_EQ(converted<std::uint8_t>(x, DType::float32, DType::uint8),
            (std::vector<std::uint8_t>{0, 0, 1, 0, 255, 255, 255, 255, 0, 255, 0, 0}));
  EXPECT_EQ(converted<std::uint16_t>(x, DType::float32, DType::uint16),
            (std::vector<std::uint16_t>{0, 0, 1, 0, 255, 256, 65535, 65535, 0, 65535, 0, 0}));
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max(), kMin = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(converted<std::int32_t>(x, DType::float32, DType::int32),
            (std::vector<std::int32_t>{0, 0, 1, -1, 255, 256, kMax, kMax, kMin, kMax, kMin, 0}));
  EXPECT_EQ(converted<std::uint32_t>(x, DType::float32, DType::uint32),
            (std::vector<std::uint32_t>{0, 0, 1, 0, 255, 256, 3'000'000'000u, 0xFFFFFFFFu, 0, 0xFFFFFFFFu, 0, 0}));
}

TEST(ConvertIntegers, IntegersSaturateAmongThemselves) {
  const std::vector<std::int32_t> x{-1, 0, 255, 256, 70000, std::numeric_limits<std::int32_t>::min()};
  EXPECT_EQ(converted<std::uint8_t>(x, DType::int32, DType::uint8),
            (std::vector<std::uint8_t>{0, 0, 255, 255, 255, 0}));
  EXPECT_EQ(converted<std::uint32_t>(x, DType::int32, DType::uint32),
            (std::vector<std::uint32_t>{0, 0, 255, 256, 70000, 0}));
  const std::vector<std::uint32_t> u{0x80000000u, 5};
  EXPECT_EQ(converted<std::int32_t>(u, DType::uint32, DType::int32),
            (std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::max(), 5}));
}

TEST(ConvertIntegers, IntegersBecomeTheNearestFloats) {
  const std::vector<std::uint32_t> x{0, 1, 16777217, 0xFFFFFFFFu};
  EXPECT_EQ(converted<float>(x, DType::uint32, DType::float32), (std::vector<float>{0, 1, 16777216, 4294967296.0f}));
  EXPECT_EQ(converted<std::uint16_t>(x, DType::uint32, DType::float16),
            (std::vector<std::uint16_t>{0, 0x3C00, 0x7C00, 0x7C00}));
  const std::vector<std::uint8_t> tie{129};  // bfloat16 has 8 bits: exact
  EXPECT_EQ(converted<std::uint16_t>(tie, DType::uint8, DType::bfloat16), (std::vector<std::uint16_t>{0x4301}));
  const std::vector<std::uint16_t> odd{257};  // between 256 and 258
  EXPECT_EQ(converted<std::uint16_t>(odd, DType::uint16, DType::bfloat16, Rounding::host),
            (std::vector<std::uint16_t>{0x4380}));
  EXPECT_EQ(converted<std::uint16_t>(odd, DType::uint16, DType::bfloat16, Rounding::packer),
            (std::vector<std::uint16_t>{0x4381}));
}

TEST(ConvertAll, EveryPairOfTypesKeepsSmallIntegers) {
  const std::vector<std::uint8_t> small{0, 1, 2, 3, 100, 127, 128};
  for (DType from : all_dtypes())
    for (DType to : all_dtypes()) {
      if (is_block_float(from) || is_block_float(to)) continue;
      std::vector<std::byte> a(small.size() * 4), b(small.size() * 4);
      std::vector<std::uint8_t> back(small.size());
      const auto count = static_cast<std::int64_t>(small.size());
      convert(reinterpret_cast<const std::byte*>(small.data()), DType::uint8, a.data(), from, count, Rounding::host);
      convert(a.data(), from, b.data(), to, count, Rounding::host);
      convert(b.data(), to, reinterpret_cast<std::byte*>(back.data()), DType::uint8, count, Rounding::host);
      EXPECT_EQ(back, small) << name(from) << " to " << name(to);
    }
}

TEST(ConvertAll, TheSameTypeCopiesEveryBit) {
  const std::vector<float> x = for_tests::adversarial(for_tests::Values::bits, 1000, 4);
  const auto y = converted<float>(x, DType::float32, DType::float32);
  EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * 4), 0);
}

TEST(ConvertErrors, RefuseBlockFloatsAndNegativeCounts) {
  std::byte a[64] = {}, b[64] = {};
  EXPECT_THROW(convert(a, DType::float32, b, DType::bfloat8_b, 4, Rounding::host), Error);
  EXPECT_THROW(convert(a, DType::bfloat4_b, b, DType::float32, 4, Rounding::host), Error);
  EXPECT_THROW(convert(a, DType::float32, b, DType::uint8, -1, Rounding::host), Error);
}

}  // namespace
}  // namespace tessera
