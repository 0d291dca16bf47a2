#include "tessera/targets/tensix/ops/tensor_work.h"

#include "tessera/core/error.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/card_op.h"

#include <algorithm>
#include <utility>

namespace tessera::tensix {

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

const OperandFacts& TensorWork::in(std::size_t i) const { return operands[std::min(i, operands.size() - 1)]; }

std::size_t TensorWork::inputs() const { return std::max<std::size_t>(operands.size() - 1, 1); }

TensorShare TensorWork::share_of(const OperandFacts& x) const {
  TensorShare s;
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

void TensorWork::page_by_page(std::size_t inputs) {
  for (std::size_t i = 0; i < inputs; ++i)
    if (!in(i).sharded()) work.page_reads += share_of(out()).tiles;
  if (!out().sharded()) work.page_writes = share_of(out()).tiles;
  work.blocks = std::max(share_of(out()).tiles, 1.0);
  work.activations_double_buffered = true;
}

void TensorWork::all_dram() {
  for (std::size_t i = 0; i + 1 < operands.size(); ++i) work.dram_read_bytes += dram_bytes_of(operands[i]);
  work.dram_written_bytes = dram_bytes_of(out());
}

void TensorWork::element_wise(std::size_t inputs, bool two_operands) {
  const double tiles = std::max(share_of(out()).tiles, share_of(in()).tiles);
  (two_operands ? work.added_tiles : work.vector_tiles) = tiles;
  page_by_page(inputs);
  for (std::size_t i = 0; i < inputs; ++i)
    if (in(i).in_dram())
      work.dram_read_bytes += std::max(bytes_of(in(i)), bytes_of(in(i)) < bytes_of(in()) && i > 0
                                                            ? tiles * static_cast<double>(cores) * page_bytes(in(i))
                                                            : 0.0);
  work.dram_written_bytes = dram_bytes_of(out());
}

void count_copied_pages(TensorWork& w) {
  if (w.in().sharded() && w.out().sharded()) {
    w.work.copied_bytes = w.share_of(w.in()).bytes;
    return;
  }
  w.page_by_page(1);
  w.all_dram();
}

void count_streamed_rows(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out());
  if (w.out().sharded()) {
    w.work.window_reads = mine.rows;
    w.work.window_bytes = mine.bytes;
  } else {
    w.work.sent_pieces = mine.rows;
    w.work.sent_bytes = mine.bytes;
    w.work.fetched_pages = w.share_of(w.in()).rows;
    w.work.fetched_bytes = w.share_of(w.in()).bytes;
  }
  w.all_dram();
}

void count_rearranged(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out()), was = w.share_of(w.in());
  if (tiled(w.out())) {
    w.work.permuted_tiles = std::max(mine.tiles, was.tiles);
    w.work.permuted_rows = mine.tiles * kTile;
  } else {
    w.work.waited_reads = mine.rows;
    w.work.waited_bytes = mine.bytes;
  }
  w.all_dram();
}

void count_normalized_rows(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out());
  w.work.normalized_tiles = mine.tiles;
  w.work.normalized_rows = mine.tile_rows;
  if (!w.in().sharded()) w.work.page_reads = 3 * mine.tiles, w.work.page_writes = mine.tiles;
  w.all_dram();
}

ProgramWork tensor_work(ProgramKind kind, std::span<const OperandFacts> operands, std::int64_t cores) {
  check(!operands.empty(), Code::invalid_argument, "{}: no tensors to price", name(kind));
  const CardOp& op = card_op(kind);
  check(op.count != nullptr, Code::unsupported, "{}: its time follows from its plan, not from its tensors", name(kind));
  for (const OperandFacts& x : operands)
    if (cores == 0 && x.sharded()) cores = x.cores;
  TensorWork w{operands, std::max<std::int64_t>(cores, 1)};
  w.work.kind = kind;
  w.work.cores = w.cores;
  op.count(w);
  return std::move(w.work);
}

}  // namespace tessera::tensix
