#include "tessera/graph/ops/cast.h"

#include "math_testing.h"

#include <limits>

namespace tessera {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Array cast(const Array& x, ElementType to) { return first_of(Cast{.to = to}, {x}); }

TEST(Cast, CutsFloatsTowardsZeroAndStopsAtTheBounds) {
  const Array x = floats({7}, {1.9f, -1.9f, 300, -300, kInf, -kInf, kNan});
  expect_values<std::int8_t>(cast(x, ElementType::int8), {7}, {1, -1, 127, -128, 127, -128, 0});
  expect_values<std::uint8_t>(cast(x, ElementType::uint8), {7}, {1, 0, 255, 0, 255, 0, 0});
  const auto low = std::numeric_limits<std::int64_t>::lowest(), high = std::numeric_limits<std::int64_t>::max();
  expect_values<std::int64_t>(cast(x, ElementType::int64), {7}, {1, -1, 300, -300, high, low, 0});
}

TEST(Cast, KeepsTheLowBitsOfIntegers) {
  expect_values<std::int8_t>(cast(array_of<std::int16_t>({2}, {200, -200}), ElementType::int8), {2}, {-56, 56});
  expect_values<std::uint64_t>(cast(array_of<std::int32_t>({1}, {-1}), ElementType::uint64), {1}, {~0ULL});
}

TEST(Cast, TakesEverythingButZeroAsTrue) {
  EXPECT_EQ(cast(floats({4}, {0, -0.0f, 0.25f, kNan}), ElementType::boolean).to_double(),
            (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(cast(array_of<std::int32_t>({2}, {0, 256}), ElementType::boolean).to_double(), (std::vector<double>{0, 1}));
  expect_values<float>(cast(array_of<bool>({2}, {true, false}), ElementType::float32), {2}, {1, 0});
}

TEST(Cast, RoundsOnce) {
  // A hair above the middle of two float16 (2049 lies between 2048 and 2050): float32 alone would lose the hair.
  const Array x = array_of<double>({3}, {2049.0 + 1e-9, 2049.0, 1e30});
  const Array y = cast(x, ElementType::float16);
  expect_values<Float16>(y, {3}, {Float16(2050.0f), Float16(2048.0f), Float16(kInf)});
  const Array z = cast(array_of<double>({1}, {1.00390625 + 1e-12}), ElementType::bfloat16);
  EXPECT_EQ(z.as<BFloat16>()[0].bits, 0x3F81);
  // A hair above the middle of two float32, which double cannot hold: by way of double the tie would go down, to even.
  expect_values<float>(
      cast(array_of<std::int64_t>({1}, {(std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1}), ElementType::float32),
      {1}, {1152921642045800448.0f});
}

TEST(Cast, LeavesTheSameTypeAlone) {
  const Array x = floats({2}, {kNan, 1});
  expect_values<float>(cast(x, ElementType::float32), {2}, {kNan, 1});
}

TEST(Cast, SeesTheSameBitsAsAnotherType) {
  const auto seen = [](const Array& x, ElementType to) { return first_of(Cast{.to = to, .bits = true}, {x}); };
  expect_values<std::int32_t>(seen(floats({2}, {1, -0.0f}), ElementType::int32), {2}, {0x3F800000, INT32_MIN});
  expect_values<float>(seen(array_of<std::int32_t>({1}, {0x40400000}), ElementType::float32), {1}, {3});
  EXPECT_NE(refusal_of(Cast{.to = ElementType::int64, .bits = true}, {{ElementType::float32, Shape{1}}}), "");
  EXPECT_NE(refusal_of(Cast{.to = ElementType::boolean, .bits = true}, {{ElementType::uint8, Shape{1}}}), "");
}

TEST(Cast, RoundsToNarrowFloatsOnce) {
  const Array x = floats({5}, {0.48f, 1e6f, -1e6f, kNan, -0.0f});
  const Array y = cast(x, ElementType::float8_e4m3);
  expect_values<float>(cast(y, ElementType::float32), {5}, {0.46875f, 448, -448, kNan, -0.0f});
  const Array beyond = first_of(Cast{.to = ElementType::float8_e5m2, .saturate = false}, {x});
  expect_values<float>(cast(beyond, ElementType::float32), {5}, {0.5f, kInf, -kInf, kNan, -0.0f});
}

TEST(Cast, KeepsTheLowBitsOfNarrowIntegers) {
  const Array x = array_of<std::int64_t>({4}, {7, 8, -9, std::int64_t{1} << 60});
  expect_values<std::int8_t>(cast(cast(x, ElementType::int4), ElementType::int8), {4}, {7, -8, 7, 0});
  expect_values<std::uint8_t>(cast(cast(x, ElementType::uint2), ElementType::uint8), {4}, {3, 0, 3, 0});
}

}  // namespace
}  // namespace tessera
