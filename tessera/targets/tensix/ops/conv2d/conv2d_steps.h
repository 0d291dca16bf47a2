#pragma once

// The order in which a convolution allocates, runs and frees, as the real one does it.

#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/memory_steps.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"
#include "tessera/targets/tensix/ops/halo/halo.h"

#include <optional>
#include <string>

namespace tessera::tensix {

// What the steps work on: slots of tensors that are there or will be.
struct Conv2dSlots {
  MemorySteps::Slot input = 0, weights = 0, output = 0;
  std::optional<MemorySteps::Slot> bias;
};

struct Conv2dStepsInput {
  const DeviceTensor* input = nullptr;
  std::optional<DeviceTensor> weights, bias;  // prepared already
  DType weights_dtype = DType::bfloat16;
  std::optional<MemoryConfig> memory_config;
  // A slice of an image in DRAM: it is read from the input's slot and written into the output's, the weights are those
  // of the slice before it.
  std::optional<Conv2dSlots> slice_of;
  bool first_slice = false;
  std::optional<Conv2dPlan> cut_into;  // the slice is cut into this plan's shards of the input, and moves from there
  std::int64_t spread_h = 1, spread_w = 1;  // the plan's image has zeros between pixels that the input has not
};

// Shards of the input where the plan's image has zeros between its pixels.
void spread_input_shard(Conv2dPlan& plan, std::int64_t spread_h, std::int64_t spread_w);

// Appends the steps of one convolution.
Conv2dSlots add_conv2d_steps(MemorySteps& steps, const Conv2dPlan& plan, const Conv2dProblem& problem,
                             const Conv2dStepsInput& in, const Device& device);

}  // namespace tessera::tensix
