#include "tessera/core/error.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/program_works.h"

#include <algorithm>
#include <array>
#include <string>

namespace tessera::tensix {
namespace {

constexpr double kRuns = 4;     // pieces of a shard that is cut anew
constexpr double kWideRow = 8;  // tiles that the packer untilizes at once

bool tiled(const OperandFacts& x) { return x.layout == Layout::tile; }
double tiles_of(const OperandFacts& x) {
  return static_cast<double>(ceil_div(x.rows, kTile) * ceil_div(x.columns, kTile));
}
double row_bytes(const OperandFacts& x) { return static_cast<double>(x.columns * std::max(element_bytes(x.dtype), 1)); }
double bytes_of(const OperandFacts& x) {
  return tiled(x) ? tiles_of(x) * static_cast<double>(tile_bytes(Tile{}, x.dtype))
                  : static_cast<double>(x.rows) * row_bytes(x);
}
double page_bytes(const OperandFacts& x) {
  return tiled(x) ? static_cast<double>(tile_bytes(Tile{}, x.dtype)) : row_bytes(x);
}
double dram_bytes_of(const OperandFacts& x) { return x.in_dram() ? bytes_of(x) : 0; }

// What the busiest of `cores` has of a tensor: a shard, or its share of tiles or rows.
struct Share {
  double tiles = 0, tile_rows = 0, rows = 0, bytes = 0;
};
Share share_of(const OperandFacts& x, std::int64_t cores) {
  Share s;
  if (x.sharded() && x.shard.height > 0) {
    s.tile_rows = static_cast<double>(ceil_div(x.shard.height, kTile));
    s.tiles = s.tile_rows * static_cast<double>(ceil_div(x.shard.width, kTile));
    s.rows = static_cast<double>(x.shard.height);
    s.bytes = tiled(x) ? s.tiles * page_bytes(x)
                       : s.rows * static_cast<double>(x.shard.width * std::max(element_bytes(x.dtype), 1));
    return s;
  }
  const auto n = static_cast<double>(std::max<std::int64_t>(cores, 1));
  const std::int64_t across = std::max<std::int64_t>(ceil_div(x.columns, kTile), 1);
  s.tiles = static_cast<double>(ceil_div(static_cast<std::int64_t>(tiles_of(x)), std::max<std::int64_t>(cores, 1)));
  s.tile_rows = static_cast<double>(ceil_div(static_cast<std::int64_t>(s.tiles), across));
  s.rows = tiled(x) ? s.tile_rows * kTile : static_cast<double>(ceil_div(x.rows, std::max<std::int64_t>(cores, 1)));
  s.bytes = std::min(bytes_of(x), std::max(bytes_of(x) / n, page_bytes(x)));
  return s;
}

bool is_any(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, op) != names.end();
}

struct Work {
  std::span<const OperandFacts> operands;
  std::int64_t cores;
  ProgramWork work = {};

  const OperandFacts& in(std::size_t i = 0) const { return operands[std::min(i, operands.size() - 1)]; }
  const OperandFacts& out() const { return operands.back(); }

  // Tiles one by one, each waited for while the one before it is computed.
  void page_by_page(std::size_t inputs) {
    for (std::size_t i = 0; i < inputs; ++i)
      if (!in(i).sharded()) work.page_reads += share_of(out(), cores).tiles;
    if (!out().sharded()) work.page_writes = share_of(out(), cores).tiles;
    work.blocks = std::max(share_of(out(), cores).tiles, 1.0);
    work.activations_double_buffered = true;
  }
  void all_dram() {
    for (std::size_t i = 0; i + 1 < operands.size(); ++i) work.dram_read_bytes += dram_bytes_of(operands[i]);
    work.dram_written_bytes = dram_bytes_of(out());
  }

  void element_wise(std::size_t inputs, bool two_operands) {
    const double tiles = std::max(share_of(out(), cores).tiles, share_of(in(), cores).tiles);
    (two_operands ? work.added_tiles : work.vector_tiles) = tiles;
    page_by_page(inputs);
    for (std::size_t i = 0; i < inputs; ++i)
      if (in(i).in_dram())
        work.dram_read_bytes += std::max(bytes_of(in(i)), bytes_of(in(i)) < bytes_of(in()) && i > 0
                                                              ? tiles * static_cast<double>(cores) * page_bytes(in(i))
                                                              : 0.0);
    work.dram_written_bytes = dram_bytes_of(out());
  }

