#pragma once

// How a product of matrices runs on a card: which program, on which cores, in which blocks, with which buffers. TTNN
// knows four programs: every core fetches what it needs for single tiles; one operand is sent to all cores and the
// other one split over them (1-D multicast); both are split and sent along rows and columns of cores (2-D multicast);
// or every core has a batch for itself. All sizes are in tiles of 32 x 32 unless their names say otherwise.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/memory_config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

enum class MatmulKind : std::uint8_t { multi_core, multicast_1d, multicast_2d, reuse };
TSR_API std::string_view name(MatmulKind kind);

// What a user may fix: the fields of TTNN's program configs.
struct MatmulProgramConfig {
  MatmulKind kind = MatmulKind::multi_core;
  CoreGrid grid{};
  std::int64_t block_k = 1;  // in0_block_w
  std::int64_t per_core_m = 1, per_core_n = 1;
  std::int64_t out_block_h = 0, out_block_w = 0;  // 0: all that a core computes
  std::int64_t subblock_h = 1, subblock_w = 1;
  bool multicast_in0 = true;  // 1-D: the first operand is sent, columns are split; else the second, and rows
  bool fuse_batch = true;
  bool operator==(const MatmulProgramConfig&) const = default;
};

struct MatmulProblem {
  std::int64_t batch = 1, batch_b = 1, m = 1, k = 1, n = 1;
  DType a_dtype = DType::bfloat16, b_dtype = DType::bfloat16, bias_dtype = DType::bfloat16, out_dtype = DType::bfloat16;
  MemoryConfig a_memory = {}, b_memory = {}, out_memory = {};  // the output's may leave its shards open
  bool bias = false;                                           // added within the program
  bool transpose_a = false;
  ComputeConfig compute = {};
  std::optional<CoreGrid> core_grid = {};
  std::optional<MatmulProgramConfig> program = {};
  CoreGrid grid = {};           // of the card
  std::int64_t free_bytes = 0;  // of L1 on a core
};

struct MatmulBuffer {
  CircularBuffer buffer;
  bool in_tensor = false;  // lies in a shard: takes no memory of its own
};

struct TSR_API MatmulPlan {
  MatmulProgramConfig program;
  CoreRangeSet cores;  // those that compute
  DType partials_dtype = DType::bfloat16;
  bool packer_l1_acc = false;  // asked for and of use
  std::vector<MatmulBuffer> buffers;
  MemoryConfig output;

  std::vector<CircularBuffer> own_buffers() const;
};

// Refuses shapes and placements that no program fits.
TSR_API MatmulPlan plan_matmul(const MatmulProblem& problem);

}  // namespace tessera::tensix
