#pragma once

// What a pool does, from its plan.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"
#include "tessera/targets/tensix/ops/pool/pool_plan.h"

namespace tessera::tensix {

struct PoolLoops {
  std::int64_t cores = 0;
  std::int64_t rows = 0;           // output rows of a core
  std::int64_t channel_tiles = 0;  // of a core
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stick_bytes = 0;
  bool average = false;
};
TSR_API ProgramWork pool_work(const PoolLoops& loops);

ProgramKind pool_program(PoolKind kind);

}  // namespace tessera::tensix