  void tilize(bool padding) {
    const Share mine = share_of(out(), cores);
    work.tilized_tiles = mine.tiles;
    work.tilized_from = in().dtype == DType::float32 ? DType::float32 : DType::bfloat16;
    work.tilized_to = out().dtype;
    work.blocks = std::max(mine.tile_rows, 1.0);
    work.activations_double_buffered = true;
    if (!in().sharded()) {
      // Rows of padding are not read.
      const double rows = std::min(mine.rows, static_cast<double>(in().rows));
      const double bytes = rows * row_bytes(in());
      if (padding) {
        work.waited_reads = rows;
        work.waited_bytes = bytes;
      } else {
        work.fetched_pages = rows;
        work.fetched_bytes = bytes;
        work.fetched_blocks = work.blocks;
      }
    }
    if (!out().sharded()) {
      work.sent_pieces = mine.tiles;
      work.sent_bytes = mine.bytes;
    }
    all_dram();
  }

  void untilize(bool cutting) {
    const Share mine = share_of(in(), cores);
    work.untilized_tiles = mine.tiles;
    work.untilized_rows = mine.tile_rows;
    work.wide_rows = mine.tiles > kWideRow * mine.tile_rows;
    work.blocks = std::max(mine.tile_rows, 1.0);
    work.activations_double_buffered = true;
    if (!in().sharded()) {
      work.fetched_pages = mine.tiles;
      work.fetched_bytes = mine.bytes;
      work.fetched_blocks = work.blocks;
    }
    if (!out().sharded()) {
      const double bytes = mine.rows * row_bytes(out());
      if (cutting) {
        work.waited_writes = mine.rows;
        work.waited_bytes = bytes;
      } else {
        work.sent_pieces = mine.rows;
        work.sent_bytes = bytes;
      }
    }
    all_dram();
  }

  // From interleaved memory into shards. Rows are waited for one at a time, tiles come in numbers.
  void to_shards() {
    const Share mine = share_of(out(), cores);
    if (tiled(in())) {
      work.fetched_pages = mine.tiles;
      work.fetched_bytes = mine.bytes;
    } else {
      work.waited_reads = mine.rows;
      work.waited_bytes = mine.bytes;
    }
    work.dram_read_bytes = in().in_dram() ? std::min(bytes_of(in()), bytes_of(out())) : 0;
  }
  void from_shards() {
    const Share mine = share_of(in(), cores);
    work.sent_pieces = tiled(in()) ? mine.tiles : mine.rows;
    work.sent_bytes = mine.bytes;
    work.dram_written_bytes = out().in_dram() ? std::min(bytes_of(in()), bytes_of(out())) : 0;
  }
  // A part of an image in DRAM, made rows on the way.
  void cut_slice() {
    const Share mine = share_of(out(), cores);
    work.activations_double_buffered = true;
    if (!out().sharded()) {
      work.sent_pieces = tiled(out()) ? mine.tiles : mine.rows;
      work.sent_bytes = mine.bytes;
      work.dram_written_bytes = dram_bytes_of(out());
    }
    if (tiled(in()) && tiled(out())) {
      work.fetched_pages = mine.tiles;
      work.fetched_bytes = mine.bytes;
    } else if (tiled(in())) {
      const double tile_rows = mine.rows / kTile;
      const auto across = static_cast<double>(ceil_div(in().columns, kTile));
      work.untilized_rows = tile_rows;
      work.untilized_tiles = tile_rows * across;
      work.fetched_pages = work.untilized_tiles;
      work.fetched_bytes = work.untilized_tiles * page_bytes(in());
      work.window_reads = 2 * mine.rows;  // out of the untilized rows and into the shard
      work.window_bytes = mine.bytes;
      work.blocks = std::max(tile_rows, 1.0);
    } else {
      work.sliced_rows = mine.rows;
      work.fetched_pages = mine.rows;
      work.fetched_bytes = mine.bytes;
    }
    work.dram_read_bytes = in().in_dram() ? std::min(bytes_of(in()), bytes_of(out())) : 0;
  }
  void paste_slice() {
    const Share mine = share_of(in(), cores);
    work.sliced_rows = work.sent_pieces = tiled(in()) ? mine.tiles : mine.rows;
    work.sent_bytes = mine.bytes;
    work.dram_written_bytes = out().in_dram() ? bytes_of(in()) : 0;
  }
  void copy() {
    const Share mine = share_of(in(), cores);
    if (in().sharded() && out().sharded()) {
      work.copied_bytes = mine.bytes;
      return;
    }
    page_by_page(1);
    all_dram();
  }
  void reshard() {
    const Share mine = share_of(out(), cores), was = share_of(in(), cores);
    work.sent_bytes = std::max(mine.bytes, was.bytes);
    // Rows of the same length lie one after the other in both shards and go in few pieces.
    const bool runs = !tiled(out()) && in().shard.width == out().shard.width;
    work.sent_pieces = tiled(out()) ? mine.tile_rows : runs ? kRuns : mine.rows;
  }
  // Rows or pages of every operand after each other.
  void join() {
    const Share mine = share_of(out(), cores);
    work.blocks = std::max(tiled(out()) ? mine.tiles : mine.rows, 1.0);
    work.activations_double_buffered = true;
    if (out().sharded()) {
      // Out of shards on the same core, a piece of every row.
      work.window_reads = mine.rows * static_cast<double>(std::max<std::size_t>(operands.size() - 1, 1));
      work.window_bytes = mine.bytes;
      if (tiled(out()) && in().sharded()) {  // untilized, joined and tilized again
        work.untilized_tiles = work.tilized_tiles = mine.tiles;
        work.untilized_rows = mine.tile_rows;
        work.tilized_to = out().dtype;
      }
    } else if (tiled(out())) {
      work.page_reads = work.page_writes = mine.tiles;
    } else {
      work.waited_reads = work.waited_writes =
          mine.rows * static_cast<double>(std::max<std::size_t>(operands.size() - 1, 1));
      work.waited_bytes = mine.bytes;
    }
    all_dram();
  }
  // Every row of pixels is written as often as it is enlarged.
  void enlarge() {
    const Share mine = share_of(out(), cores);
    if (out().sharded()) {
      work.window_reads = mine.rows;
      work.window_bytes = mine.bytes;
    } else {
      work.sent_pieces = mine.rows;
      work.sent_bytes = mine.bytes;
      work.fetched_pages = share_of(in(), cores).rows;
      work.fetched_bytes = share_of(in(), cores).bytes;
    }
    all_dram();
  }
  void rearrange() {
    const Share mine = share_of(out(), cores), was = share_of(in(), cores);
    if (tiled(out())) {
      work.permuted_tiles = std::max(mine.tiles, was.tiles);
      work.permuted_rows = mine.tiles * kTile;
    } else {
      work.waited_reads = mine.rows;
      work.waited_bytes = mine.bytes;
    }
    all_dram();
  }
  // Sums over rows of pixels.
  void reduce() {
    const Share mine = share_of(in(), cores);
    work.reduced_tiles = mine.tiles;
    if (!in().sharded()) work.page_reads = mine.tiles;
    if (!out().sharded()) work.page_writes = share_of(out(), cores).tiles;
    work.blocks = std::max(mine.tiles, 1.0);
    work.activations_double_buffered = true;
    all_dram();
  }
  void normalize() {
    const Share mine = share_of(out(), cores);
    work.normalized_tiles = mine.tiles;
    work.normalized_rows = mine.tile_rows;
    if (!in().sharded()) work.page_reads = 3 * mine.tiles, work.page_writes = mine.tiles;
    all_dram();
  }
};

}  // namespace

