#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <algorithm>

namespace tessera::tensix {

namespace {

// Rows or pages of every operand after each other.
void count_concat(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out());
  ProgramWork& work = w.work;
  const auto parts = static_cast<double>(w.inputs());
  work.blocks = std::max(tiled(w.out()) ? mine.tiles : mine.rows, 1.0);
  work.activations_double_buffered = true;
  if (w.out().sharded()) {
    // Out of shards on the same core, a piece of every row.
    work.window_reads = mine.rows * parts;
    work.window_bytes = mine.bytes;
    if (tiled(w.out()) && w.in().sharded()) {  // untilized, joined and tilized again
      work.untilized_tiles = work.tilized_tiles = mine.tiles;
      work.untilized_rows = mine.tile_rows;
      work.tilized_to = w.out().dtype;
    }
  } else if (tiled(w.out())) {
    work.page_reads = work.page_writes = mine.tiles;
  } else {
    work.waited_reads = work.waited_writes = mine.rows * parts;
    work.waited_bytes = mine.bytes;
  }
  w.all_dram();
}

}  // namespace

const CardOp card_op_concat = {.kind = ProgramKind::concat, .count = count_concat};

}  // namespace tessera::tensix
