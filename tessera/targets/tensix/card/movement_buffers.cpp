#include "tessera/targets/tensix/card/movement_buffers.h"

#include "tessera/core/tile.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kL1PageAlignment = 16;
constexpr std::int64_t kWideRow = 32;            // tiles; wider rows are cut into blocks
constexpr std::int64_t kSliceBytes = 4096;       // that a slice reads before it waits
constexpr std::int64_t kSliceRows = 32;          // a core's share is rounded up so far
constexpr std::int64_t kTwoColumns = 640 << 10;  // bytes; longer columns are not doubled
constexpr std::int64_t kHalfTile = 16;           // elements; tensors that wide have a way of their own
constexpr std::int64_t kHalfTileBuffers = 16;    // tiles
constexpr std::int64_t kPieceBytes = 16;         // that say where a row of a face comes from
constexpr std::int64_t kPieces = 16;             // in a group

std::int64_t cores_of(const TensixSpec& card) { return std::int64_t{card.grid_x} * card.grid_y; }
std::int64_t bytes_of_tile(const TensorSpec& x) { return tile_bytes(x.tile(), x.dtype()); }
bool in_shards(const TensorSpec& x) { return x.memory_config().is_sharded(); }
bool is_tiled(const TensorSpec& x) { return x.layout() == Layout::tile; }

Extent2d tiles_of(const TensorSpec& x) {
  const Extent2d matrix = x.logical_shape().as_2d();
  const Tile tile;
  // Every image of a batch begins in a tile of its own.
  const std::int64_t rows = x.logical_shape().rank() < 2 ? 1 : x.logical_shape()[-2];
  return {matrix.height / std::max<std::int64_t>(1, rows) * ceil_div(rows, tile.height),
          ceil_div(matrix.width, tile.width)};
}

std::int64_t alignment_of(const TensorSpec& x, const TensixSpec& card) {
  return x.memory_config().is_dram() ? card.dram_alignment_bytes : kL1PageAlignment;
}
std::int64_t aligned_page(const TensorSpec& x, const TensixSpec& card) {
  return round_up(x.page_bytes(), alignment_of(x, card));
}

std::vector<CircularBuffer> on_cores(std::int64_t count, const TensixSpec& card,
                                     std::initializer_list<std::int64_t> bytes) {
  const std::int64_t cores = std::clamp<std::int64_t>(count, 1, cores_of(card));
  const CoreRangeSet set = num_cores_to_corerangeset({0, 0}, cores, CoreGrid{card.grid_y, card.grid_x}, false);
  std::vector<CircularBuffer> out;
  for (const std::int64_t each : bytes)
    if (each > 0) out.push_back({out.empty() ? "in" : "out", set, each});
  return out;
}

struct Share {
  std::int64_t columns = 0;  // tiles of a row that a core has at once
  std::int64_t cores = 0;
};

// Rows of tiles over the cores. Wide ones are cut into square blocks, the smallest that leave a core idle, if more
// cores work then.
Share row_share(const Extent2d& tiles, std::int64_t cores) {
  const std::int64_t by_rows = ceil_div(tiles.height, ceil_div(tiles.height, cores));
  if (tiles.width > kWideRow && (tiles.height > kWideRow || tiles.width > tiles.height)) {
    std::int64_t side = 1;
    const auto blocks = [&] { return ceil_div(tiles.height, side) * ceil_div(tiles.width, side); };
    while (blocks() >= cores) ++side;
    if (blocks() > by_rows) return {side, blocks()};
  }
  return {tiles.width, by_rows};
}

// Whole tiles without padding: equal pieces of rows, as many as there are cores for.
Share equal_share(const Extent2d& tiles, std::int64_t cores) {
  if (tiles.height == 1) {
    const std::int64_t used = std::min(tiles.width, cores);
    return {ceil_div(tiles.width, used), used};
  }
  std::int64_t pieces = 1;
  for (std::int64_t k = 2; k <= tiles.width && k * tiles.height <= cores; ++k)
    if (tiles.width % k == 0) pieces = k;
  return {tiles.width / pieces, std::min(tiles.height * pieces, cores)};
}

}  // namespace

