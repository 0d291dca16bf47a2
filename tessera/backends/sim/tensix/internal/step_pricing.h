#pragma once

// The time of one step of a network: all programs that the card ran for it.

#include "tessera/backends/sim/tensix/conv2d_plan.h"
#include "tessera/backends/sim/tensix/lower.h"
#include "tessera/backends/sim/tensix/program_time.h"
#include "tessera/core/trace.h"
#include "tessera/machine/device_tensor.h"

#include <optional>
#include <span>
#include <vector>

namespace tessera::tensix {

OperandFacts facts_of(const TensorSpec& spec);

struct StepPrograms {
  const LoweredNode* node = nullptr;      // null: a move that made room
  std::optional<Conv2dPlan> plan = {};    // of a convolution
  std::vector<OperandFacts> inputs = {};  // as they were before it ran
  std::optional<OperandFacts> result = {};
  std::span<const TraceRecord> records = {};
};

// Times add up: programs of one step follow each other. What bounds it is what bounds its longest program.
StepTime time_of_step(const StepPrograms& step, const TensixSpec& card, const TensixCosts& costs);

}  // namespace tessera::tensix
