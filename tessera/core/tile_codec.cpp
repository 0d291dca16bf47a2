#include "tessera/core/tile_codec.h"

#include "tessera/core/error.h"
#include "tessera/core/internal/tile_kernels.h"
#include "tessera/core/parallel_for.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tessera {
namespace {

using Kernel = void (*)(const TileRun&) noexcept;

// tile_codec.def twice: what a kernel is called and what it is, at the same positions.
constexpr TileKernelInfo kInfos[] = {
#define K(operation, isa, description) {#operation "_" #isa, #operation, Isa::isa, description},
#include "tessera/core/tile_codec.def"
#undef K
};
constexpr Kernel kKernels[] = {
#define K(operation, isa, description) isa::operation,
#include "tessera/core/tile_codec.def"
#undef K
};

constexpr int kBlock = Tile::kMaxFace;
// Tiles per piece of parallel work, in bytes of the matrix: large enough to hide the cost of handing it out.
constexpr std::int64_t kGrainBytes = 256 << 10;
// From here on the caches cannot hold source and destination anyway, and stores that bypass them save reading the
// destination first.
constexpr std::int64_t kStreamBytes = 32 << 20;
constexpr std::int64_t kStreamAlignment = 64;

std::size_t chosen_index(std::string_view operation) {
  const Isa isa = active_isa();
  std::size_t found = std::size(kInfos);
  for (std::size_t i = 0; i < std::size(kInfos); ++i)
    if (kInfos[i].operation == operation && kInfos[i].needs <= isa) found = i;
  check(found < std::size(kInfos), Code::not_found, "no tile kernel is called '{}'", operation);
  return found;
}

// A matrix of rows and the tiles that cover it.
struct Job {
  Extent2d extent;
  Tile tile;
  int element_bytes;  // in the matrix
  std::int64_t tile_bytes;
  std::int64_t exponent_bytes;
  Kernel kernel;
};

using Offsets = std::array<std::int64_t, 64>;

Offsets block_offsets(const Tile& tile, std::int64_t row_bytes, int element_bytes) {
  Offsets offsets{};
  const int across = tile.width / kBlock;
  for (int b = 0; b < tile.elements() / kBlock; ++b) {
    const int face = b / tile.face_height();
    const int row = face / across * kBlock + b % tile.face_height(), column = face % across * kBlock;
    offsets[static_cast<std::size_t>(b)] = row * row_bytes + column * element_bytes;
  }
  return offsets;
}

TileRun make_run(const Job& job, const Offsets& offsets) {
  TileRun run{};
  run.offsets = offsets.data();
  run.matrix_step_bytes = std::int64_t{job.tile.width} * job.element_bytes;
  run.tile_bytes = job.tile_bytes;
  run.exponent_bytes = job.exponent_bytes;
  run.blocks = job.tile.elements() / kBlock;
  run.face_blocks = job.tile.face_height();
  run.faces_across = job.tile.width / kBlock;
  return run;
}

bool is_aligned(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % kStreamAlignment == 0; }

// Calls body(row of tiles, first tile, number of tiles) for pieces of rows of tiles, on many threads.
template <class Body>
void for_each_run(const Job& job, Body body) {
  const std::int64_t across = ceil_div(job.extent.width, job.tile.width),
                     down = ceil_div(job.extent.height, job.tile.height);
  if (across == 0 || down == 0) return;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainBytes / (job.tile.elements() * job.element_bytes));
  parallel_for(across * down, grain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t row = begin / across, column = begin % across;
      const std::int64_t count = std::min(end - begin, across - column);
      body(row, column, count);
      begin += count;
    }
  });
}

// How much of a tile at (row, column) lies inside the matrix.
Extent2d covered(const Job& job, std::int64_t row, std::int64_t column) {
  return {std::min<std::int64_t>(job.tile.height, job.extent.height - row * job.tile.height),
          std::min<std::int64_t>(job.tile.width, job.extent.width - column * job.tile.width)};
}

// Whole tiles in a run that starts at (row, column); the others need padding.
std::int64_t whole_tiles(const Job& job, std::int64_t row, std::int64_t column, std::int64_t count) {
  if (covered(job, row, column).height < job.tile.height) return 0;
  return std::clamp<std::int64_t>(job.extent.width / job.tile.width - column, 0, count);
}

// One tile as a matrix of its own, for the edges.
struct alignas(64) Scratch {
  std::array<unsigned char, 32 * 32 * 4> bytes;
};

