#include "tessera/targets/tensix/views/memory_column.h"

#include "tessera/core/error.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

class ColumnBuilder {
 public:
  void add(SegmentKind kind, std::int64_t bytes, int index = MemoryState::kNoBuffer) {
    if (bytes <= 0) return;
    column_.push_back({kind, end_, bytes, index});
    end_ += bytes;
  }
  void add_until(SegmentKind kind, std::int64_t address) { add(kind, address - end_); }
  std::int64_t end() const { return end_; }
  MemoryColumn take() { return std::move(column_); }

 private:
  MemoryColumn column_;
  std::int64_t end_ = 0;
};

void add_buffer(ColumnBuilder& column, const MemoryState& state, const MemoryState::Block& block, int bank) {
  std::int64_t useful = block.size_bytes;
  if (block.buffer != MemoryState::kNoBuffer) {
    const MemoryState::Buffer& buffer = state.buffers[static_cast<std::size_t>(block.buffer)];
    if (buffer.knows_contents()) useful = buffer.useful_bytes_by_bank[static_cast<std::size_t>(bank)];
  }
  useful = std::min(useful, block.size_bytes);
  column.add(SegmentKind::data, useful, block.buffer);
  column.add(SegmentKind::no_data, block.size_bytes - useful, block.buffer);
}

// A free block, cut where circular buffers of this core lie in it.
void add_free(ColumnBuilder& column, const MemoryState& state, const MemoryState::Block& block, CoreCoord core) {
  const std::int64_t end = block.address + block.size_bytes;
  std::vector<std::size_t> here;
  const auto& placed = state.circular_buffers.buffers;
  for (std::size_t i = 0; i < placed.size(); ++i)
    if (placed[i].buffer.cores.contains(core) && placed[i].address >= block.address && placed[i].address < end)
      here.push_back(i);
  std::sort(here.begin(), here.end(), [&](auto a, auto b) { return placed[a].address < placed[b].address; });
  for (const std::size_t i : here) {
    column.add_until(SegmentKind::free, placed[i].address);
    column.add(SegmentKind::circular_buffer, std::min(placed[i].buffer.bytes, end - column.end()), static_cast<int>(i));
  }
  column.add_until(SegmentKind::free, end);
}

}  // namespace

std::string_view name(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::reserved: return "reserved";
    case SegmentKind::circular_buffer: return "circular_buffer";
    case SegmentKind::free: return "free";
    case SegmentKind::data: return "data";
    case SegmentKind::no_data: return "no_data";
    case SegmentKind::free_small: return "free_small";
    case SegmentKind::free_trace: return "free_trace";
  }
  return "unknown";
}

std::string_view description(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::reserved: return "reserved for firmware";
    case SegmentKind::circular_buffer: return "circular buffer";
    case SegmentKind::free: return "free";
    case SegmentKind::data: return "tensor data";
    case SegmentKind::no_data: return "taken, holds nothing here";
    case SegmentKind::free_small: return "free L1_SMALL";
    case SegmentKind::free_trace: return "free TRACE region";
  }
  return "unknown";
}

MemoryColumn core_column(const MemoryState& state, int core) {
  check(core >= 0 && core < state.cores.count(), Code::invalid_argument, "core {} is not one of {}", core,
        state.cores.count());
  ColumnBuilder column;
  column.add(SegmentKind::reserved, state.l1_reserved_bytes);
  for (BufferType type : {BufferType::l1, BufferType::l1_small}) {
    const MemoryState::Memory* memory = state.find(type);
    if (memory == nullptr) continue;
    for (const MemoryState::Block& block : memory->blocks) {
      if (block.allocated)
        add_buffer(column, state, block, core);
      else if (type == BufferType::l1)
        add_free(column, state, block, state.cores.core(core));
      else
        column.add(SegmentKind::free_small, block.size_bytes);
    }
  }
  return column.take();
}

MemoryColumn dram_column(const MemoryState& state, int bank) {
  check(bank >= 0 && bank < state.dram_banks, Code::invalid_argument, "DRAM bank {} is not one of {}", bank,
        state.dram_banks);
  ColumnBuilder column;
  column.add(SegmentKind::reserved, state.dram_reserved_bytes);
  for (BufferType type : {BufferType::dram, BufferType::trace}) {
    const MemoryState::Memory* memory = state.find(type);
    if (memory == nullptr) continue;
    for (const MemoryState::Block& block : memory->blocks) {
      if (block.allocated)
        add_buffer(column, state, block, bank);
      else
        column.add(type == BufferType::dram ? SegmentKind::free : SegmentKind::free_trace, block.size_bytes);
    }
  }
  return column.take();
}

std::int64_t bytes_of(const MemoryColumn& column, SegmentKind kind) {
  std::int64_t bytes = 0;
  for (const MemorySegment& segment : column)
    if (segment.kind == kind) bytes += segment.bytes;
  return bytes;
}

}  // namespace tessera::tensix
