#pragma once

// The buffers inside a program: they start where L1 stops being reserved and grow up, core by core, while tensors come
// down from the top. A program is legal where the two do not meet.

#include "tessera/core/export.h"
#include "tessera/core/refusal.h"
#include "tessera/targets/tensix/card/core_grid.h"
#include "tessera/targets/tensix/card/device.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

struct CircularBuffer {
  std::string name;
  CoreRangeSet cores;
  std::int64_t bytes = 0;
};

struct PlacedCircularBuffer {
  CircularBuffer buffer;
  std::int64_t address = 0;
};

// A range of cores whose circular buffers end at the same address.
struct CircularBufferRegion {
  CoreRange cores;
  std::int64_t end_address = 0;
};

struct CircularBufferPlacement {
  std::vector<PlacedCircularBuffer> buffers;
  std::vector<CircularBufferRegion> regions;
};

// Places the buffers one after the other, each at the lowest address that is free on all its cores and aligned as
// tensors are. OutOfMemory when they grow beyond the end of L1 (Shortage::program) or into a live tensor
// (Shortage::l1_clash); its bytes are counted from where circular buffers begin.
TSR_API CircularBufferPlacement place_circular_buffers(const Device& device, const std::vector<CircularBuffer>& buffers,
                                                       std::int64_t program_id);
// The same where an allocator stands for the device: to see whether a program would fit. Newer programs call their
// buffers "dataflow" buffers; that is all that differs.
TSR_API Result<CircularBufferPlacement> try_place_circular_buffers(const TensixSpec& card, const Allocator& allocator,
                                                                   const std::vector<CircularBuffer>& buffers,
                                                                   std::int64_t program_id,
                                                                   std::string_view kind = "circular");

}  // namespace tessera::tensix
