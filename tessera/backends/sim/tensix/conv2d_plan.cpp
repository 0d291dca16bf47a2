#include "tessera/backends/sim/tensix/conv2d_plan.h"

namespace tessera::tensix {

std::int64_t Conv2dPlan::circular_buffer_bytes() const {
  std::int64_t bytes = 0;
  for (const PlannedBuffer& buffer : circular_buffers) bytes += buffer.bytes;
  return bytes;
}

MemoryConfig Conv2dPlan::input_memory() const {
  return MemoryConfig(input.layout, BufferType::l1, ShardSpec{input.cores, input_shard, input.orientation});
}

MemoryConfig Conv2dPlan::output_memory() const {
  if (interleaved) return kDramMemoryConfig;
  return MemoryConfig(output.layout, BufferType::l1, ShardSpec{output.cores, output_shard, output.orientation});
}

}  // namespace tessera::tensix
