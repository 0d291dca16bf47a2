#include "tessera/kernel_plan/kernel_info.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double kStepSeconds = 2e-6;  // waking threads and calling a kernel

// Part of the machine's peak that a lower instruction set can reach on it.
double peak_fraction(Isa isa, const CpuSpec& machine) {
  const int bits = isa == Isa::portable ? 128 : isa == Isa::avx2 ? 256 : 512;
  return std::min(1.0, static_cast<double>(bits) / std::max(1, machine.vector_bits));
}

// Of all cores.
double peak_flop_per_s(const CpuSpec& m, Isa isa, Arithmetic arithmetic) {
  const double f32 = m.f32_all_flop_per_s * peak_fraction(isa, m);
  switch (arithmetic) {
    case Arithmetic::f32: break;
    // Half of f32's rate is what Intel's cores do, and what a machine that does not say is taken for.
    case Arithmetic::bf16_pairs: return m.bf16_pairs_all_flop_per_s.value_or(f32 / 2);
    case Arithmetic::bf16_tiles: return m.bf16_from_l2_all_flop_per_s.value_or(m.bf16_all_flop_per_s.value_or(f32));
  }
  return f32;
}

Estimate estimate(const Problem& problem, double flop_per_s, double flops, double bytes) {
  const CpuSpec& machine = problem.machine;
  const double bytes_per_s = machine.dram_read_all_bytes_per_s;
  const double compute = flops / std::max(1.0, flop_per_s), memory = bytes / std::max(1.0, bytes_per_s);
  const double work = std::max(compute, memory);
  return {kStepSeconds + work, work < kStepSeconds ? "overhead" : compute >= memory ? "compute" : "memory"};
}

}  // namespace

Estimate estimate(const Problem& problem, Isa isa, double flops, double bytes, double efficiency) {
  const double peak = peak_flop_per_s(problem.machine, isa, Arithmetic::f32);
  return estimate(problem, peak * efficiency, flops, bytes);
}

Estimate estimate(const Problem& problem, const KernelInfo& kernel, double flops, double bytes, double efficiency) {
  const double peak = peak_flop_per_s(problem.machine, kernel.isa, kernel.arithmetic);
  return estimate(problem, peak * efficiency, flops, bytes);
}

}  // namespace tessera
