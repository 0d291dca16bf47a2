#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/elementwise/vector_function.h"
#include "tessera/targets/tensix/ops/matmul/matmul_plan.h"

#include <optional>

namespace tessera::tensix {

struct MatmulOptions {
  std::optional<DeviceTensor> bias;  // a row: added in the program if the result goes to DRAM, else in one of its own
  bool transpose_a = false, transpose_b = false;
  std::optional<MemoryConfig> memory_config;  // default: interleaved in DRAM
  std::optional<DType> dtype;                 // default: that of a
  std::optional<MatmulProgramConfig> program;
  std::optional<VectorFunction> fused_activation;  // of a program config: on Dst
  std::optional<VectorFunction> activation;        // in a program of its own, except for sharded operands: refused
  std::optional<ComputeConfig> compute;
  std::optional<CoreGrid> core_grid;
};

// a b, or a b + bias, in tiles; leading dimensions are a batch, which b may lack. Operands of rank 1 are a row and a
// column.
TSR_API DeviceTensor matmul(const DeviceTensor& a, const DeviceTensor& b, const MatmulOptions& options = {});

}  // namespace tessera::tensix
