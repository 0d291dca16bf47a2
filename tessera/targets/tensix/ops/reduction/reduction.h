#pragma once

// Functions of all values along some dimensions, the lines of reductions.def: sum, mean, max, ...; sums and products so
// far; and where the largest value is.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::tensix {

struct Reduction {
  std::string_view name;
  bool adds;  // on the matrix engine, as sums of products do
  bool takes_integers;
  // Of values that need not be added by the matrix engine; `correction` is what a divisor counts less.
  double (*value)(std::span<const double> x, double correction);
};

TSR_API std::span<const Reduction> reductions();
TSR_API const Reduction& reduction(std::string_view name);

struct ReduceOptions {
  std::optional<std::vector<int>> dims = {};  // default: all
  bool keep_dims = false;
  std::optional<MemoryConfig> memory_config = {};  // default: that of x
  std::optional<ComputeConfig> compute = {};
  double scalar = 1;                       // times the result
  bool correction = true;                  // of std and var: one less than the values there are
  std::optional<CoreRangeSet> cores = {};  // that work on it; default: all
};

// One program; ROW_MAJOR tensors are tilized first.
TSR_API DeviceTensor reduce(const Reduction& reduction, const DeviceTensor& x, const ReduceOptions& options = {});

enum class Accumulation { sum, product };

struct AccumulateOptions {
  std::optional<DType> dtype = {};  // default: that of x
  bool backwards = false;
  std::optional<MemoryConfig> memory_config = {};
  std::optional<DeviceTensor> output = {};
};

// Of all values up to each one along a dimension, in float32.
TSR_API DeviceTensor accumulate(Accumulation accumulation, const DeviceTensor& x, int dim,
                                const AccumulateOptions& options = {});

// Where the largest value is along a dimension (default: of the whole tensor), the first of equal ones; uint32 in
// ROW_MAJOR.
TSR_API DeviceTensor argmax(const DeviceTensor& x, std::optional<int> dim, bool keep_dim,
                            const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
