#include "tessera/core/narrow_element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr ElementType kFloats[] = {ElementType::float8_e5m2, ElementType::float8_e4m3, ElementType::float8_e5m2fnuz,
                                   ElementType::float8_e4m3fnuz, ElementType::float4_e2m1};

TEST(NarrowElement, EveryFloatIsWhatItsValueBecomes) {
  for (const ElementType type : kFloats)
    for (unsigned bits = 0; bits < (1u << element_bits(type)); ++bits) {
      const auto element = static_cast<std::uint8_t>(bits);
      const double value = narrow_value(type, element);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(narrow_value(type, narrow_element(type, value)))) << name(type) << " " << bits;
      else if (std::isinf(value))
        EXPECT_EQ(narrow_element(type, value, {.saturate = false}), element) << name(type) << " " << bits;
      else
        EXPECT_EQ(narrow_element(type, value), element) << name(type) << " " << bits;
    }
}

TEST(NarrowElement, RoundsToTheNearestAndTiesToEven) {
  for (const ElementType type : kFloats) {
    double before = 0;
    for (unsigned bits = 1;; ++bits) {
      const double value = narrow_value(type, static_cast<std::uint8_t>(bits));
      if (!(value > before) || std::isinf(value)) break;
      const double middle = (before + value) / 2;  // exact
      const auto low = static_cast<std::uint8_t>(bits - 1), high = static_cast<std::uint8_t>(bits);
      EXPECT_EQ(narrow_element(type, std::nextafter(middle, 0)), low) << name(type) << " " << bits;
      EXPECT_EQ(narrow_element(type, middle), bits % 2 == 0 ? high : low) << name(type) << " " << bits;
      EXPECT_EQ(narrow_element(type, std::nextafter(middle, kInfinity)), high) << name(type) << " " << bits;
      before = value;
    }
  }
}

TEST(NarrowElement, LargestNumbersAreThoseOfTheFormats) {
  const double largest[] = {57344, 448, 57344, 240, 6};
  for (std::size_t i = 0; i < std::size(kFloats); ++i) {
    EXPECT_EQ(narrow_value(kFloats[i], narrow_element(kFloats[i], kInfinity)), largest[i]) << name(kFloats[i]);
    EXPECT_EQ(narrow_value(kFloats[i], narrow_element(kFloats[i], -1e9)), -largest[i]) << name(kFloats[i]);
  }
  const auto beyond = [](ElementType type) {
    return narrow_value(type, narrow_element(type, 1e9, {.saturate = false}));
  };
  EXPECT_EQ(beyond(ElementType::float8_e5m2), kInfinity);
  EXPECT_TRUE(std::isnan(beyond(ElementType::float8_e4m3)));
  EXPECT_TRUE(std::isnan(beyond(ElementType::float8_e4m3fnuz)));
  EXPECT_EQ(beyond(ElementType::float4_e2m1), 6);
}

TEST(NarrowElement, PowersOfTwoRoundAsAsked) {
  const auto power = [](double value, PowerRounding rounding) {
    return narrow_value(ElementType::float8_e8m0, narrow_element(ElementType::float8_e8m0, value, {.power = rounding}));
  };
  EXPECT_EQ(power(5, PowerRounding::up), 8);
  EXPECT_EQ(power(5, PowerRounding::down), 4);
  EXPECT_EQ(power(5, PowerRounding::nearest), 4);
  EXPECT_EQ(power(6, PowerRounding::nearest), 8);
  EXPECT_EQ(power(3e38, PowerRounding::up), std::ldexp(1, 127));
  EXPECT_TRUE(std::isnan(power(kInfinity, PowerRounding::down)));
}

TEST(NarrowElement, IntegersSaturateOrKeepTheirLowBits) {
  EXPECT_EQ(narrow_value(ElementType::int4, narrow_element(ElementType::int4, 9.7)), 7);
  EXPECT_EQ(narrow_value(ElementType::int4, narrow_element(ElementType::int4, 9.7, {.saturate = false})), -7);
  EXPECT_EQ(narrow_value(ElementType::uint4, narrow_element(ElementType::uint4, -9, {.saturate = false})), 7);
  EXPECT_EQ(narrow_value(ElementType::int2, narrow_element(ElementType::int2, -5)), -2);
  EXPECT_EQ(narrow_value(ElementType::uint2, narrow_element(ElementType::uint2, 1e300, {.saturate = false})), 0);
  EXPECT_EQ(narrow_element(ElementType::uint2, std::nan("")), 0);
}

}  // namespace
}  // namespace tessera
