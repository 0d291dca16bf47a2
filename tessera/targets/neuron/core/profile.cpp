#include "tessera/targets/neuron/core/profile.h"

namespace tessera::neuron {

std::vector<std::pair<std::string, double>> summary(const Profile& p) {
  const auto count = [](std::int64_t n) { return static_cast<double>(n); };
  const double bytes = count(p.hbm_read_bytes + p.hbm_write_bytes);
  std::vector<std::pair<std::string, double>> out{
      {"total_time", p.total_ns * 1e-9},
      {"dma_transfer_count", count(p.dma_transfer_count)},
      {"dma_transfer_total_bytes", count(p.dma_transfer_total_bytes)},
      {"dma_transfer_average_bytes",
       p.dma_transfer_count > 0 ? count(p.dma_transfer_total_bytes) / count(p.dma_transfer_count) : 0},
      {"dma_active_time", p.dma_active_ns * 1e-9},
      {"dma_active_time_percent", 100 * p.share(p.dma_active_ns)},
  };
  const auto engine = [&](const char* name, const EngineUse& use) {
    out.emplace_back(std::string(name) + "_engine_active_time", use.active_ns * 1e-9);
    out.emplace_back(std::string(name) + "_engine_active_time_percent", 100 * p.share(use.active_ns));
    out.emplace_back(std::string(name) + "_engine_instruction_count", count(use.instructions));
  };
  engine("tensor", p.tensor);
  engine("vector", p.vector);
  engine("scalar", p.scalar);
  engine("gpsimd", p.gpsimd);
  out.insert(out.end(),
             {{"hbm_read_bytes", count(p.hbm_read_bytes)},
              {"hbm_write_bytes", count(p.hbm_write_bytes)},
              {"sbuf_read_bytes", count(p.sbuf_read_bytes)},
              {"sbuf_write_bytes", count(p.sbuf_write_bytes)},
              {"psum_read_bytes", count(p.psum_read_bytes)},
              {"psum_write_bytes", count(p.psum_write_bytes)},
              {"spill_save_bytes", 0},  // tiles are never moved out by themselves
              {"spill_reload_bytes", 0},
              {"hardware_flops", p.matmul_flops + p.transpose_flops},
              {"model_flops", p.useful_flops()},
              {"transpose_flops", p.transpose_flops},
              {"mfu_estimated_percent", 100 * p.mfu()},
              {"mbu_estimated_percent", 100 * p.mbu()},
              {"mm_arithmetic_intensity", bytes > 0 ? p.useful_flops() / bytes : 0},
              {"peak_flops_bandwidth_ratio", p.hbm_bytes_per_s > 0 ? p.peak_flop_per_s / p.hbm_bytes_per_s : 0},
              {"semaphore_wait_count", count(p.semaphore_waits)},
              {"sbuf_live_partition_bytes", count(p.sbuf_peak_bytes)},
              {"psum_live_banks", static_cast<double>(p.psum_peak_banks)}});
  return out;
}

}  // namespace tessera::neuron