ProgramWork tensor_work(std::string_view op, std::span<const OperandFacts> operands, std::int64_t cores) {
  check(!operands.empty(), Code::invalid_argument, "{}: no tensors to price", op);
  for (const OperandFacts& x : operands)
    if (cores == 0 && x.sharded()) cores = x.cores;
  Work w{operands, std::max<std::int64_t>(cores, 1)};
  w.work.kind = op;
  w.work.cores = w.cores;
  const std::size_t inputs = std::max<std::size_t>(operands.size() - 1, 1);
  if (is_any(op, {"move", "copy", "clone"}))
    w.copy();
  else if (op == "reshard")
    w.reshard();
  else if (op == "interleaved_to_sharded")
    w.to_shards();
  else if (op == "sharded_to_interleaved")
    w.from_shards();
  else if (is_any(op, {"padded_slice", "slice"}))
    w.cut_slice();
  else if (op == "slice_write")
    w.paste_slice();
  else if (op == "tilize")
    w.tilize(w.in().rows % kTile != 0 || w.in().columns % kTile != 0);
  else if (op == "tilize_with_val_padding")
    w.tilize(true);
  else if (op == "untilize")
    w.untilize(w.out().rows % kTile != 0 && !w.out().sharded());
  else if (op == "untilize_with_unpadding")
    w.untilize(true);
  else if (op == "typecast")
    w.element_wise(1, false);
  else if (op == "binary")
    w.element_wise(std::min<std::size_t>(inputs, 2), true);
  else if (op == "transpose") {
    w.element_wise(1, false);
  } else if (op == "concat")
    w.join();
  else if (is_any(op, {"upsample", "pad", "fold", "reshape"}))
    w.enlarge();
  else if (is_any(op, {"permute", "convert_to_hwc", "convert_to_chw"}))
    w.rearrange();
  else if (is_any(op, {"group_norm", "softmax"}))
    w.normalize();
  else if (op == "reduce")
    w.reduce();
  else
    w.element_wise(1, false), w.work.kind = "unary";
  return std::move(w.work);
}

}  // namespace tessera::tensix
