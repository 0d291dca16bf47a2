#include "tessera/plan/kernel_info.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double kStepSeconds = 2e-6;  // waking threads and calling a kernel

// Part of the machine's peak that a lower instruction set can reach on it.
double peak_fraction(Isa isa, const CpuSpec& machine) {
  const int bits = isa == Isa::portable ? 128 : isa == Isa::avx2 ? 256 : 512;
  return std::min(1.0, static_cast<double>(bits) / std::max(1, machine.vector_bits));
}

}  // namespace

Estimate estimate(const Problem& problem, Isa isa, double flops, double bytes, double efficiency) {
  const CpuSpec& machine = problem.machine;
  const double flop_per_s = machine.f32_all_flop_per_s * peak_fraction(isa, machine);
  const double bytes_per_s = machine.dram_read_all_bytes_per_s;
  const double compute = flops / std::max(1.0, flop_per_s * efficiency), memory = bytes / std::max(1.0, bytes_per_s);
  const double work = std::max(compute, memory);
  return {kStepSeconds + work, work < kStepSeconds ? "overhead" : compute >= memory ? "compute" : "memory"};
}

}  // namespace tessera
