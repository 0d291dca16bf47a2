#pragma once

// One call of a convolution on a device, all of it known before memory is touched.

#include "tessera/targets/tensix/ops/conv2d/conv2d.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_steps.h"

#include <optional>
#include <vector>

namespace tessera::tensix {

struct Conv2dCall {
  Conv2dProblem problem;
  Conv2dPlan plan;                      // of the first slice, where there are several
  std::optional<Tensor> weights, bias;  // prepared on the host, to be sent
  MemorySteps steps;
  Conv2dSlots slots;
  std::optional<TensorSpec> output_view;  // what the output is seen as, where that is not how it was allocated
  bool sliced = false;
  std::int64_t spread_h = 1, spread_w = 1;  // zeros between the pixels of a transposed convolution

  explicit Conv2dCall(std::shared_ptr<Device> device) : steps(std::move(device)) {}
};

// `problem` speaks of the image with its zeros; the input has none. Weights on the host are out_channels x
// in_channels / groups x kernel. `send`: prepare them too.
Conv2dCall call_conv2d(const DeviceTensor& input, const Conv2dOperand& weights,
                       const std::optional<Conv2dOperand>& bias, const Conv2dProblem& problem,
                       const Conv2dOptions& options, bool send, std::int64_t spread_h = 1, std::int64_t spread_w = 1);

// Rehearses, computes and carries out.
Conv2dResult finish_conv2d(const Conv2dCall& call, DeviceTensor input, const Conv2dOperand& weights,
                           const std::optional<Conv2dOperand>& bias);

}  // namespace tessera::tensix
