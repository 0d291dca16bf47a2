#include "tessera/core/tile.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Tile, BytesOfA32x32TileAreThoseOfTheCard) {
  const Tile t;
  EXPECT_EQ(tile_bytes(t, DType::float32), 4096);
  EXPECT_EQ(tile_bytes(t, DType::bfloat16), 2048);
  EXPECT_EQ(tile_bytes(t, DType::bfloat8_b), 1088);
  EXPECT_EQ(tile_bytes(t, DType::bfloat4_b), 576);
  EXPECT_EQ(tile_bytes(t, DType::uint8), 1024);
}

TEST(Tile, SmallTilesPadTheirExponentsTo16Bytes) {
  EXPECT_EQ(tile_bytes({4, 32}, DType::bfloat8_b), 144);
  EXPECT_EQ(tile_bytes({2, 32}, DType::bfloat8_b), 80);
  EXPECT_EQ(tile_bytes({1, 32}, DType::bfloat8_b), 48);
  EXPECT_EQ(tile_bytes({16, 16}, DType::bfloat4_b), 144);
}

TEST(Tile, RefusesSizesThatDoNotExist) {
  for (const Tile& t : all_tiles()) EXPECT_NO_THROW(check_tile(t));
  EXPECT_THROW(check_tile({32, 8}), Error);
  EXPECT_THROW(check_tile({3, 32}), Error);
  EXPECT_THROW(check_tile({0, 0}), Error);
}

}  // namespace
}  // namespace tessera
