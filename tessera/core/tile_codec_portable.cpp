// The tile kernels in plain C++, block by block, on top of the scalar definitions.

#include "tessera/core/block_float.h"
#include "tessera/core/internal/tile_kernels.h"

#include <cstring>

namespace tessera::portable {
namespace {

using Floats = std::array<float, Block::kSize>;
using Halves = std::array<std::uint16_t, Block::kSize>;

// body(block in the matrix, tile in memory, index of the block in its tile)
template <class Body>
void pack_blocks(const TileRun& run, Body body) {
  for (std::int64_t t = 0; t < run.tiles; ++t)
    for (int b = 0; b < run.blocks; ++b)
      body(run.src + t * run.matrix_step_bytes + run.offsets[b], run.dst + t * run.tile_bytes, b);
}

template <class Body>
void unpack_blocks(const TileRun& run, Body body) {
  for (std::int64_t t = 0; t < run.tiles; ++t)
    for (int b = 0; b < run.blocks; ++b)
      body(run.src + t * run.tile_bytes, b, run.dst + t * run.matrix_step_bytes + run.offsets[b]);
}

template <class T>
T load(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <DType dtype, Rounding rounding>
void pack_block_float(const TileRun& run) {
  constexpr int kCodeBytes = dtype == DType::bfloat8_b ? 16 : 8;
  for (std::int64_t t = 0; t < run.tiles; ++t)
    std::memset(run.dst + t * run.tile_bytes, 0, static_cast<std::size_t>(run.exponent_bytes));
  pack_blocks(run, [&](const unsigned char* x, unsigned char* tile, int b) {
    const Block block = encode_block(load<Floats>(x), dtype, rounding);
    tile[b] = block.exponent;
    unsigned char* codes = tile + run.exponent_bytes + b * kCodeBytes;
    for (int i = 0; i < kCodeBytes; ++i) {
      const auto at = static_cast<std::size_t>(i);
      codes[i] = dtype == DType::bfloat8_b
                     ? block.codes[at]
                     : static_cast<unsigned char>(block.codes[2 * at] | (block.codes[2 * at + 1] << 4));
    }
  });
}

template <DType dtype>
void unpack_block_float(const TileRun& run) {
  constexpr int kCodeBytes = dtype == DType::bfloat8_b ? 16 : 8;
  unpack_blocks(run, [&](const unsigned char* tile, int b, unsigned char* y) {
    const unsigned char* codes = tile + run.exponent_bytes + b * kCodeBytes;
    Block block;
    block.exponent = tile[b];
    for (std::size_t i = 0; i < block.codes.size(); ++i)
      block.codes[i] =
          dtype == DType::bfloat8_b ? codes[i] : static_cast<std::uint8_t>((codes[i / 2] >> (i % 2 * 4)) & 15);
    Floats values;
    decode_block(block, dtype, values);
    std::memcpy(y, values.data(), sizeof values);
  });
}

template <std::uint16_t (*encode)(float)>
void pack_half(const TileRun& run) {
  pack_blocks(run, [](const unsigned char* x, unsigned char* tile, int b) {
    const Floats values = load<Floats>(x);
    Halves halves;
    for (std::size_t i = 0; i < values.size(); ++i) halves[i] = encode(values[i]);
    std::memcpy(tile + b * sizeof halves, halves.data(), sizeof halves);
  });
}

template <float (*decode)(std::uint16_t)>
void unpack_half(const TileRun& run) {
  unpack_blocks(run, [](const unsigned char* tile, int b, unsigned char* y) {
    const Halves halves = load<Halves>(tile + b * sizeof(Halves));
    Floats values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = decode(halves[i]);
    std::memcpy(y, values.data(), sizeof values);
  });
}

template <int element_bytes>
void to_tiles(const TileRun& run) {
  constexpr int kBytes = element_bytes * Block::kSize;
  pack_blocks(run,
              [](const unsigned char* x, unsigned char* tile, int b) { std::memcpy(tile + b * kBytes, x, kBytes); });
}

template <int element_bytes>
void from_tiles(const TileRun& run) {
  constexpr int kBytes = element_bytes * Block::kSize;
  unpack_blocks(run,
                [](const unsigned char* tile, int b, unsigned char* y) { std::memcpy(y, tile + b * kBytes, kBytes); });
}

}  // namespace

void pack_bfp8_host(const TileRun& run) noexcept { pack_block_float<DType::bfloat8_b, Rounding::host>(run); }
void pack_bfp8_packer(const TileRun& run) noexcept { pack_block_float<DType::bfloat8_b, Rounding::packer>(run); }
void pack_bfp4_host(const TileRun& run) noexcept { pack_block_float<DType::bfloat4_b, Rounding::host>(run); }
void pack_bfp4_packer(const TileRun& run) noexcept { pack_block_float<DType::bfloat4_b, Rounding::packer>(run); }
void pack_bf16_host(const TileRun& run) noexcept { pack_half<bfloat16_from_float_host>(run); }
void pack_bf16_packer(const TileRun& run) noexcept { pack_half<bfloat16_from_float_packer>(run); }
void pack_f16(const TileRun& run) noexcept { pack_half<float16_from_float>(run); }
void unpack_bfp8(const TileRun& run) noexcept { unpack_block_float<DType::bfloat8_b>(run); }
void unpack_bfp4(const TileRun& run) noexcept { unpack_block_float<DType::bfloat4_b>(run); }
void unpack_bf16(const TileRun& run) noexcept { unpack_half<float_from_bfloat16>(run); }
void unpack_f16(const TileRun& run) noexcept { unpack_half<float_from_float16>(run); }
void tilize_4(const TileRun& run) noexcept { to_tiles<4>(run); }
void tilize_2(const TileRun& run) noexcept { to_tiles<2>(run); }
void tilize_1(const TileRun& run) noexcept { to_tiles<1>(run); }
void untilize_4(const TileRun& run) noexcept { from_tiles<4>(run); }
void untilize_2(const TileRun& run) noexcept { from_tiles<2>(run); }
void untilize_1(const TileRun& run) noexcept { from_tiles<1>(run); }

}  // namespace tessera::portable
