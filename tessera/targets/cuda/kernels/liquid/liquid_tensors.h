#pragma once

// Sequences on the device, as the operators Cfc and Ltc have them: float32, row by row.

#include "tessera/targets/cuda/kernels/liquid/liquid_arguments.h"

#include <cstdint>

namespace tessera::cuda {

struct LiquidTensors {
  const float* x = nullptr;      // batch steps inputs, or steps batch inputs
  const float* times = nullptr;  // one for each step of each sample, or for each of its units; null: 1
  bool one_time = false;         // times is a single number
  const float* first = nullptr;  // the state before the first step, batch units; null: zeros
  float* states = nullptr;       // batch steps units, or steps batch units; null: not wanted
  float* last = nullptr;         // batch units; null: not wanted
  float* output = nullptr;       // of the projection: like states, or batch outputs of the last step
};

struct LiquidExtents {
  int batch = 1, steps = 1, inputs = 1, units = 1;
  int outputs = 0;
  bool last_output_only = false;
  bool unit_times = false;  // one time for each unit
  bool batch_first = true;
};

// Strides for the tensors. An Error where something that has to be there is not.
LiquidSequence sequence_of(const LiquidTensors& tensors, const LiquidExtents& extents);

}  // namespace tessera::cuda
