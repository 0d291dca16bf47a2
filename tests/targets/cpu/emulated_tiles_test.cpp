#include "tessera/targets/cpu/kernels/dense/emulated_tiles.h"

#include "tessera/core/isa.h"
#include "tests/targets/cpu/amx_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tessera::cpu {
namespace {

using testing::HasSubstr;
using Halves = std::vector<std::uint16_t>;

// Three tiles of m x n sums, m x 2k and 2k x n halves.
TileConfig product(int m, int n, int k) {
  TileConfig config;
  config.rows[0] = config.rows[1] = static_cast<std::uint8_t>(m);
  config.rows[2] = static_cast<std::uint8_t>(k);
  config.row_bytes[0] = config.row_bytes[2] = static_cast<std::uint16_t>(4 * n);
  config.row_bytes[1] = static_cast<std::uint16_t>(4 * k);
  return config;
}

std::uint16_t half(float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); }

// c + a * b, each with rows of 64 bytes.
std::vector<float> emulated(const TileConfig& config, const Halves& a, const Halves& b, std::vector<float> c) {
  EmulatedTiles::configure(config);
  EmulatedTiles::load<0>(c.data(), 64);
  EmulatedTiles::load<1>(a.data(), 64);
  EmulatedTiles::load<2>(b.data(), 64);
  EmulatedTiles::dot<0, 1, 2>();
  EmulatedTiles::store<0>(c.data(), 64);
  EmulatedTiles::release();
  return c;
}

std::string fault(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EmulatedTiles::release();
    return error.what();
  }
  return "none";
}

TEST(EmulatedTiles, SumEvenAndOddElementsApart) {
  // 2^24 + 1 + 1: one after the other, each 1 would be rounded away.
  std::vector<float> c(16, 16777216.0f);
  const std::vector<float> got = emulated(product(1, 1, 1), Halves(32, half(1)), Halves(32, half(1)), c);
  EXPECT_EQ(got[0], 16777218.0f);
  EXPECT_EQ(got[1], 16777216.0f);  // not of the tile
}

TEST(EmulatedTiles, TakeSubnormalNumbersForZeros) {
  const float small = std::ldexp(1.0f, -130), large = std::ldexp(1.0f, 60);
  std::vector<float> c(16, 0.0f);
  EXPECT_EQ(emulated(product(1, 1, 1), Halves(32, half(small)), Halves(32, half(large)), c)[0], 0.0f);
  EXPECT_EQ(emulated(product(1, 1, 1), Halves(32, 0), Halves(32, 0), std::vector<float>(16, small))[0], 0.0f);
  const float half_way = std::ldexp(1.0f, -70);
  EXPECT_EQ(emulated(product(1, 1, 1), Halves(32, half(half_way)), Halves(32, half(half_way)), c)[0], 0.0f);
  // Zero times infinity is what it always was.
  EXPECT_TRUE(std::isnan(emulated(product(1, 1, 1), Halves(32, half(small)), Halves(32, half(INFINITY)), c)[0]));
}

TEST(EmulatedTiles, FaultWhereAmxWould) {
  EXPECT_THAT(fault([] { EmulatedTiles::zero<0>(); }), HasSubstr("tile 0 is used before tiles are configured"));
  TileConfig config = product(16, 16, 16);
  config.palette = 0;
  EXPECT_THAT(fault([&] { EmulatedTiles::configure(config); }), HasSubstr("palette 0 has no tiles"));
  EXPECT_THAT(fault([&] { EmulatedTiles::configure(product(17, 16, 16)); }),
              HasSubstr("tile 0 of 17 rows of 64 bytes"));
  EXPECT_THAT(fault([&] { EmulatedTiles::configure(product(16, 17, 16)); }),
              HasSubstr("tile 0 of 16 rows of 68 bytes"));
  config = product(16, 16, 16);
  config.rows[5] = 1;
  EXPECT_THAT(fault([&] { EmulatedTiles::configure(config); }), HasSubstr("tile 5 of 1 rows of 0 bytes"));
  config.rows[5] = 0, config.rows[8] = 1, config.row_bytes[8] = 4;
  EXPECT_THAT(fault([&] { EmulatedTiles::configure(config); }), HasSubstr("tile 8 of 1 rows of 4 bytes"));
  config.rows[8] = 0, config.row_bytes[8] = 0, config.reserved[3] = 7;
  EXPECT_THAT(fault([&] { EmulatedTiles::configure(config); }), HasSubstr("a reserved byte is 7"));
  const auto dot = [](auto change) {
    TileConfig wrong = product(8, 8, 8);
    change(wrong);
    return fault([&] {
      EmulatedTiles::configure(wrong);
      EmulatedTiles::dot<0, 1, 2>();
    });
  };
  EXPECT_EQ(dot([](TileConfig&) {}), "none");
  EXPECT_THAT(dot([](TileConfig& c) { c.rows[1] = 7; }), HasSubstr("8x32 bytes += 7x32 times 8x32"));
  EXPECT_THAT(dot([](TileConfig& c) { c.rows[2] = 9; }), HasSubstr("8x32 bytes += 8x32 times 9x32"));
  EXPECT_THAT(dot([](TileConfig& c) { c.row_bytes[2] = 28; }), HasSubstr("8x32 bytes += 8x32 times 8x28"));
  EXPECT_THAT(dot([](TileConfig& c) { c.row_bytes[1] = 30; }), HasSubstr("no whole elements"));
  EXPECT_THAT(dot([](TileConfig& c) { c.rows[2] = 0, c.row_bytes[2] = 0; }), HasSubstr("tile 2 is not configured"));
  EXPECT_THAT(fault([] {
                EmulatedTiles::configure(product(8, 8, 8));
                EmulatedTiles::dot<0, 1, 1>();
              }),
              HasSubstr("tiles 0, 1 and 1 are not three"));
}

TEST(EmulatedTiles, AreWhatAmxDoes) {
  if (host_isa() < Isa::amx) GTEST_SKIP() << "this machine has no AMX";
#if defined(__x86_64__)
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto extent = [&] { return 1 + static_cast<int>(random() % 16); };
    const TileConfig config = product(extent(), extent(), extent());
    Halves a(16 * 32), b(16 * 32);
    std::vector<float> c(16 * 16);
    std::normal_distribution<float> normal;
    // Every bit pattern in some rounds, NaN and subnormal ones too.
    for (std::uint16_t& x : a) x = round % 4 == 0 ? static_cast<std::uint16_t>(random()) : half(normal(random));
    for (std::uint16_t& x : b) x = round % 4 == 0 ? static_cast<std::uint16_t>(random()) : half(normal(random));
    for (float& x : c) x = normal(random);
    const std::vector<float> wanted = emulated(config, a, b, c);
    amx_product(config, a.data(), b.data(), c.data());
    for (std::size_t i = 0; i < c.size(); ++i)
      EXPECT_TRUE(std::bit_cast<std::uint32_t>(c[i]) == std::bit_cast<std::uint32_t>(wanted[i]) ||
                  (std::isnan(c[i]) && std::isnan(wanted[i])))
          << "round " << round << " element " << i << ": " << c[i] << " instead of " << wanted[i];
  }
#endif
}

}  // namespace
}  // namespace tessera::cpu
