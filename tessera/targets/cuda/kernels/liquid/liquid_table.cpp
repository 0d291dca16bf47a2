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

// A cluster lies within one group of 16 or 18 multiprocessors: of those of four, one fewer fits than would fill them
// all.
int resident_clusters(int cluster, const GpuSpec& gpu) {
  return gpu.multiprocessors / cluster - (cluster == 4 ? 1 : 0);
}

int quotient_rounded_up(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

int exponent_of_two(int at_least) { return std::bit_width(static_cast<unsigned>(std::max(at_least, 1) - 1)); }

}  // namespace tessera::cuda
