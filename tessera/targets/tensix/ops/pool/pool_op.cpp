#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <algorithm>

namespace tessera::tensix {

namespace {

// Sums over rows of pixels.
void count_reduce(TensorWork& w) {
  const TensorShare mine = w.share_of(w.in());
  w.work.reduced_tiles = mine.tiles;
  if (!w.in().sharded()) w.work.page_reads = mine.tiles;
  if (!w.out().sharded()) w.work.page_writes = w.share_of(w.out()).tiles;
  w.work.blocks = std::max(mine.tiles, 1.0);
  w.work.activations_double_buffered = true;
  w.all_dram();
}

}  // namespace

const CardOp card_op_max_pool2d = {.kind = ProgramKind::max_pool2d};
const CardOp card_op_avg_pool2d = {.kind = ProgramKind::avg_pool2d};
// An average over all of an image.
const CardOp card_op_reduce = {.kind = ProgramKind::reduce, .count = count_reduce};

}  // namespace tessera::tensix
