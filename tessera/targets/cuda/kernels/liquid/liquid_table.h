#pragma once

// What the tables of CfC and LTC kernels share.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"

#include <cstdint>
#include <string_view>

namespace tessera::cuda {

// Of products. Everything else is float32.
enum class LiquidPrecision : std::uint8_t {
  tf32,  // operands rounded to 11 bits, sums in float32: tensor cores
  f32,
};
TSR_API std::string_view name(LiquidPrecision precision);

enum class LiquidBound : std::uint8_t { shared_memory, l2, arithmetic, latency };
TSR_API std::string_view name(LiquidBound bound);

// Blocks of a cluster that kernels can be launched with.
inline constexpr int kLiquidClusters[] = {1, 2, 4, 8};

// Clusters that the device runs at a time, one block on each multiprocessor.
int resident_clusters(int cluster, const GpuSpec& gpu);

int quotient_rounded_up(std::int64_t a, std::int64_t b);
// The least power of two that is no less, as an exponent.
int exponent_of_two(int at_least);

}  // namespace tessera::cuda
