#pragma once

// What one configuration of a convolution would take on a card with nothing else on it, and sweeps over many.

#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"
#include "tessera/core/refusal.h"
#include "tessera/targets/tensix/card/memory_steps.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::tensix {

// Bytes are per core.
struct Conv2dTrial {
  Conv2dProblem problem;           // as it was asked for
  std::optional<Conv2dPlan> plan;  // none: refused, whatever its memory
  // Where a program is refused after its shards are known, halo and output are those that it was to have.
  std::int64_t input_bytes = 0, halo_bytes = 0, output_bytes = 0, circular_buffer_bytes = 0;
  std::int64_t kept_bytes = 0;     // lists of the halo and of the reader
  MemoryPeak peak;                 // of what fits, or what was reached until it did not
  std::int64_t wanted_bytes = 0;   // the most that is wanted at a time, whether it fits or not
  std::optional<Refusal> refusal;  // why it does not run
  // What it runs, in order; none where it does not fit.
  std::vector<std::shared_ptr<const ProgramWork>> programs;

  bool fits() const { return !refusal; }
};

// The input is where the problem says it is. `l1_small_bytes` of every core are set aside for lists.
TSR_API Conv2dTrial try_conv2d(const Conv2dProblem& problem, const Machine& machine, std::int64_t l1_small_bytes);

struct DoubleBuffers {
  bool act = false, weights = false;
  bool operator==(const DoubleBuffers&) const = default;
};

struct Conv2dSweep {
  std::vector<TensorMemoryLayout> layouts{TensorMemoryLayout::height_sharded, TensorMemoryLayout::block_sharded,
                                          TensorMemoryLayout::width_sharded};
  std::vector<int> block_heights;  // rows; empty: all rows of a core, then 32, 64, 128, ... below that
  std::vector<DoubleBuffers> double_buffers{{}, {.act = true}, {.weights = true}, {.act = true, .weights = true}};
};

// Every combination, layout by layout. A product (1x1) has neither blocks of rows nor double buffers to choose: one
// trial for each of its layouts. `progress` hears how many are done, of how many.
TSR_API std::vector<Conv2dTrial> sweep_conv2d(const Conv2dProblem& problem, const Machine& machine,
                                              std::int64_t l1_small_bytes, const Conv2dSweep& sweep,
                                              FunctionRef<void(std::size_t, std::size_t)> progress);

// The one to prefer among those that fit, without knowing times: most cores that multiply, then fewest blocks to go
// through, then most double buffers, then the least memory. None if nothing fits.
TSR_API std::optional<std::size_t> best_trial(std::span<const Conv2dTrial> trials);

}  // namespace tessera::tensix
