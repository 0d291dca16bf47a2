#include "tessera/targets/tensix/card/circular_buffers.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

// The regions as disjoint rectangles: a new range takes its cores out of those it overlaps.
std::int64_t highest_end(const std::vector<CircularBufferRegion>& regions, const CoreRangeSet& cores,
                         std::int64_t base) {
  std::int64_t end = base;
  for (const CircularBufferRegion& region : regions)
    for (const CoreRange& range : cores.ranges())
      if (region.cores.intersects(range)) end = std::max(end, region.end_address);
  return end;
}

void raise_end(std::vector<CircularBufferRegion>& regions, const CoreRange& range, std::int64_t end) {
  std::vector<CircularBufferRegion> next;
  for (const CircularBufferRegion& region : regions) {
    if (!region.cores.intersects(range)) {
      next.push_back(region);
      continue;
    }
    const CoreRangeSet rest = CoreRangeSet(region.cores).without(range);
    for (const CoreRange& piece : rest.ranges()) next.push_back({piece, region.end_address});
  }
  next.push_back({range, end});
  regions = std::move(next);
}

}  // namespace

CircularBufferPlacement place_circular_buffers(const Device& device, const std::vector<CircularBuffer>& buffers,
                                               std::int64_t program_id) {
  device.check_open();
  CircularBufferPlacement placed =
      try_place_circular_buffers(device.card(), device.allocator(), buffers, program_id).value();
  const std::int64_t base = device.allocator().circular_buffer_base();
  std::int64_t end = base;
  for (const CircularBufferRegion& region : placed.regions) end = std::max(end, region.end_address);
  device.note({.kind = MemoryEvent::Kind::circular_buffers, .circular_buffer_bytes = end - base});
  return placed;
}

Result<CircularBufferPlacement> try_place_circular_buffers(const TensixSpec& card, const Allocator& allocator,
                                                           const std::vector<CircularBuffer>& buffers,
                                                           std::int64_t program_id, std::string_view kind) {
  const BankGrid grid{card.grid_x, card.grid_y};
  const std::int64_t base = allocator.circular_buffer_base();
  const std::int64_t alignment = allocator.allocation_alignment_bytes();
  CircularBufferPlacement out;
  for (const CircularBuffer& buffer : buffers) {
    check(buffer.bytes > 0, Code::invalid_argument, "circular buffer '{}' has {} B", buffer.name, buffer.bytes);
    check(!buffer.cores.empty(), Code::invalid_argument, "circular buffer '{}' is on no core", buffer.name);
    for (const CoreRange& range : buffer.cores.ranges())
      check(grid.contains(range.end), Code::invalid_argument,
            "circular buffer '{}' wants cores {} on a grid of {} columns and {} rows", buffer.name, range.to_string(),
            grid.columns, grid.rows);
    const std::int64_t address = round_up(highest_end(out.regions, buffer.cores, base), alignment);
    for (const CoreRange& range : buffer.cores.ranges()) raise_end(out.regions, range, address + buffer.bytes);
    out.buffers.push_back({buffer, address});
  }
  const std::int64_t l1_bytes = card.l1_bytes;
  const std::optional<std::int64_t> lowest = allocator.lowest_l1_address();
  for (const CircularBufferRegion& region : out.regions) {
    // The words of ttnn, here and below, which people search their logs for.
    if (region.end_address > l1_bytes)
      return Refusal{
          .message = fmt::format(
              "Statically allocated {} buffers on core range {} grow to {} B which is beyond max L1 size of {} B", kind,
              region.cores.to_string(), region.end_address, l1_bytes),
          .hint = "use smaller blocks (act_block_h_override), a smaller dtype, or no double buffering",
          .code = Code::out_of_memory,
          .shortage = Shortage::program,
          .requested_bytes = region.end_address - base,
          .free_bytes = l1_bytes - base,
          .largest_free_bytes = l1_bytes - base};
    if (lowest && region.end_address > *lowest) {
      const auto message = [&](std::string_view which) {
        return fmt::format(
            "Statically allocated {} buffers {}clash with L1 buffers on core range {}. L1 buffer allocated at {} and "
            "static {} buffer region ends at {}",
            kind, which, region.cores.to_string(), *lowest, kind, region.end_address);
      };
      return Refusal{.message = message(fmt::format("in program {} ", program_id)),
                     .hint = "deallocate or move tensors out of L1, or use smaller blocks",
                     .code = Code::out_of_memory,
                     .shortage = Shortage::l1_clash,
                     .requested_bytes = region.end_address - base,
                     .free_bytes = *lowest - base,
                     .largest_free_bytes = *lowest - base,
                     .lasting_message = message("")};
    }
  }
  return out;
}

}  // namespace tessera::tensix