std::vector<CircularBuffer> tilize_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card) {
  const bool blocks = x.memory_config().layout() == TensorMemoryLayout::block_sharded;
  const bool fills_up = y.padded_shape().as_2d().height != x.padded_shape().as_2d().height;
  if ((in_shards(x) && in_shards(y) && !(blocks && fills_up)) || x.logical_shape().volume() == 0) return {};
  const Share share = row_share(tiles_of(x), cores_of(card));
  return on_cores(share.cores, card,
                  {share.columns * tile_bytes(y.tile(), x.dtype()), share.columns * bytes_of_tile(y)});
}

std::vector<CircularBuffer> untilize_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card) {
  if (x.logical_shape().volume() == 0) return {};
  const bool padded = x.padded_shape() != x.logical_shape();
  const std::int64_t out = tile_bytes(x.tile(), y.dtype());
  if (in_shards(x)) {
    if (!padded) return {};
    const std::optional<ShardSpec>& shards = x.memory_config().shard_spec();
    if (!shards) return {};
    const std::int64_t tiles = shards->shape.area() / (x.tile().height * x.tile().width);
    const bool half =
        x.logical_shape()[-1] == kHalfTile && x.memory_config().layout() == TensorMemoryLayout::height_sharded;
    return {{"out", shards->grid, (half ? kHalfTileBuffers : 2 * tiles) * out}};
  }
  const Share share = padded ? row_share(tiles_of(x), cores_of(card)) : equal_share(tiles_of(x), cores_of(card));
  const std::int64_t columns = padded ? share.columns : 2 * share.columns;
  return on_cores(share.cores, card, {columns * bytes_of_tile(x), columns * out});
}

MemoryConfig untilized_place(const TensorSpec& x) {
  const MemoryConfig& from = x.memory_config();
  if (!from.shard_spec() || x.padded_shape() == x.logical_shape()) return from;
  ShardSpec shards = *from.shard_spec();
  const Extent2d matrix = x.logical_shape().as_2d();
  if (from.layout() == TensorMemoryLayout::height_sharded)
    shards.shape = {round_up(ceil_div(matrix.height, shards.num_cores()), x.tile().height), matrix.width};
  else if (from.layout() == TensorMemoryLayout::width_sharded)
    shards.shape.height = matrix.height;
  else
    return from;
  return MemoryConfig(from.layout(), from.buffer_type(), shards);
}

std::vector<CircularBuffer> move_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card) {
  const bool from_dram = in_shards(x) && x.memory_config().is_dram() && y.memory_config().is_l1() && !is_tiled(x);
  const auto copied = [&] { return on_cores(y.num_pages(), card, {2 * aligned_page(y, card)}); };
  if (in_shards(x) != in_shards(y)) {
    // Rows that L1 cannot hand out one by one go by pages.
    const TensorSpec& shards = in_shards(x) ? x : y;
    if (is_tiled(shards) || shards.page_bytes() % kL1PageAlignment == 0) return {};
    return copied();
  }
  if (in_shards(x) && !from_dram) return {};
  if (!in_shards(x)) return copied();
  if (!x.memory_config().shard_spec() || !y.memory_config().shard_spec()) return {};
  const std::int64_t rows = x.memory_config().shard_spec()->shape.height, alignment = card.dram_alignment_bytes;
  // To blocks and columns whole sticks go, others go by pages.
  if (y.memory_config().layout() != TensorMemoryLayout::height_sharded)
    return x.page_bytes() == y.page_bytes() && x.page_bytes() % alignment == 0 ? std::vector<CircularBuffer>{}
                                                                               : copied();
  // Sticks that DRAM cannot hand out one by one come by shards, into L1, if that is large enough.
  if (x.page_bytes() % alignment != 0 && rows * round_up(x.page_bytes(), alignment) > card.l1_bytes) return copied();
  if (y.page_bytes() % alignment == 0) return {};
  return {{"shard", y.memory_config().shard_spec()->grid, 2 * rows * round_up(y.page_bytes(), alignment)}};
}

