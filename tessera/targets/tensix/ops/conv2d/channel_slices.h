#pragma once

// Layers whose channels do not fit at once: some of them after the others, from L1 or DRAM to DRAM.

#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::tensix {

// Equal parts of the last dimension, as tensors of their own that lie as x does. One part is x itself.
TSR_API std::vector<DeviceTensor> cut_channels(const DeviceTensor& x, std::int64_t slices);

// A layer that keeps channels apart, on one slice of them after the other; the results meet in DRAM. When the layer
// fails, tensors are as they were; programs that ran stay in the cache.
TSR_API DeviceTensor run_on_channels(const DeviceTensor& x, std::int64_t slices,
                                     FunctionRef<DeviceTensor(DeviceTensor&)> layer);

struct ChannelSlicedConv2d {
  DeviceTensor output;                // [1, 1, batch * out_h * out_w, out_channels] in DRAM
  std::vector<DeviceTensor> weights;  // prepared, of each slice: to be given to the next call
  std::optional<DeviceTensor> bias;   // likewise
};

// Input channels, one slice after the other: what they give is added up in DRAM, then come bias and activation. The
// problem is that of the whole; weights are those of each slice. Every slice's result is packed to the output's type,
// and so is every sum. With deallocate_activation an input in L1 is freed at the end. On failure memory is as it was.
TSR_API ChannelSlicedConv2d conv2d_by_channels(DeviceTensor input, const std::vector<Conv2dOperand>& weights,
                                               const std::optional<Conv2dOperand>& bias, const Conv2dProblem& problem,
                                               const Conv2dOptions& options = {});

// The model's weights, out_channels x in_channels x kernel, cut for the slices.
TSR_API std::vector<Conv2dOperand> cut_conv_weights(const Tensor& weights, std::int64_t slices);

}  // namespace tessera::tensix