void matrix_to_tiles(const Job& job, const unsigned char* x, unsigned char* out) {
  const std::int64_t row_bytes = job.extent.width * job.element_bytes,
                     scratch_row_bytes = std::int64_t{job.tile.width} * job.element_bytes;
  const std::int64_t across = ceil_div(job.extent.width, job.tile.width);
  const Offsets offsets = block_offsets(job.tile, row_bytes, job.element_bytes);
  const Offsets scratch_offsets = block_offsets(job.tile, scratch_row_bytes, job.element_bytes);
  const bool stream = row_bytes * job.extent.height >= kStreamBytes && is_aligned(out) &&
                      job.tile_bytes % kStreamAlignment == 0 && job.exponent_bytes % kStreamAlignment == 0;
  for_each_run(job, [&](std::int64_t row, std::int64_t column, std::int64_t count) {
    TileRun run = make_run(job, offsets);
    const unsigned char* corner = x + row * job.tile.height * row_bytes + column * run.matrix_step_bytes;
    unsigned char* tile = out + (row * across + column) * job.tile_bytes;
    const std::int64_t whole = whole_tiles(job, row, column, count);
    if (whole > 0) {
      run.src = corner;
      run.dst = tile;
      run.tiles = whole;
      run.stream = stream;
      job.kernel(run);
    }
    for (std::int64_t t = whole; t < count; ++t) {
      Scratch scratch{};
      const Extent2d part = covered(job, row, column + t);
      for (std::int64_t r = 0; r < part.height; ++r)
        std::memcpy(scratch.bytes.data() + r * scratch_row_bytes, corner + r * row_bytes + t * run.matrix_step_bytes,
                    static_cast<std::size_t>(part.width * job.element_bytes));
      TileRun edge = make_run(job, scratch_offsets);
      edge.src = scratch.bytes.data();
      edge.dst = tile + t * job.tile_bytes;
      edge.tiles = 1;
      job.kernel(edge);
    }
  });
}

void tiles_to_matrix(const Job& job, const unsigned char* in, unsigned char* y) {
  const std::int64_t row_bytes = job.extent.width * job.element_bytes,
                     scratch_row_bytes = std::int64_t{job.tile.width} * job.element_bytes;
  const std::int64_t across = ceil_div(job.extent.width, job.tile.width);
  const Offsets offsets = block_offsets(job.tile, row_bytes, job.element_bytes);
  const Offsets scratch_offsets = block_offsets(job.tile, scratch_row_bytes, job.element_bytes);
  const bool stream = row_bytes * job.extent.height >= kStreamBytes && is_aligned(y) &&
                      row_bytes % kStreamAlignment == 0 && scratch_row_bytes % kStreamAlignment == 0;
  for_each_run(job, [&](std::int64_t row, std::int64_t column, std::int64_t count) {
    TileRun run = make_run(job, offsets);
    unsigned char* corner = y + row * job.tile.height * row_bytes + column * run.matrix_step_bytes;
    const unsigned char* tile = in + (row * across + column) * job.tile_bytes;
    const std::int64_t whole = whole_tiles(job, row, column, count);
    if (whole > 0) {
      run.src = tile;
      run.dst = corner;
      run.tiles = whole;
      run.stream = stream;
      job.kernel(run);
    }
    for (std::int64_t t = whole; t < count; ++t) {
      Scratch scratch;
      TileRun edge = make_run(job, scratch_offsets);
      edge.src = tile + t * job.tile_bytes;
      edge.dst = scratch.bytes.data();
      edge.tiles = 1;
      job.kernel(edge);
      const Extent2d part = covered(job, row, column + t);
      for (std::int64_t r = 0; r < part.height; ++r)
        std::memcpy(corner + r * row_bytes + t * run.matrix_step_bytes, scratch.bytes.data() + r * scratch_row_bytes,
                    static_cast<std::size_t>(part.width * job.element_bytes));
    }
  });
}

// Bytes of `tiles` tiles, for tiles of tile_bytes.
std::int64_t covering_bytes(Extent2d extent, const Tile& tile, std::int64_t tile_bytes) {
  check_tile(tile);
  if (extent.height < 0 || extent.width < 0)
    fail(Code::invalid_argument, "a matrix of {} x {} elements does not exist", extent.height, extent.width);
  const auto tiles_along = [](std::int64_t length, int step) { return length / step + (length % step != 0 ? 1 : 0); };
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(tiles_along(extent.height, tile.height), tiles_along(extent.width, tile.width), &bytes) ||
      __builtin_mul_overflow(bytes, std::max<std::int64_t>(tile_bytes, std::int64_t{4} * tile.elements()), &bytes))
    fail(Code::invalid_argument, "a matrix of {} x {} elements has more bytes in tiles than 63 bits can count",
         extent.height, extent.width);
  return tiles_along(extent.height, tile.height) * tiles_along(extent.width, tile.width) * tile_bytes;
}

