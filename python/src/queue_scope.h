#pragma once

// cq_id and blocking of one call: the device's queue while it lasts.

#include "any_tensor.h"

#include "tessera/targets/tensix/time/device_queues.h"

#include <memory>
#include <optional>

namespace tessera::python {

using OptionalQueue = std::optional<int>;

class QueueScope {
 public:
  QueueScope(const std::shared_ptr<tensix::Device>& device, OptionalQueue queue, bool blocking = true);
  QueueScope(const AnyTensor& x, OptionalQueue queue, bool blocking = true);  // host tensors have none
  ~QueueScope();
  QueueScope(const QueueScope&) = delete;
  QueueScope& operator=(const QueueScope&) = delete;

 private:
  std::shared_ptr<tensix::DeviceQueues> queues_;
  int before_ = 0;
};

}  // namespace tessera::python
