#pragma once

// An open device behind its command queues: when things happen, and traces. From the moment it exists, every program
// and every transfer of the device is put on a simulated clock.

#include "tessera/core/export.h"
#include "tessera/machine/tensix_costs.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/time/command_queue.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

enum class TraceId : std::uint32_t {};

struct QueuedEvent {
  int epoch = -1;  // of the clock; what was before has come to pass
  EventId event = EventId::none;
  int queue = 0;
};

// What a trace has recorded.
struct MetalTrace {
  int queue = 0;
  std::vector<DeviceStep> steps = {};
  std::int64_t bytes = 0;                    // in the trace region
  std::vector<Allocation> allocations = {};  // made while it was captured: a replay writes there
  std::vector<Allocation> inputs = {};       // read, and there before
  std::vector<Allocation> outputs = {};      // made and still there at the end
  std::shared_ptr<Buffer> memory = {};       // where there is no trace region
  std::optional<Allocator> at_begin = {};    // the allocator as it was
};

class TSR_API DeviceQueues {
 public:
  // The one of this device; made when first asked for.
  static std::shared_ptr<DeviceQueues> of(const std::shared_ptr<Device>& device);
  ~DeviceQueues();

  // The queue of operators and transfers that name none.
  int queue() const { return queue_; }
  void set_queue(int queue);
  // Whether the host waits for reads from here on.
  void set_blocking_reads(bool blocking) { blocking_reads_ = blocking; }

  // Only operators may come between begin and end, and they must have run before.
  TraceId begin_trace_capture(int queue);
  void end_trace_capture(TraceId id, int queue);
  bool is_capturing() const { return capturing_.has_value(); }
  // A tensor that a captured operator reads and that no captured operator has made.
  void note_input(const DeviceTensor& x);
  // `again` runs the operators once more, for their values; it finds memory as it was when the capture began, and must
  // free what it allocates. Without one only time passes.
  void execute_trace(TraceId id, int queue, Blocking blocking, const std::function<void()>& again = {});
  void release_trace(TraceId id);
  const MetalTrace& trace(TraceId id) const;

  QueuedEvent record_event(int queue);
  void wait_for_event(int queue, const QueuedEvent& event);
  void synchronize_event(const QueuedEvent& event);
  void synchronize(std::optional<int> queue = {});

  // Since the device was opened, as the host's clock has it. Simulates what is in the queues.
  double simulated_ns() const;
  // A clock of the host for all devices, open and closed: it never goes back.
  static double host_clock_ns();
  // Kernels alone, so far.
  double device_ns() const { return device_ns_; }

 private:
  struct Capture {
    TraceId id;
    MetalTrace trace;
    std::vector<const Buffer*> live;
  };

  explicit DeviceQueues(Device& device);
  DeviceHooks hooks(const std::shared_ptr<DeviceQueues>& self);
  void check_queue(int queue, std::string_view call) const;
  void check_not_capturing(std::string_view call) const;
  void check_memory(TraceId id, const MetalTrace& trace) const;
  MetalTrace& find(TraceId id, std::string_view call);
  void on_program(const TraceRecord& record, bool cached);
  void on_transfer(const TraceRecord& record);
  void restart_if_idle(bool idle);

  Device& device_;
  HostModel host_;
  std::optional<TensixCosts> costs_;
  CommandQueues queues_;
  double opened_ns_ = 0;  // on the host's clock
  double before_ns_ = 0;  // of earlier epochs
  int epoch_ = 0;
  int queue_ = 0;
  bool blocking_reads_ = true;
  double device_ns_ = 0;
  std::uint32_t next_id_ = 0;
  std::optional<Capture> capturing_;
  std::map<TraceId, MetalTrace> traces_;
};

}  // namespace tessera::tensix
