#include "tessera/kernel_plan/kernel_info.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double kStepSeconds = 2e-6;  // waking threads and calling a kernel, or launching one on a GPU

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
  const CpuSpec& machine = problem.machine.cpu();
  const double bytes_per_s = machine.dram_read_all_bytes_per_s;
  const double compute = flops / std::max(1.0, flop_per_s), memory = bytes / std::max(1.0, bytes_per_s);
  const double work = std::max(compute, memory);
  return {kStepSeconds + work, work < kStepSeconds ? "overhead" : compute >= memory ? "compute" : "memory"};
}

// What was made just before and is read just after comes from a cache, if it is not too large.
double conversion_bytes_per_s(const CpuSpec& cpu, double bytes) {
  constexpr double kCacheOverMemory = 2.5;
  const bool cached = bytes <= 4.0 * static_cast<double>(cpu.l2_bytes);
  return cpu.dram_read_bytes_per_s * (cached ? kCacheOverMemory : 1);
}

// Elements of 2 bytes that are scattered reach a part of the memory's rate; within the second cache twice as much.
double conversion_bytes_per_s(const GpuSpec& gpu, double bytes) {
  constexpr double kScattered = 0.4, kCacheOverMemory = 2;
  const double memory = gpu.memory_achieved_bytes_per_s.value_or(gpu.memory_bytes_per_s) * kScattered;
  return memory * (bytes <= static_cast<double>(gpu.l2_bytes) ? kCacheOverMemory : 1);
}

}  // namespace

Estimate conversion_estimate(const KernelMachine& machine, double value_bytes) {
  const double bytes = 2.0 * value_bytes;
  const double rate =
      machine.is_gpu() ? conversion_bytes_per_s(machine.gpu(), bytes) : conversion_bytes_per_s(machine.cpu(), bytes);
  return {kStepSeconds + bytes / std::max(1.0, rate), "memory"};
}

Estimate estimate(const Problem& problem, Isa isa, double flops, double bytes, double efficiency) {
  const double peak = peak_flop_per_s(problem.machine.cpu(), isa, Arithmetic::f32);
  return estimate(problem, peak * efficiency, flops, bytes);
}

Estimate estimate(const Problem& problem, const KernelInfo& kernel, double flops, double bytes, double efficiency) {
  const double peak = peak_flop_per_s(problem.machine.cpu(), kernel.isa, kernel.arithmetic);
  return estimate(problem, peak * efficiency, flops, bytes);
}

}  // namespace tessera
