#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <algorithm>

namespace tessera::tensix {

namespace {

constexpr double kWideRow = 8;  // tiles that the packer untilizes at once

void tilize_rows(TensorWork& w, bool padding) {
  const TensorShare mine = w.share_of(w.out());
  ProgramWork& work = w.work;
  work.tilized_tiles = mine.tiles;
  work.tilized_from = w.in().dtype == DType::float32 ? DType::float32 : DType::bfloat16;
  work.tilized_to = w.out().dtype;
  work.blocks = std::max(mine.tile_rows, 1.0);
  work.activations_double_buffered = true;
  if (!w.in().sharded()) {
    // Rows of padding are not read.
    const double rows = std::min(mine.rows, static_cast<double>(w.in().rows));
    const double bytes = rows * row_bytes(w.in());
    if (padding) {
      work.waited_reads = rows;
      work.waited_bytes = bytes;
    } else {
      work.fetched_pages = rows;
      work.fetched_bytes = bytes;
      work.fetched_blocks = work.blocks;
    }
  }
  if (!w.out().sharded()) {
    work.sent_pieces = mine.tiles;
    work.sent_bytes = mine.bytes;
  }
  w.all_dram();
}

void untilize_rows(TensorWork& w, bool cutting) {
  const TensorShare mine = w.share_of(w.in());
  ProgramWork& work = w.work;
  work.untilized_tiles = mine.tiles;
  work.untilized_rows = mine.tile_rows;
  work.wide_rows = mine.tiles > kWideRow * mine.tile_rows;
  work.blocks = std::max(mine.tile_rows, 1.0);
  work.activations_double_buffered = true;
  if (!w.in().sharded()) {
    work.fetched_pages = mine.tiles;
    work.fetched_bytes = mine.bytes;
    work.fetched_blocks = work.blocks;
  }
  if (!w.out().sharded()) {
    const double bytes = mine.rows * row_bytes(w.out());
    if (cutting) {
      work.waited_writes = mine.rows;
      work.waited_bytes = bytes;
    } else {
      work.sent_pieces = mine.rows;
      work.sent_bytes = bytes;
    }
  }
  w.all_dram();
}

void count_tilize(TensorWork& w) { tilize_rows(w, w.in().rows % kTile != 0 || w.in().columns % kTile != 0); }
void count_padded_tilize(TensorWork& w) { tilize_rows(w, true); }
void count_untilize(TensorWork& w) { untilize_rows(w, w.out().rows % kTile != 0 && !w.out().sharded()); }
void count_cut_untilize(TensorWork& w) { untilize_rows(w, true); }

}  // namespace

const CardOp card_op_tilize = {.kind = ProgramKind::tilize, .count = count_tilize, .role = CallRole::converts};
const CardOp card_op_tilize_with_val_padding = {
    .kind = ProgramKind::tilize_with_val_padding, .count = count_padded_tilize, .role = CallRole::converts};
const CardOp card_op_untilize = {.kind = ProgramKind::untilize, .count = count_untilize, .role = CallRole::converts};
const CardOp card_op_untilize_with_unpadding = {
    .kind = ProgramKind::untilize_with_unpadding, .count = count_cut_untilize, .role = CallRole::converts};

}  // namespace tessera::tensix
