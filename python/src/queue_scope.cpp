#include "queue_scope.h"

#include "tessera/core/error.h"

namespace tessera::python {

QueueScope::QueueScope(const std::shared_ptr<tensix::Device>& device, OptionalQueue queue, bool blocking) {
  if (!queue && blocking) return;  // as it is anyway
  queues_ = tensix::DeviceQueues::of(device);
  before_ = queues_->queue();
  if (queue) queues_->set_queue(*queue);
  queues_->set_blocking_reads(blocking);
}

QueueScope::QueueScope(const AnyTensor& x, OptionalQueue queue, bool blocking) {
  if (!x.on_device() || (!queue && blocking)) return;
  queues_ = tensix::DeviceQueues::of(x.device("cq_id").device());
  before_ = queues_->queue();
  if (queue) queues_->set_queue(*queue);
  queues_->set_blocking_reads(blocking);
}

QueueScope::~QueueScope() {
  if (!queues_) return;
  queues_->set_blocking_reads(true);
  try {
    queues_->set_queue(before_);
  } catch (const Error&) {  // the device was closed meanwhile
  }
}

}  // namespace tessera::python
