#include "tessera/backends/sim/tensix/kernel_time.h"

#include <algorithm>

namespace tessera::tensix {

bool is_program(const TraceRecord& record) {
  return std::ranges::none_of(record.transfers,
                              [](const Transfer& t) { return t.from == MemoryKind::host || t.to == MemoryKind::host; });
}

double kernel_ns(const TensixSpec& card, const TraceRecord& record) {
  const double dram = card.dram_achieved_bytes_per_s.value_or(card.dram_model_bytes_per_s);
  const double noc = card.noc_link_achieved_bytes_per_cycle * card.clock_hz;  // of one core
  double seconds = 0;
  for (const Transfer& t : record.transfers) {
    if (t.from == MemoryKind::dram || t.to == MemoryKind::dram) seconds += static_cast<double>(t.bytes) / dram;
    if (t.from == MemoryKind::l1 && t.to == MemoryKind::l1)
      seconds += static_cast<double>(std::max(t.busiest_bank_bytes, t.bytes / card.cores())) / noc;
  }
  return seconds * 1e9;
}

}  // namespace tessera::tensix
