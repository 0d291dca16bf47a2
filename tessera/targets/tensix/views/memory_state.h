#pragma once

// Everything that lies in the memories of a device, as one value: reports and pictures are made from it, so that they
// agree. (machine/memory_report.h writes the files that TTNN users know.)

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/card/trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::tensix {

struct TSR_API MemoryState {
  static constexpr int kNoBuffer = -1;

  // A piece of every bank of a memory, between two addresses that the allocator knows.
  struct Block {
    int id = 0;  // the allocator's own
    std::int64_t address = 0;
    std::int64_t size_bytes = 0;
    bool allocated = false;
    int buffer = kNoBuffer;  // position in `buffers`
  };

  struct TSR_API Memory {
    BufferType type = BufferType::dram;
    MemoryView view;
    std::int64_t base_address = 0;
    std::vector<Block> blocks;  // by address, without gaps: they add up to view.total_bytes_per_bank

    // Which part of the free bytes is not in the largest free block: 0 for one hole or none, towards 1 for many.
    double fragmentation() const;
  };

  struct TSR_API Buffer {
    std::string name;   // given by whoever takes the state; may be empty
    std::string label;  // "[1, 1, 64, 64] bfloat16 TILE HEIGHT_SHARDED"
    BufferType memory = BufferType::dram;
    std::int64_t address = 0;
    std::int64_t bytes_per_bank = 0;  // what was asked for
    std::int64_t reserved_bytes = 0;  // over all banks of the memory, which move in lock step
    // Bytes of pages (padding inside pages included) by bank; empty if nobody said what the buffer holds.
    std::vector<std::int64_t> useful_bytes_by_bank;

    bool knows_contents() const { return !useful_bytes_by_bank.empty(); }
    std::int64_t useful_bytes() const;  // of all banks; the reserved bytes if the contents are unknown
    int banks_used() const;
    double useful_fraction() const;  // of the reserved bytes
    std::string title() const;       // name and label
  };

  int device_id = 0;
  std::string machine;  // "wormhole_n150"
  std::string title;    // "Tenstorrent Wormhole n150"
  std::string arch;
  BankGrid cores;
  int dram_banks = 0;
  std::int64_t l1_bytes = 0;           // of one core
  std::int64_t l1_reserved_bytes = 0;  // below circular buffers and L1 buffers
  std::int64_t dram_bank_bytes = 0;    // of one bank, what is reserved below included
  std::int64_t dram_reserved_bytes = 0;

  std::vector<Memory> memories;  // DRAM, L1, and L1_SMALL and TRACE where the device has them
  std::vector<Buffer> buffers;   // in order of allocation
  CircularBufferPlacement circular_buffers;
  Trace moves;

  const Memory* find(BufferType type) const;  // null: the device has no such region
};

// `circular_buffers` are those of the program to show; a device keeps none.
TSR_API MemoryState memory_state(const Device& device, CircularBufferPlacement circular_buffers = {});

// {"schema": 1, "device": {...}, "memories": [...], "buffers": [...], "circular_buffers": [...], "moves": [...]}.
// Addresses are those that tensors have. Useful bytes come in runs of equal banks: {"first_bank", "banks", "bytes"}.
TSR_API std::string memory_state_json(const MemoryState& state);

// One row for each block: memory, id, address, size_bytes, allocated, name, label, useful_bytes (of all banks). RFC
// 4180.
TSR_API std::string memory_state_csv(const MemoryState& state);

}  // namespace tessera::tensix
