#include "tessera/core/tile_codec.h"

#include "adversarial.h"
#include "with_isa.h"

#include "tessera/core/block_float.h"
#include "tessera/core/error.h"
#include "tessera/core/internal/tile_kernels.h"
#include "tessera/core/parallel_for.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

namespace tessera {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Extent2d kExtents[] = {{1, 1}, {17, 45}, {33, 1}, {1, 31}, {32, 32}, {64, 96}, {70, 130}, {0, 5}, {5, 0}};
constexpr DType kFloats[] = {DType::float32, DType::bfloat16, DType::float16, DType::bfloat8_b, DType::bfloat4_b};
constexpr std::byte kCanary{0xA5};
constexpr std::size_t kMargin = 64;

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

// The place of every element in tiles, said in the plainest way: the index of its tile, face, row and column.
std::int64_t element_in_tiles(Extent2d extent, const Tile& tile, std::int64_t row, std::int64_t column) {
  const std::int64_t tiles_across = ceil_div(extent.width, tile.width);
  const std::int64_t tile_index = row / tile.height * tiles_across + column / tile.width;
  const std::int64_t r = row % tile.height, c = column % tile.width;
  const std::int64_t face = r / tile.face_height() * (tile.width / tile.face_width()) + c / tile.face_width();
  return tile_index * tile.elements() + face * tile.face_height() * tile.face_width() +
         r % tile.face_height() * tile.face_width() + c % tile.face_width();
}

// A matrix in tile order, zero-padded.
template <class T>
std::vector<T> in_tile_order(const std::vector<T>& x, Extent2d extent, const Tile& tile) {
  std::vector<T> tiles(size(padded_to_tiles(extent, tile).area()));
  for (std::int64_t r = 0; r < extent.height; ++r)
    for (std::int64_t c = 0; c < extent.width; ++c)
      tiles[size(element_in_tiles(extent, tile, r, c))] = x[size(r * extent.width + c)];
  return tiles;
}

// The definition of pack_tiles: blocks of 16 in tile order through encode_block, the rest one by one.
Bytes pack_plainly(const std::vector<float>& x, Extent2d extent, DType dtype, const Tile& tile, Rounding rounding) {
  const std::vector<float> tiles = in_tile_order(x, extent, tile);
  Bytes out;
  if (!is_block_float(dtype)) {
    for (float value : tiles) {
      const std::uint16_t half =
          dtype == DType::bfloat16 ? bfloat16_from_float(value, rounding) : float16_from_float(value);
      const auto* bytes = dtype == DType::float32 ? reinterpret_cast<const std::byte*>(&value)
                                                  : reinterpret_cast<const std::byte*>(&half);
      out.insert(out.end(), bytes, bytes + element_bytes(dtype));
    }
    return out;
  }
  for (std::size_t at = 0; at < tiles.size(); at += size(tile.elements())) {
    Bytes exponents, codes;
    for (std::size_t b = at; b < at + size(tile.elements()); b += Block::kSize) {
      const Block block = encode_block(std::span<const float, 16>(tiles.data() + b, 16), dtype, rounding);
      exponents.push_back(std::byte{block.exponent});
      for (std::size_t i = 0; i < block.codes.size(); i += dtype == DType::bfloat8_b ? 1 : 2)
        codes.push_back(dtype == DType::bfloat8_b ? std::byte{block.codes[i]}
                                                  : std::byte{block.codes[i]} | std::byte{block.codes[i + 1]} << 4);
    }
    exponents.resize(size(round_up(static_cast<std::int64_t>(exponents.size()), 16)));
    out.insert(out.end(), exponents.begin(), exponents.end());
    out.insert(out.end(), codes.begin(), codes.end());
  }
  return out;
}

bool same(const void* a, const void* b, std::size_t bytes) { return bytes == 0 || std::memcmp(a, b, bytes) == 0; }

class TileCodec : public for_tests::WithIsa {};

TEST_P(TileCodec, PacksEveryTypeTileShapeAndValueAsDefined) {
  std::uint32_t seed = 1;
  for (const Tile& tile : all_tiles())
    for (const Extent2d& extent : kExtents)
      for (for_tests::Values kind : for_tests::kAllValues) {
        const std::vector<float> x = for_tests::adversarial(kind, size(extent.area()), seed++);
        for (DType dtype : kFloats)
          for (Rounding rounding : {Rounding::host, Rounding::packer}) {
            const Bytes expected = pack_plainly(x, extent, dtype, tile, rounding);
            ASSERT_EQ(tiled_bytes(extent, dtype, tile), static_cast<std::int64_t>(expected.size()));
            Bytes out(expected.size() + 2 * kMargin, kCanary);  // an odd address, and nothing written around it
            pack_tiles(x.data(), extent, dtype, tile, rounding, out.data() + kMargin - 1);
            ASSERT_TRUE(same(out.data() + kMargin - 1, expected.data(), expected.size()))
                << name(dtype) << " " << tile.to_string() << " " << extent.height << "x" << extent.width << " values "
                << static_cast<int>(kind) << (rounding == Rounding::host ? " host" : " packer");
            for (std::size_t i = 0; i < kMargin - 1; ++i) ASSERT_EQ(out[i], kCanary);
            for (std::size_t i = kMargin - 1 + expected.size(); i < out.size(); ++i) ASSERT_EQ(out[i], kCanary);
          }
      }
}

TEST_P(TileCodec, UnpacksAnyBytesAsDefined) {
  std::uint32_t seed = 1;
  for (const Tile& tile : all_tiles())
    for (const Extent2d& extent : kExtents)
      for (DType dtype : kFloats) {
        Bytes in(size(tiled_bytes(extent, dtype, tile)));
        std::mt19937 random(seed++);
        for (std::byte& b : in) b = std::byte(random() & 0xFF);
        std::vector<float> y(size(extent.area()) + 2 * kMargin, 42.0f);
        unpack_tiles(in.data(), extent, dtype, tile, y.data() + kMargin);
        for (std::int64_t r = 0; r < extent.height; ++r)
          for (std::int64_t c = 0; c < extent.width; ++c) {
            const std::int64_t i = element_in_tiles(extent, tile, r, c);
            float expected = 0;
            if (dtype == DType::float32) {
              std::memcpy(&expected, in.data() + i * 4, 4);
            } else if (!is_block_float(dtype)) {
              std::uint16_t half = 0;
              std::memcpy(&half, in.data() + i * 2, 2);
              expected = dtype == DType::bfloat16 ? float_from_bfloat16(half) : float_from_float16(half);
            } else {
              const std::byte* at = in.data() + i / tile.elements() * tile_bytes(tile, dtype);
              const std::int64_t inside = i % tile.elements();
              Block block;
              block.exponent = std::to_integer<std::uint8_t>(at[inside / 16]);
              const std::byte* codes = at + exponent_section_bytes(tile);
              block.codes[0] =
                  dtype == DType::bfloat8_b
                      ? std::to_integer<std::uint8_t>(codes[inside])
                      : std::to_integer<std::uint8_t>((codes[inside / 2] >> (inside % 2 * 4)) & std::byte{15});
              std::array<float, 16> decoded;
              decode_block(block, dtype, decoded);
              expected = decoded[0];
            }
            ASSERT_EQ(float_bits(y[kMargin + size(r * extent.width + c)]), float_bits(expected))
                << name(dtype) << " " << tile.to_string() << " at " << r << "," << c;
          }
        for (std::size_t i = 0; i < kMargin; ++i) {
          ASSERT_EQ(y[i], 42.0f);
          ASSERT_EQ(y[y.size() - 1 - i], 42.0f);
        }
      }
}

template <class T>
void tilize_and_back() {
  for (const Tile& tile : all_tiles())
    for (const Extent2d& extent : kExtents) {
      std::vector<T> x(size(extent.area()));
      std::iota(x.begin(), x.end(), T{1});
      const std::vector<T> expected = in_tile_order(x, extent, tile);
      Bytes out(expected.size() * sizeof(T) + 2 * kMargin, kCanary);
      tilize(reinterpret_cast<const std::byte*>(x.data()), extent, sizeof(T), tile, out.data() + kMargin - 1);
      ASSERT_TRUE(same(out.data() + kMargin - 1, expected.data(), expected.size() * sizeof(T))) << tile.to_string();
      for (std::size_t i = 0; i < kMargin - 1; ++i) ASSERT_EQ(out[i], kCanary);
      for (std::size_t i = kMargin - 1 + expected.size() * sizeof(T); i < out.size(); ++i) ASSERT_EQ(out[i], kCanary);
      std::vector<T> y(x.size());
      untilize(out.data() + kMargin - 1, extent, sizeof(T), tile, reinterpret_cast<std::byte*>(y.data()));
      ASSERT_EQ(x, y) << tile.to_string();
    }
}

TEST_P(TileCodec, TilizesAndUntilizesElementsOfEverySize) {
  tilize_and_back<std::uint8_t>();
  tilize_and_back<std::uint16_t>();
  tilize_and_back<std::uint32_t>();
}

TEST_P(TileCodec, ManyThreadsWriteTheSameBytes) {
  const Extent2d extent{331, 517};
  const std::vector<float> x = for_tests::adversarial(for_tests::Values::normal, size(extent.area()), 5);
  for (DType dtype : kFloats) {
    Bytes one(size(tiled_bytes(extent, dtype, Tile{}))), many(one.size());
    set_max_threads(1);
    pack_tiles(x.data(), extent, dtype, Tile{}, Rounding::host, one.data());
    set_max_threads(5);
    pack_tiles(x.data(), extent, dtype, Tile{}, Rounding::host, many.data());
    EXPECT_EQ(one, many) << name(dtype);
    std::vector<float> y1(x.size()), y5(x.size());
    unpack_tiles(one.data(), extent, dtype, Tile{}, y5.data());
    set_max_threads(1);
    unpack_tiles(one.data(), extent, dtype, Tile{}, y1.data());
    EXPECT_EQ(std::memcmp(y1.data(), y5.data(), y1.size() * 4), 0) << name(dtype);
    set_max_threads(0);
  }
}

TESSERA_FOR_EACH_ISA(TileCodec);

// Straight at the kernels of the manifest: plain and streamed stores, every face height, against the portable kernel.
struct ManifestEntry {
  const char* operation;
  Isa needs;
  void (*kernel)(const TileRun&) noexcept;
};

constexpr ManifestEntry kManifest[] = {
#define K(operation, isa, description) {#operation, Isa::isa, isa::operation},
#include "tessera/core/tile_codec.def"
#undef K
};

struct Free {
  void operator()(unsigned char* at) const { std::free(at); }
};

TEST(TileKernels, StreamedStoresWriteWhatPlainOnesDo) {
  constexpr std::int64_t kTiles = 5, kRowBytes = kTiles * 32 * 4, kSize = 32 * kRowBytes;
  const auto allocate = [] {
    return std::unique_ptr<unsigned char[], Free>(static_cast<unsigned char*>(std::aligned_alloc(64, kSize)));
  };
  const auto src = allocate(), expected = allocate(), got = allocate();
  for (const ManifestEntry& entry : kManifest) {
    if (entry.needs > host_isa()) continue;
    const std::string operation = entry.operation;
    const auto portable = std::find_if(std::begin(kManifest), std::end(kManifest), [&](const ManifestEntry& other) {
      return operation == other.operation && other.needs == Isa::portable;
    });
    const bool to_tiles = operation.starts_with("pack") || operation.starts_with("tilize");
    const bool block8 = operation.find("bfp8") != std::string::npos,
               block4 = operation.find("bfp4") != std::string::npos;
    const int element = operation.ends_with("_2") ? 2 : operation.ends_with("_1") ? 1 : 4;
    const bool half = operation.find("16") != std::string::npos;
    TileRun run{};
    run.tiles = kTiles;
    run.matrix_step_bytes = 32 * element;
    run.exponent_bytes = block8 || block4 ? 64 : 0;
    run.tile_bytes = block8 ? 1088 : block4 ? 576 : half ? 2048 : 1024 * element;
    run.blocks = 64;
    run.face_blocks = 16;
    run.faces_across = 2;
    std::int64_t offsets[64];
    for (int b = 0; b < 64; ++b)
      offsets[b] = (b / 32 * 16 + b % 16) * kTiles * 32 * element + b % 32 / 16 * 16 * element;
    run.offsets = offsets;
    for (for_tests::Values kind : {for_tests::Values::normal, for_tests::Values::specials, for_tests::Values::tiny}) {
      const std::vector<float> x = for_tests::adversarial(kind, kSize / 4, 3);
      std::memcpy(src.get(), x.data(), kSize);
      std::memset(expected.get(), 0x5A, kSize);
      run.src = src.get();
      run.dst = expected.get();
      run.stream = false;
      portable->kernel(run);
      for (bool stream : {false, true}) {
        if (stream && !to_tiles && element == 1) continue;  // pieces of 32 bytes are never streamed
        std::memset(got.get(), 0x5A, kSize);
        run.dst = got.get();
        run.stream = stream;
        entry.kernel(run);
        EXPECT_EQ(std::memcmp(got.get(), expected.get(), kSize), 0)
            << operation << " " << name(entry.needs) << " stream " << stream;
      }
    }
  }
}

TEST(TileKernels, EveryOperationHasAPortableKernelAndTheBestOneIsChosen) {
  for (const TileKernelInfo& info : tile_kernels()) {
    EXPECT_FALSE(info.description.empty());
    set_active_isa(Isa::portable);
    EXPECT_EQ(chosen_tile_kernel(info.operation).needs, Isa::portable);
    for (Isa isa : usable_isas()) {
      set_active_isa(isa);
      EXPECT_LE(chosen_tile_kernel(info.operation).needs, isa);
    }
  }
  set_active_isa(std::nullopt);
  EXPECT_THROW(chosen_tile_kernel("pack_bfp2"), Error);
}

TEST(TileCodecErrors, SayWhatIsWrong) {
  float x[4] = {};
  std::byte out[8192];
  EXPECT_THROW(pack_tiles(x, {2, 2}, DType::uint8, Tile{}, Rounding::host, out), Error);
  EXPECT_THROW(pack_tiles(x, {2, 2}, DType::bfloat8_b, Tile{3, 32}, Rounding::host, out), Error);
  EXPECT_THROW(pack_tiles(x, {-1, 2}, DType::bfloat8_b, Tile{}, Rounding::host, out), Error);
  EXPECT_THROW(unpack_tiles(out, {2, 2}, DType::int32, Tile{}, x), Error);
  EXPECT_THROW(tilize(out, {2, 2}, 3, Tile{}, out), Error);
  EXPECT_THROW(untilize(out, {2, 2}, 8, Tile{}, out), Error);
  EXPECT_THROW(tiled_bytes({1LL << 40, 1LL << 40}, DType::float32, Tile{}), Error);
  EXPECT_THROW(tiled_bytes({std::numeric_limits<std::int64_t>::max(), 1}, DType::float32, Tile{}), Error);
  EXPECT_EQ(tiled_bytes({std::numeric_limits<std::int64_t>::max(), 0}, DType::float32, Tile{}), 0);
}

}  // namespace
}  // namespace tessera
