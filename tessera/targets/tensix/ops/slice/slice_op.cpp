#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <algorithm>

namespace tessera::tensix {

namespace {

// A part of an image in DRAM, made rows on the way.
void count_slice(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out());
  ProgramWork& work = w.work;
  work.activations_double_buffered = true;
  if (!w.out().sharded()) {
    work.sent_pieces = tiled(w.out()) ? mine.tiles : mine.rows;
    work.sent_bytes = mine.bytes;
    work.dram_written_bytes = dram_bytes_of(w.out());
  }
  if (tiled(w.in()) && tiled(w.out())) {
    work.fetched_pages = mine.tiles;
    work.fetched_bytes = mine.bytes;
  } else if (tiled(w.in())) {
    const double tile_rows = mine.rows / kTile;
    const auto across = static_cast<double>(ceil_div(w.in().columns, kTile));
    work.untilized_rows = tile_rows;
    work.untilized_tiles = tile_rows * across;
    work.fetched_pages = work.untilized_tiles;
    work.fetched_bytes = work.untilized_tiles * page_bytes(w.in());
    work.window_reads = 2 * mine.rows;  // out of the untilized rows and into the shard
    work.window_bytes = mine.bytes;
    work.blocks = std::max(tile_rows, 1.0);
  } else {
    work.sliced_rows = mine.rows;
    work.fetched_pages = mine.rows;
    work.fetched_bytes = mine.bytes;
  }
  work.dram_read_bytes = w.in().in_dram() ? std::min(bytes_of(w.in()), bytes_of(w.out())) : 0;
}

// A part of an image goes to its place in DRAM.
void count_slice_write(TensorWork& w) {
  const TensorShare mine = w.share_of(w.in());
  w.work.sliced_rows = w.work.sent_pieces = tiled(w.in()) ? mine.tiles : mine.rows;
  w.work.sent_bytes = mine.bytes;
  w.work.dram_written_bytes = w.out().in_dram() ? bytes_of(w.in()) : 0;
}

}  // namespace

const CardOp card_op_slice = {.kind = ProgramKind::slice, .count = count_slice};
const CardOp card_op_padded_slice = {.kind = ProgramKind::padded_slice, .count = count_slice};
const CardOp card_op_slice_write = {.kind = ProgramKind::slice_write, .count = count_slice_write};

}  // namespace tessera::tensix
