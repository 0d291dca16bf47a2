#include "tessera/targets/tensix/ops/move/move.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"

namespace tessera::tensix {
namespace {

TensorSpec moved_spec(const DeviceTensor& x, const std::optional<MemoryConfig>& config) {
  const TensorSpec& spec = x.spec();
  if (!config) return spec;
  const MemoryConfig& from = spec.memory_config();
  if (!from.is_sharded()) return spec.with_memory_config(*config);
  check(config->is_sharded(), Code::invalid_argument, Hint{"use sharded_to_interleaved or to_memory_config"},
        "move: a {} tensor can only move to a sharded memory config", name(from.layout()));
  const Allocator& allocator = x.device()->allocator();
  const std::int64_t in = allocator.page_alignment_bytes(from.buffer_type());
  const std::int64_t out = allocator.page_alignment_bytes(config->buffer_type());
  check(in == out, Code::invalid_argument, Hint{"use to_memory_config"},
        "move: pages are aligned to {} B in {} and to {} B in {}, shards cannot move as they are", in,
        name(from.buffer_type()), out, name(config->buffer_type()));
  return spec.with_memory_config(MemoryConfig(config->layout(), config->buffer_type(), from.shard_spec()));
}

// Rehearses on a copy of the allocator, because a refusal must leave the device as it was.
void check_room(const DeviceTensor& x, const TensorSpec& target) {
  Allocator rehearsal = x.device()->allocator();
  if (x.num_pages() > 0) rehearsal.deallocate(x.spec().memory_config().buffer_type(), x.address());
  if (target.num_pages() > 0)
    rehearsal.allocate(target.memory_config().buffer_type(), DeviceTensor::request(*x.device(), target));
}

}  // namespace

DeviceTensor move(DeviceTensor& x, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  if (!x.is_sole_owner()) return x;
  const TensorSpec target = moved_spec(x, config);
  check_room(x, target);

  const Tensor values = read_pages(x);
  const std::int64_t old_address = x.address();
  const MemoryConfig from = x.spec().memory_config();
  x.deallocate();
  DeviceTensor y = DeviceTensor::allocate(x.device(), target);
  Transfer moved = write_pages(values, y);
  moved.from = memory_kind(from.buffer_type());
  // In the same placement every page stays on its core.
  if (moved.from == MemoryKind::l1 && from == target.memory_config()) moved.local_bytes = moved.bytes;
  finish_program({ProgramKind::move, fmt::format("{} to {}", old_address, y.address()), {moved}}, {&x}, y);
  return y;
}

}  // namespace tessera::tensix
