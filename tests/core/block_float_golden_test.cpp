// What the real ttnn makes of 40 inputs in three dtypes, bytes and values, and of every code there is.

#include "golden_array.h"
#include "with_isa.h"

#include "tessera/core/block_float.h"
#include "tessera/core/tile_codec.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tessera {
namespace {

using for_tests::GoldenArray;
using for_tests::read_golden;

struct Group {
  const char* name;
  Tile tile;
};

constexpr Group kGroups[] = {{"s32x32", {32, 32}},    {"s64x96", {32, 32}},    {"s17x45", {32, 32}},
                             {"tile16x32", {16, 32}}, {"tile32x16", {32, 16}}, {"tile16x16", {16, 16}},
                             {"tile8x32", {8, 32}},   {"tile4x32", {4, 32}},   {"tile2x32", {2, 32}},
                             {"tile1x32", {1, 32}}};

struct Kind {
  const char* name;
  DType dtype;
};

constexpr Kind kKinds[] = {{"bf16", DType::bfloat16}, {"bfp8", DType::bfloat8_b}, {"bfp4", DType::bfloat4_b}};

class BlockFloatGolden : public for_tests::WithIsa {};

TEST_P(BlockFloatGolden, TilesAndValuesAreThoseOfTtnn) {
  int pairs = 0;
  for (const Group& group : kGroups) {
    const std::string stem = std::string("bfp/") + group.name;
    const GoldenArray<float> input = read_golden<float>(stem + ".input.npy", "<f4");
    const Extent2d extent{input.shape.at(1), input.shape.at(2)};
    for (const Kind& kind : kKinds) {
      const auto packed = read_golden<std::uint8_t>(stem + "." + kind.name + ".packed.npy", "|u1");
      const auto out = read_golden<float>(stem + "." + kind.name + ".out.npy", "<f4");
      ASSERT_EQ(tiled_bytes(extent, kind.dtype, group.tile), packed.slice_size()) << stem << " " << kind.name;
      for (std::int64_t c = 0; c < input.shape[0]; ++c, ++pairs) {
        std::vector<std::byte> tiles(static_cast<std::size_t>(packed.slice_size()), std::byte{0xA5});
        pack_tiles(input.slice(c), extent, kind.dtype, group.tile, Rounding::host, tiles.data());
        EXPECT_EQ(std::memcmp(tiles.data(), packed.slice(c), tiles.size()), 0)
            << stem << " " << kind.name << " case " << c;
        std::vector<float> y(static_cast<std::size_t>(extent.area()), -1.0f);
        unpack_tiles(tiles.data(), extent, kind.dtype, group.tile, y.data());
        EXPECT_EQ(std::memcmp(y.data(), out.slice(c), y.size() * sizeof(float)), 0)
            << stem << " " << kind.name << " case " << c;
      }
    }
  }
  EXPECT_EQ(pairs, 120);
}

// Through whole tiles, so that the kernels see every code under every exponent.
TEST_P(BlockFloatGolden, EveryCodeUnderEveryExponentDecodesAsInTtnn) {
  const Tile tile;
  for (const Kind& kind : {kKinds[1], kKinds[2]}) {
    const auto table = read_golden<std::uint32_t>(std::string("bfp/decode_") + kind.name + ".npy", "<u4");
    const int codes = static_cast<int>(table.shape.at(1));
    for (int exponent = 0; exponent < 256; ++exponent) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(tile_bytes(tile, kind.dtype)));
      std::memset(bytes.data(), exponent, 64);
      for (int i = 0; i < tile.elements(); ++i) {
        const auto code = static_cast<unsigned>(i % codes);
        if (kind.dtype == DType::bfloat8_b)
          bytes[static_cast<std::size_t>(64 + i)] = std::byte(code);
        else
          bytes[static_cast<std::size_t>(64 + i / 2)] |= std::byte(code << (i % 2 * 4));
      }
      std::vector<float> y(1024);
      unpack_tiles(bytes.data(), {32, 32}, kind.dtype, tile, y.data());
      for (int i = 0; i < tile.elements(); ++i) {
        const int face = i / 256, row = face / 2 * 16 + i % 256 / 16, column = face % 2 * 16 + i % 16;
        ASSERT_EQ(float_bits(y[static_cast<std::size_t>(row * 32 + column)]), table.slice(exponent)[i % codes])
            << kind.name << " exponent " << exponent << " code " << i % codes;
      }
    }
  }
}

TESSERA_FOR_EACH_ISA(BlockFloatGolden);

TEST(BlockFloatDefinition, DecodesEveryCodeAsTtnn) {
  for (const Kind& kind : {kKinds[1], kKinds[2]}) {
    const auto table = read_golden<std::uint32_t>(std::string("bfp/decode_") + kind.name + ".npy", "<u4");
    const int codes = static_cast<int>(table.shape.at(1));
    for (int exponent = 0; exponent < 256; ++exponent)
      for (int first = 0; first < codes; first += Block::kSize) {
        Block block{static_cast<std::uint8_t>(exponent), {}};
        for (int i = 0; i < Block::kSize; ++i)
          block.codes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(first + i);
        std::array<float, Block::kSize> y;
        decode_block(block, kind.dtype, y);
        for (int i = 0; i < Block::kSize; ++i)
          ASSERT_EQ(float_bits(y[static_cast<std::size_t>(i)]), table.slice(exponent)[first + i])
              << kind.name << " exponent " << exponent << " code " << first + i;
      }
  }
}

}  // namespace
}  // namespace tessera
