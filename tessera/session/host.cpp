#include "tessera/session/internal/host.h"

#include "tessera/machine/host_cpu.h"

#include <unistd.h>

#include <array>
#include <mutex>
#include <optional>

namespace tessera::internal {
namespace {

// Round figures of a small server, for an installation without a machine file that matches.
CpuSpec without_files(Isa isa) {
  CpuSpec spec;
  spec.isa = name(isa);
  spec.cores = 2;
  spec.vector_bits = isa >= Isa::avx512 ? 512 : 256;
  spec.l1d_bytes = 32 << 10;
  spec.l2_bytes = 1 << 20;
  spec.f32_flop_per_s = isa >= Isa::avx512 ? 1.2e11 : 0.6e11;
  spec.f32_all_flop_per_s = 2 * spec.f32_flop_per_s;
  spec.dram_read_bytes_per_s = 1e10;
  spec.dram_read_all_bytes_per_s = 2e10;
  if (isa >= Isa::amx) {
    spec.bf16_flop_per_s = 10 * spec.f32_flop_per_s;
    spec.bf16_all_flop_per_s = 10 * spec.f32_all_flop_per_s;
  }
  return spec;
}

// What this machine says of its caches.
void read_caches(CpuSpec& spec) {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  const auto bytes = [](int name, std::int64_t otherwise) {
    const long said = sysconf(name);
    return said > 0 ? std::int64_t{said} : otherwise;
  };
  spec.l1d_bytes = bytes(_SC_LEVEL1_DCACHE_SIZE, spec.l1d_bytes);
  spec.l2_bytes = bytes(_SC_LEVEL2_CACHE_SIZE, spec.l2_bytes);
  if (const std::int64_t l3 = bytes(_SC_LEVEL3_CACHE_SIZE, 0); l3 > 0) spec.l3_bytes = l3;
#endif
}

CpuSpec load_spec(Isa isa) {
  const std::optional<Machine> machine = match_machine(host_cpu(isa));
  CpuSpec spec = machine ? *machine->cpu : without_files(isa);
  read_caches(spec);
  return spec;
}

}  // namespace

const CpuSpec& cpu_spec(Isa isa) {
  static std::mutex mutex;
  static std::array<std::optional<CpuSpec>, 6> specs;
  const std::lock_guard lock(mutex);
  std::optional<CpuSpec>& spec = specs.at(static_cast<std::size_t>(isa));
  if (!spec) spec = load_spec(isa);
  return *spec;
}

}  // namespace tessera::internal
