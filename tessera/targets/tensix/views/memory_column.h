#pragma once

// One core's L1 or one DRAM bank as a column of segments, from the lowest address to the highest: what pictures draw.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/views/memory_state.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::tensix {

enum class SegmentKind : std::uint8_t {
  reserved,         // firmware and runtime
  circular_buffer,  // of the program shown
  free,
  data,        // pages of a buffer
  no_data,     // a buffer's, but nothing of it is here: banks are given out in lock step
  free_small,  // free part of the L1_SMALL region
  free_trace,  // free part of the TRACE region
};

TSR_API std::string_view name(SegmentKind kind);         // "circular_buffer"
TSR_API std::string_view description(SegmentKind kind);  // for people

struct MemorySegment {
  SegmentKind kind = SegmentKind::free;
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  int index = MemoryState::kNoBuffer;  // in state.buffers, or in state.circular_buffers.buffers
  bool operator==(const MemorySegment&) const = default;
};

using MemoryColumn = std::vector<MemorySegment>;

// Segments follow each other without gaps and add up to state.l1_bytes or state.dram_bank_bytes. Of a buffer the data
// come first, whichever slots of it they fill.
TSR_API MemoryColumn core_column(const MemoryState& state, int core);
TSR_API MemoryColumn dram_column(const MemoryState& state, int bank);

TSR_API std::int64_t bytes_of(const MemoryColumn& column, SegmentKind kind);

}  // namespace tessera::tensix
