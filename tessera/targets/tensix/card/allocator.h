#pragma once

// Who owns which bytes of a device. All banks of a memory move in lock step: a buffer has the same address in every
// bank and takes the same number of bytes there, whether the bank holds pages of it or not. L1 and L1_SMALL grow down
// from the top of a core's memory, DRAM and TRACE grow up; circular buffers come from below L1 (circular_buffers.h).

#include "tessera/core/export.h"
#include "tessera/core/refusal.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/card/free_list.h"
#include "tessera/targets/tensix/card/memory_config.h"

#include <array>
#include <cstdint>
#include <optional>

namespace tessera::tensix {

struct DeviceOptions {
  std::int64_t l1_small_bytes = 0;      // per core, reserved at the top of L1 for small sharded tensors
  std::int64_t trace_region_bytes = 0;  // over all DRAM banks
  std::int64_t worker_l1_bytes = 0;     // L1 that programs may use; 0: all there is
  int command_queues = 1;
  // False: memory, transfers and errors only. Operators compute nothing, banks stay untouched, and whatever is read
  // back is zero and means nothing.
  bool values = true;
  // With values: convolutions compute so many images of their batch, the first ones, and leave zeros for the others. 0:
  // all. Of use where images do not meet and some are enough.
  std::int64_t valued_images = 0;
};

// The state of one memory, per bank.
struct MemoryView {
  int num_banks = 0;
  std::int64_t total_bytes_per_bank = 0;
  std::int64_t allocated_bytes_per_bank = 0;
  std::int64_t free_bytes_per_bank = 0;
  std::int64_t largest_free_block_bytes_per_bank = 0;
};

// What a buffer needs, for the allocation and for the text of its refusal.
struct AllocationRequest {
  std::int64_t bytes_per_bank = 0;
  std::int64_t total_bytes = 0;  // over the banks that hold something
  int banks = 0;
};

class TSR_API Allocator {
 public:
  Allocator(const TensixSpec& card, const DeviceOptions& options);

  // The address, the same in every bank. A refusal leaves everything as it was.
  Result<std::int64_t> try_allocate(BufferType type, const AllocationRequest& request);
  // For callers that cannot do without: OutOfMemory.
  std::int64_t allocate(BufferType type, const AllocationRequest& request) {
    return try_allocate(type, request).value();
  }
  void deallocate(BufferType type, std::int64_t address);
  void clear();

  MemoryView view(BufferType type) const;
  const FreeList& free_list(BufferType type) const { return memory(type).list; }
  std::int64_t base_address(BufferType type) const { return memory(type).base_address; }

  // Alignment of pages in a memory, and of every allocation.
  std::int64_t page_alignment_bytes(BufferType type) const;
  std::int64_t allocation_alignment_bytes() const { return allocation_alignment_bytes_; }

  // Where circular buffers start, and the lowest address that an L1 buffer holds (none: L1 is empty).
  std::int64_t circular_buffer_base() const { return circular_buffer_base_; }
  std::optional<std::int64_t> lowest_l1_address() const;

 private:
  struct Memory {
    FreeList list;
    std::int64_t base_address = 0;
    int banks = 0;
    bool bottom_up = false;
  };
  const Memory& memory(BufferType type) const { return memories_[static_cast<std::size_t>(type)]; }
  Memory& memory(BufferType type) { return memories_[static_cast<std::size_t>(type)]; }

  std::int64_t l1_alignment_bytes_;
  std::int64_t allocation_alignment_bytes_;
  std::int64_t circular_buffer_base_;
  std::array<Memory, 4> memories_;  // by BufferType
};

}  // namespace tessera::tensix
