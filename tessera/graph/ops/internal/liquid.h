#pragma once

// What the operators Cfc and Ltc share: a cell that walks over sequences. Inputs 0 to 2 are the sequence, the elapsed
// times and the first state; outputs are every state and the last one.

#include "tessera/graph/operands.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tessera {

inline constexpr std::size_t kLiquidX = 0, kLiquidTimes = 1, kLiquidState = 2;

struct LiquidSizes {
  std::int64_t batch, steps, inputs, units;  // TensorType::kUnknown where nothing tells
};

// Refuses sequences, times and states that do not fit each other or cells of `units`.
LiquidSizes liquid_sizes(const Knowns& inputs, bool batch_first, std::int64_t units);
std::vector<TensorType> liquid_outputs(const Knowns& inputs, bool batch_first, const LiquidSizes& sizes);

// One step of one sample: `state` becomes the next one. `elapsed` has one time for each unit.
using LiquidStep =
    std::function<void(std::span<const double> x, std::span<const double> elapsed, std::vector<double>& state)>;
std::vector<Array> run_liquid(const Arrays& inputs, bool batch_first, std::int64_t units, const LiquidStep& step);

}  // namespace tessera
