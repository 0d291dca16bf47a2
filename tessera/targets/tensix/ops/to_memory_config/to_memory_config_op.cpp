#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <algorithm>

namespace tessera::tensix {

namespace {

constexpr double kRuns = 4;  // pieces of a shard that is cut anew

// From interleaved memory into shards. Rows are waited for one at a time, tiles come in numbers.
void count_to_shards(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out());
  if (tiled(w.in())) {
    w.work.fetched_pages = mine.tiles;
    w.work.fetched_bytes = mine.bytes;
  } else {
    w.work.waited_reads = mine.rows;
    w.work.waited_bytes = mine.bytes;
  }
  w.work.dram_read_bytes = w.in().in_dram() ? std::min(bytes_of(w.in()), bytes_of(w.out())) : 0;
}

void count_from_shards(TensorWork& w) {
  const TensorShare mine = w.share_of(w.in());
  w.work.sent_pieces = tiled(w.in()) ? mine.tiles : mine.rows;
  w.work.sent_bytes = mine.bytes;
  w.work.dram_written_bytes = w.out().in_dram() ? std::min(bytes_of(w.in()), bytes_of(w.out())) : 0;
}

void count_reshard(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out()), was = w.share_of(w.in());
  w.work.sent_bytes = std::max(mine.bytes, was.bytes);
  // Rows of the same length lie one after the other in both shards and go in few pieces.
  const bool runs = !tiled(w.out()) && w.in().shard.width == w.out().shard.width;
  w.work.sent_pieces = tiled(w.out()) ? mine.tile_rows : runs ? kRuns : mine.rows;
}

}  // namespace

const CardOp card_op_interleaved_to_sharded = {.kind = ProgramKind::interleaved_to_sharded, .count = count_to_shards};
const CardOp card_op_sharded_to_interleaved = {.kind = ProgramKind::sharded_to_interleaved, .count = count_from_shards};
const CardOp card_op_reshard = {.kind = ProgramKind::reshard, .count = count_reshard};
const CardOp card_op_copy = {.kind = ProgramKind::copy, .count = count_copied_pages};
const CardOp card_op_clone = {.kind = ProgramKind::clone, .count = count_copied_pages};

}  // namespace tessera::tensix
