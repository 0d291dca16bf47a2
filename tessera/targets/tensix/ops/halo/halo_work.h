#pragma once

// What gathering a halo does, from its plan.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"
#include "tessera/targets/tensix/ops/halo/halo.h"

namespace tessera::tensix {

// `input_tiles` of a core's shard are untilized on the way; 0: rows already.
struct HaloShard {
  std::int64_t cores = 0, row_cores = 0;  // all, and those along the rows, which send each other sticks
  std::int64_t tiles = 0, tile_rows = 0;
  bool lists_in_dram = false;
};
TSR_API ProgramWork halo_work(const HaloPlan& plan, const HaloShard& shard);
// What a halo has gathered goes to another place of its cores' L1.
ProgramWork moved_halo_work(const HaloPlan& plan, std::int64_t cores);

}  // namespace tessera::tensix
