#include "tessera/targets/tensix/card/trace.h"

namespace tessera::tensix {

std::string_view name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::host: return "host";
    case MemoryKind::dram: return "dram";
    case MemoryKind::l1: return "l1";
  }
  return "unknown";
}

std::int64_t TraceRecord::total_bytes() const {
  std::int64_t sum = 0;
  for (const Transfer& t : transfers) sum += t.bytes;
  return sum;
}

}  // namespace tessera::tensix
