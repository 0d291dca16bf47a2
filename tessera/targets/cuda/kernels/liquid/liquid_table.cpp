#include "tessera/targets/cuda/kernels/liquid/liquid_table.h"

#include <algorithm>
#include <bit>

namespace tessera::cuda {

std::string_view name(LiquidPrecision precision) { return precision == LiquidPrecision::tf32 ? "tf32" : "f32"; }

std::string_view name(LiquidBound bound) {
  switch (bound) {
    case LiquidBound::shared_memory: return "shared memory";
    case LiquidBound::l2: return "L2";
    case LiquidBound::arithmetic: return "arithmetic";
    case LiquidBound::latency: return "latency";
  }
  return "";
}

// A cluster lies within one group of multiprocessors: an H200's 132 take 66 of two, 30 of four, 15 of eight (measured,
// cudaOccupancyMaxActiveClusters).
int resident_clusters(int cluster, const GpuSpec& gpu) {
  if (cluster <= 2) return gpu.multiprocessors / cluster;
  return gpu.multiprocessors * 15 / 16 / 4 * 4 / cluster;
}

int quotient_rounded_up(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

int exponent_of_two(int at_least) { return std::bit_width(static_cast<unsigned>(std::max(at_least, 1) - 1)); }

}  // namespace tessera::cuda
