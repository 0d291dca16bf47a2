#include "tessera/backends/sim/tensix/conv2d_plan.h"

namespace tessera::tensix {

std::int64_t Conv2dPlan::circular_buffer_bytes() const {
  std::int64_t bytes = 0;
  for (const PlannedBuffer& buffer : circular_buffers) bytes += buffer.bytes;
  return bytes;
}

}  // namespace tessera::tensix
