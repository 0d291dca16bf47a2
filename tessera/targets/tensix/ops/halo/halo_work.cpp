#include "tessera/targets/tensix/ops/halo/halo_work.h"

namespace tessera::tensix {

// Two processors share the moves of a core; what they have to do is that of the busier one.
ProgramWork halo_work(const HaloPlan& plan, const HaloShard& shard) {
  ProgramWork work;
  work.kind = ProgramKind::halo;
  work.cores = shard.cores;
  work.untilized_tiles = static_cast<double>(shard.tiles);
  work.untilized_rows = static_cast<double>(shard.tile_rows);
  work.sent_pieces = static_cast<double>(plan.busiest_pieces);
  work.sent_bytes = static_cast<double>(plan.busiest_remote_sticks * plan.stick_bytes);
  work.copied_bytes = static_cast<double>(plan.busiest_local_sticks * plan.stick_bytes);
  work.window_reads = static_cast<double>(plan.busiest_padding_sticks);  // zeros, a stick at a time
  work.wide_rows = shard.tiles > 8 * shard.tile_rows;                    // longer than the packer untilizes at once
  work.contenders = shard.row_cores;
  work.lists = shard.lists_in_dram ? 1 : 0;
  return work;
}

ProgramWork moved_halo_work(const HaloPlan& plan, std::int64_t cores) {
  ProgramWork work;
  work.kind = ProgramKind::move;
  work.cores = cores;
  work.copied_bytes = static_cast<double>(plan.out_bytes_per_core());
  return work;
}

}  // namespace tessera::tensix
