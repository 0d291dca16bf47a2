#pragma once

// What a run came to, under the names that the vendor's profiler uses.

#include "tessera/core/export.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::neuron {

struct EngineUse {
  double active_ns = 0;
  std::int64_t instructions = 0;
};

struct Profile {
  double total_ns = 0;  // with the fixed cost of starting a kernel
  EngineUse tensor, vector, scalar, gpsimd;
  double dma_active_ns = 0;  // the busiest engine
  double dma_issue_ns = 0;
  std::int64_t dma_transfer_count = 0;
  std::int64_t dma_transfer_total_bytes = 0;
  std::int64_t hbm_read_bytes = 0;
  std::int64_t hbm_write_bytes = 0;
  std::int64_t sbuf_read_bytes = 0;
  std::int64_t sbuf_write_bytes = 0;
  std::int64_t psum_read_bytes = 0;
  std::int64_t psum_write_bytes = 0;
  std::int64_t sbuf_peak_bytes = 0;  // of a partition
  int psum_peak_banks = 0;
  std::int64_t matmul_count = 0;
  std::int64_t float32_matmul_count = 0;  // of those
  std::int64_t transpose_count = 0;
  double matmul_flops = 0;
  double model_flops = 0;  // of those the ones that the result needs, set by who knows; 0: all
  double transpose_flops = 0;
  std::int64_t semaphore_waits = 0;  // instructions that wait for another engine
  double peak_flop_per_s = 0;        // of the operand type that most of the work was done in
  double hbm_bytes_per_s = 0;        // of one core

  double total_us() const { return total_ns / 1000; }
  double share(double ns) const { return total_ns > 0 ? ns / total_ns : 0; }
  double useful_flops() const { return model_flops > 0 ? model_flops : matmul_flops; }
  double mfu() const { return total_ns > 0 ? useful_flops() / (peak_flop_per_s * total_ns * 1e-9) : 0; }
  double mbu() const {
    return total_ns > 0 ? static_cast<double>(hbm_read_bytes + hbm_write_bytes) / (hbm_bytes_per_s * total_ns * 1e-9)
                        : 0;
  }
};

// Key and value, in the profiler's words and units (seconds, bytes, percent).
TSR_API std::vector<std::pair<std::string, double>> summary(const Profile& profile);

}  // namespace tessera::neuron
