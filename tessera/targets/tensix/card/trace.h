#pragma once

// What a run did, as facts that reports read and time models price. Every backend returns one of these.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

enum class MemoryKind : std::uint8_t { host, dram, l1 };
TSR_API std::string_view name(MemoryKind kind);  // "host", "dram", "l1"

// Bytes that went from one memory to another, counted as useful bytes of pages (alignment gaps are not moved).
struct Transfer {
  MemoryKind from = MemoryKind::host;
  MemoryKind to = MemoryKind::host;
  std::int64_t bytes = 0;
  std::int64_t pieces = 0;              // separate reads or writes it takes
  std::int64_t local_bytes = 0;         // part of `bytes` that stays on its core (L1 to L1 only)
  std::int64_t busiest_bank_bytes = 0;  // what the most loaded bank or core receives or, reading to the host, gives
  bool operator==(const Transfer&) const = default;
};

// One operation.
struct TraceRecord {
  ProgramKind kind = ProgramKind::unary;
  std::string detail;  // for people: "[1, 1, 64, 64] bfloat16 TILE"
  std::vector<Transfer> transfers;
  // Of a program, what it does; null where nobody has said. Records are copied about, so copies share it.
  std::shared_ptr<const ProgramWork> work = {};
  std::string alias = {};  // TTNN's name where several operators run programs of one kind: "relu", "add"

  std::string_view op() const { return alias.empty() ? name(kind) : std::string_view(alias); }  // for people
  std::int64_t total_bytes() const;
};

using Trace = std::vector<TraceRecord>;

}  // namespace tessera::tensix
