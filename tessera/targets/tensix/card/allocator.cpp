#include "tessera/targets/tensix/card/allocator.h"

#include "tessera/core/error.h"
#include "tessera/core/shape.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

Shortage shortage_of(BufferType type) {
  switch (type) {
    case BufferType::dram: return Shortage::dram;
    case BufferType::l1: return Shortage::l1;
    case BufferType::l1_small: return Shortage::l1_small;
    case BufferType::trace: return Shortage::trace;
  }
  return Shortage::none;
}

}  // namespace

Allocator::Allocator(const TensixSpec& card, const DeviceOptions& options)
    : l1_alignment_bytes_(card.l1_alignment_bytes), allocation_alignment_bytes_(card.dram_alignment_bytes) {
  const std::int64_t unit = allocation_alignment_bytes_;
  check(options.l1_small_bytes >= 0 && options.trace_region_bytes >= 0 && options.worker_l1_bytes >= 0,
        Code::invalid_argument, "l1_small_size {}, trace_region_size {} and worker_l1_size {} must not be negative",
        options.l1_small_bytes, options.trace_region_bytes, options.worker_l1_bytes);
  check(options.worker_l1_bytes <= card.l1_max_worker_bytes, Code::invalid_argument,
        "worker_l1_size {} is more than the {} B of a core that programs may use", options.worker_l1_bytes,
        card.l1_max_worker_bytes);
  const std::int64_t worker_bytes = options.worker_l1_bytes > 0 ? options.worker_l1_bytes / unit * unit
                                                                : card.l1_bytes - card.l1_unreserved_base_bytes;
  circular_buffer_base_ = card.l1_bytes - worker_bytes;
  const std::int64_t small_bytes = round_up(options.l1_small_bytes, unit);
  check(small_bytes < worker_bytes, Code::invalid_argument, Hint{"typical values are 8192 to 32768"},
        "l1_small_size {} leaves nothing of the {} B of L1 per core", options.l1_small_bytes, worker_bytes);
  const std::int64_t trace_bytes =
      round_up(ceil_div(options.trace_region_bytes, card.dram_banks), card.trace_alignment_bytes);
  check(trace_bytes < card.dram_bank_bytes, Code::invalid_argument,
        "trace_region_size {} takes {} B of each DRAM bank, which has {} B", options.trace_region_bytes, trace_bytes,
        card.dram_bank_bytes);

  const int cores = card.grid_x * card.grid_y;
  const std::int64_t dram_bytes = card.dram_bank_bytes - trace_bytes;
  memory(BufferType::dram) = {FreeList(dram_bytes, unit), card.dram_bank_base_bytes, card.dram_banks, true};
  memory(BufferType::trace) = {FreeList(trace_bytes, unit), card.dram_bank_base_bytes + dram_bytes, card.dram_banks,
                               true};
  memory(BufferType::l1) = {FreeList(worker_bytes - small_bytes, unit), circular_buffer_base_, cores, false};
  memory(BufferType::l1_small) = {FreeList(small_bytes, unit), card.l1_bytes - small_bytes, small_bytes > 0 ? cores : 0,
                                  false};
}

Result<std::int64_t> Allocator::try_allocate(BufferType type, const AllocationRequest& request) {
  Memory& m = memory(type);
  if (const std::optional<std::int64_t> offset = m.list.allocate(request.bytes_per_bank, m.bottom_up))
    return m.base_address + *offset;

  std::string hint;
  if (type == BufferType::l1_small)
    hint = m.list.size_bytes() > 0
               ? "L1_SMALL gets its size when the device is opened: pass a larger l1_small_size to open_device"
               : "L1_SMALL has 0 B until open_device is given an l1_small_size";
  else if (type == BufferType::trace)
    hint = "pass a larger trace_region_size to open_device";
  else if (request.bytes_per_bank <= m.list.free_bytes())
    hint = "enough is free but not in one piece: reallocate or move tensors";
  else if (type == BufferType::l1)
    hint = "shard over more cores, use a smaller dtype, or keep the tensor in DRAM";
  // The words of ttnn, which people search their logs for.
  std::string message = fmt::format(
      "Out of Memory: Not enough space to allocate {} B {} buffer across {} banks, where each bank needs to store {} "
      "B, but bank size is {} B (allocated: {} B, free: {} B, largest free block: {} B).",
      request.total_bytes, name(type), request.banks, request.bytes_per_bank, m.list.size_bytes(),
      m.list.allocated_bytes(), m.list.free_bytes(), m.list.largest_free_block_bytes());
  return Refusal{.message = std::move(message),
                 .hint = std::move(hint),
                 .code = Code::out_of_memory,
                 .shortage = shortage_of(type),
                 .requested_bytes = request.bytes_per_bank,
                 .free_bytes = m.list.free_bytes(),
                 .largest_free_bytes = m.list.largest_free_block_bytes()};
}

void Allocator::deallocate(BufferType type, std::int64_t address) {
  Memory& m = memory(type);
  m.list.deallocate(address - m.base_address);
}

void Allocator::clear() {
  for (Memory& m : memories_) m.list.clear();
}

MemoryView Allocator::view(BufferType type) const {
  const Memory& m = memory(type);
  return {m.banks, m.list.size_bytes(), m.list.allocated_bytes(), m.list.free_bytes(),
          m.list.largest_free_block_bytes()};
}

std::int64_t Allocator::page_alignment_bytes(BufferType type) const {
  const bool dram = type == BufferType::dram || type == BufferType::trace;
  return dram ? allocation_alignment_bytes_ : l1_alignment_bytes_;
}

std::optional<std::int64_t> Allocator::lowest_l1_address() const {
  const std::optional<std::int64_t> offset = memory(BufferType::l1).list.lowest_allocated_address();
  if (!offset) return std::nullopt;
  return memory(BufferType::l1).base_address + *offset;
}

}  // namespace tessera::tensix
