#pragma once

// What lies where while a plan's steps run, read off the plan alone.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::tensix {

struct LiveValue {
  enum class Role : std::uint8_t { waiting, read, made };  // by the step
  std::string value;
  Role role = Role::waiting;
  MemoryConfig memory;
  std::int64_t l1_bytes = 0;           // of a core; 0 in DRAM
  std::size_t made_by = kNetwork;      // step
  std::size_t next_reader = kNetwork;  // at or after this step; kNetwork: none, it is an output of the network

  static constexpr std::size_t kNetwork = static_cast<std::size_t>(-1);
};
TSR_API std::string_view name(LiveValue::Role role);

// Values that exist while each step runs, its moves done, oldest first.
TSR_API std::vector<std::vector<LiveValue>> live_values(const CardPlan& plan, std::int64_t l1_banks);

// Bytes that a tensor takes of each core's L1: 0 in DRAM, and for placements that cannot be.
TSR_API std::int64_t l1_bytes_of(const Placement& placement, std::int64_t l1_banks);

// "L1 BLOCK_SHARDED 416x128 on 8x7 cores", "DRAM".
TSR_API std::string place_text(const MemoryConfig& memory);

// Of a step with its moves.
TSR_API double total_ns(const PlannedStep& step);

// What the choice took when it was weighed against the others: with the gaps between programs, unlike `total_ns`, where
// it is among them.
TSR_API double weighed_ns(const PlannedStep& step);
// The fastest of the others that can run; null if none can.
TSR_API const WeighedConfig* fastest_other(const PlannedStep& step);

}  // namespace tessera::tensix