Job job_for(Extent2d extent, int matrix_element_bytes, DType dtype, const Tile& tile, std::string_view operation) {
  const std::int64_t bytes = tessera::tile_bytes(tile, dtype);
  covering_bytes(extent, tile, bytes);
  return {extent,
          tile,
          matrix_element_bytes,
          bytes,
          is_block_float(dtype) ? exponent_section_bytes(tile) : 0,
          kKernels[chosen_index(operation)]};
}

// An unsigned type with as many bytes, since tilize() does not care what elements mean.
DType dtype_of_size(int bytes) {
  check(bytes == 1 || bytes == 2 || bytes == 4, Code::invalid_argument,
        "elements of {} bytes cannot be put in tiles, only 1, 2 or 4", bytes);
  return bytes == 1 ? DType::uint8 : bytes == 2 ? DType::uint16 : DType::uint32;
}

std::string_view pack_operation(DType dtype, Rounding rounding) {
  const bool host = rounding == Rounding::host;
  switch (dtype) {
    case DType::float32: return "tilize_4";
    case DType::bfloat16: return host ? "pack_bf16_host" : "pack_bf16_packer";
    case DType::float16: return "pack_f16";
    case DType::bfloat8_b: return host ? "pack_bfp8_host" : "pack_bfp8_packer";
    case DType::bfloat4_b: return host ? "pack_bfp4_host" : "pack_bfp4_packer";
    default: break;
  }
  fail(Code::invalid_argument, Hint{"convert() to an integer type first, then tilize()"},
       "float32 values cannot be packed as {}", name(dtype));
}

std::string_view unpack_operation(DType dtype) {
  switch (dtype) {
    case DType::float32: return "untilize_4";
    case DType::bfloat16: return "unpack_bf16";
    case DType::float16: return "unpack_f16";
    case DType::bfloat8_b: return "unpack_bfp8";
    case DType::bfloat4_b: return "unpack_bfp4";
    default: break;
  }
  fail(Code::invalid_argument, Hint{"untilize() first, then convert()"}, "{} cannot be unpacked to float32 values",
       name(dtype));
}

const unsigned char* bytes_of(const void* at) { return static_cast<const unsigned char*>(at); }
unsigned char* bytes_of(void* at) { return static_cast<unsigned char*>(at); }

}  // namespace

std::int64_t tiled_bytes(Extent2d extent, DType dtype, const Tile& tile) {
  return covering_bytes(extent, tile, tile_bytes(tile, dtype));
}

void pack_tiles(const float* x, Extent2d extent, DType dtype, const Tile& tile, Rounding rounding, std::byte* out) {
  matrix_to_tiles(job_for(extent, 4, dtype, tile, pack_operation(dtype, rounding)), bytes_of(x), bytes_of(out));
}

void unpack_tiles(const std::byte* in, Extent2d extent, DType dtype, const Tile& tile, float* y) {
  tiles_to_matrix(job_for(extent, 4, dtype, tile, unpack_operation(dtype)), bytes_of(in), bytes_of(y));
}

void tilize(const std::byte* x, Extent2d extent, int element_bytes, const Tile& tile, std::byte* out) {
  const DType dtype = dtype_of_size(element_bytes);
  constexpr std::string_view kNames[] = {"", "tilize_1", "tilize_2", "", "tilize_4"};
  matrix_to_tiles(job_for(extent, element_bytes, dtype, tile, kNames[element_bytes]), bytes_of(x), bytes_of(out));
}

void untilize(const std::byte* in, Extent2d extent, int element_bytes, const Tile& tile, std::byte* y) {
  const DType dtype = dtype_of_size(element_bytes);
  constexpr std::string_view kNames[] = {"", "untilize_1", "untilize_2", "", "untilize_4"};
  tiles_to_matrix(job_for(extent, element_bytes, dtype, tile, kNames[element_bytes]), bytes_of(in), bytes_of(y));
}

std::span<const TileKernelInfo> tile_kernels() { return kInfos; }

const TileKernelInfo& chosen_tile_kernel(std::string_view operation) { return kInfos[chosen_index(operation)]; }

}  // namespace tessera
