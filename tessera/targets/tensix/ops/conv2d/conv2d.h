#pragma once

// conv2d on a simulated card: the memory of the real one, address by address, and the values of its arithmetic.

#include "tessera/core/export.h"
#include "tessera/core/tensor.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/memory_steps.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_slice.h"

#include <cstdint>
#include <optional>
#include <variant>

namespace tessera::tensix {

// Weights or bias: as the model has them, on the host, or as an earlier call prepared them, on the card.
using Conv2dOperand = std::variant<Tensor, DeviceTensor>;

struct Conv2dOptions {
  std::optional<MemoryConfig> memory_config;  // of the output; none: the shards it is computed in, or DRAM if sliced
  // None: an input in DRAM is cut into as few slices as fit and the output goes to DRAM, even if one is enough.
  // Products are never sliced.
  std::optional<Conv2dSliceConfig> slice = Conv2dSliceConfig{};
};

struct Conv2dResult {
  DeviceTensor output;  // [1, 1, batch * out_h * out_w, out_channels]
  std::int64_t out_h = 0, out_w = 0;
  DeviceTensor weights;  // prepared: to be given to the next call
  std::optional<DeviceTensor> bias;
  Conv2dPlan plan;  // of the first slice, where there are several
  MemoryStory memory;
};

// The input is [1, 1, batch * height * width, in_channels] or [batch, height, width, in_channels]; its dtype, layout
// and place, the bias and the dtype of the weights are taken from the tensors, whatever `problem` says of them.
// A 1x1 convolution that runs as a product gives tiles, whatever output_layout says, as TTNN's does. With
// deallocate_activation an input in L1 is freed. On failure the device is as it was.
TSR_API Conv2dResult conv2d(DeviceTensor input, const Conv2dOperand& weights, const std::optional<Conv2dOperand>& bias,
                            const Conv2dProblem& problem, const Conv2dOptions& options = {});

// The memory of such a call, without making it. Nothing changes. `reached`: as MemorySteps::rehearse has it.
TSR_API Result<MemoryStory> rehearse_conv2d(const DeviceTensor& input, const Conv2dOperand& weights,
                                            const std::optional<Conv2dOperand>& bias, const Conv2dProblem& problem,
                                            const Conv2dOptions& options = {}, MemoryPeak* reached = nullptr);

}  // namespace tessera::tensix