std::vector<CircularBuffer> concat_buffers(std::span<const TensorSpec> parts, const TensorSpec& y,
                                           const TensixSpec& card) {
  if (in_shards(y)) {
    // Two tensors of tiles are joined as rows of bfloat16, a row of tiles at a time.
    const std::optional<ShardSpec>& shards = y.memory_config().shard_spec();
    if (!is_tiled(y) || parts.size() != 2 || !shards || !in_shards(parts[0])) return {};
    const std::int64_t columns = shards->shape.width / y.tile().width, rows = tile_bytes(y.tile(), DType::bfloat16);
    return {{"parts", shards->grid, columns * rows},
            {"joined", shards->grid, columns * rows},
            {"out", shards->grid, columns * bytes_of_tile(y)}};
  }
  // Rows that memory cannot hand out one by one are transposed, and joined as columns; so are whole tiles whose rows
  // would be of such a length.
  const auto row_bytes = [](const TensorSpec& t) {
    return is_tiled(t) ? t.logical_shape()[-1] * (is_block_float(t.dtype()) ? 1 : element_bytes(t.dtype()))
                       : t.page_bytes();
  };
  const bool shifts = std::ranges::any_of(parts, [&](const TensorSpec& part) {
    return part.logical_shape()[-1] != y.logical_shape()[-1] && row_bytes(part) % alignment_of(part, card) != 0 &&
           (!is_tiled(part) || part.logical_shape()[-1] % part.tile().width == 0);
  });
  if (shifts && is_tiled(y)) return on_cores(y.num_pages(), card, {4 * bytes_of_tile(y)});
  if (shifts) {
    const std::int64_t column =
        round_up(y.logical_shape().as_2d().height * element_bytes(y.dtype()), alignment_of(y, card));
    const std::int64_t transposing = 6 * tile_bytes(Tile{}, y.dtype());
    return on_cores(y.logical_shape()[-1], card,
                    {std::max(transposing, 2 * column <= kTwoColumns ? 2 * column : column)});
  }
  return on_cores(y.num_pages(), card, {2 * (is_tiled(y) ? bytes_of_tile(y) : aligned_page(y, card))});
}

std::vector<CircularBuffer> slice_buffers(const TensorSpec& x, const TensorSpec& y, std::int64_t begin,
                                          const TensixSpec& card) {
  if (is_tiled(x)) return on_cores(y.num_pages(), card, {2 * bytes_of_tile(y)});
  if (x.memory_config().layout() == TensorMemoryLayout::height_sharded) return {};
  const std::int64_t alignment = alignment_of(x, card), element = element_bytes(x.dtype());
  const std::int64_t stick = round_up(y.logical_shape()[-1] * element, alignment);
  const bool shifted = begin * element % alignment != 0;
  const std::int64_t height = y.logical_shape().as_2d().height, cores = std::min(height, cores_of(card));
  const std::int64_t rows = round_up(ceil_div(height, cores), kSliceRows);
  // As few equal reads as that many bytes allow.
  std::int64_t reads = ceil_div(rows, std::max<std::int64_t>(1, kSliceBytes / stick));
  while (rows % reads != 0) ++reads;
  return on_cores(cores, card, {2 * (rows / reads) * (stick + (shifted ? alignment : 0))});
}

std::vector<CircularBuffer> typecast_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card) {
  const auto page = [](const TensorSpec& t) { return is_tiled(t) ? bytes_of_tile(t) : t.page_bytes(); };
  return on_cores(y.num_pages(), card, {2 * page(x), 2 * page(y)});
}

std::vector<CircularBuffer> repeat_buffers(const TensorSpec& x, const TensixSpec& card) {
  if (in_shards(x)) return {};
  return on_cores(x.num_pages(), card, {(x.num_pages() > cores_of(card) ? 2 : 1) * aligned_page(x, card)});
}

std::vector<CircularBuffer> gather_rows_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card) {
  // A list says for each tile of the result where the rows of its faces come from. Those that do not fill a group count
  // twice.
  const std::int64_t rows = std::min<std::int64_t>(x.logical_shape().as_2d().height, y.tile().height);
  const std::int64_t pieces = rows * (y.logical_shape()[-1] > kHalfTile ? 2 : 1);
  const std::int64_t list = kPieceBytes * (pieces + pieces % kPieces);
  return on_cores(y.num_pages(), card, {list, bytes_of_tile(y)});
}

std::vector<CircularBuffer> fill_rows_buffers(const TensorSpec& x) {
  return {{"row", x.memory_config().shard_spec()->grid, round_up(x.page_bytes(), kL1PageAlignment)}};
}

std::vector<CircularBuffer> fill_padding_buffers(const TensorSpec& x, const TensixSpec& card) {
  const Shape &full = x.padded_shape(), &shape = x.logical_shape();
  const int sides = (full[-1] != shape[-1]) + (full[-2] != shape[-2]);
  if (sides == 0) return {};
  const std::int64_t tile = bytes_of_tile(x);
  return on_cores(x.num_pages(), card, {2 * tile, sides * tile, 2 * tile});
}

}  // namespace tessera::tensix
