#include "tessera/targets/tensix/time/device_queues.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/time/kernel_time.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tessera::tensix {
namespace {

std::uint32_t number(TraceId id) { return static_cast<std::uint32_t>(id); }

Allocation allocation_of(const Buffer& buffer) { return buffer.allocation(); }

bool overlap(const Allocation& a, const Allocation& b) {
  return (a.type == BufferType::dram) == (b.type == BufferType::dram) && a.address < b.address + b.bytes_per_bank &&
         b.address < a.address + a.bytes_per_bank;
}

bool contains(const std::vector<Allocation>& list, const Allocation& a) {
  return std::find(list.begin(), list.end(), a) != list.end();
}

std::mutex registry_mutex;
double latest_ns = 0;  // of the host's clock
std::unordered_map<const Device*, std::weak_ptr<DeviceQueues>>& registry() {
  static std::unordered_map<const Device*, std::weak_ptr<DeviceQueues>> map;
  return map;
}

}  // namespace

DeviceQueues::DeviceQueues(Device& device)
    : device_(device),
      host_(host_model(device.card())),
      costs_(costs_of(device.machine())),
      queues_(host_, device.options().command_queues),
      opened_ns_(host_clock_ns()) {}

DeviceQueues::~DeviceQueues() {
  const std::lock_guard lock(registry_mutex);
  latest_ns = std::max(latest_ns, opened_ns_ + before_ns_);
  registry().erase(&device_);
}

double DeviceQueues::host_clock_ns() {
  std::vector<std::shared_ptr<DeviceQueues>> all;  // the last owner of one may be here: its end takes the lock too
  {
    const std::lock_guard lock(registry_mutex);
    for (const auto& [device, weak] : registry())
      if (std::shared_ptr<DeviceQueues> queues = weak.lock()) all.push_back(std::move(queues));
  }
  double latest = 0;
  for (const auto& queues : all) latest = std::max(latest, queues->opened_ns_ + queues->simulated_ns());
  const std::lock_guard lock(registry_mutex);
  latest_ns = std::max(latest_ns, latest);
  return latest_ns;
}

std::shared_ptr<DeviceQueues> DeviceQueues::of(const std::shared_ptr<Device>& device) {
  device->check_open();
  {
    const std::lock_guard lock(registry_mutex);
    if (const auto there = registry().find(device.get()); there != registry().end())
      if (std::shared_ptr<DeviceQueues> found = there->second.lock()) return found;
  }
  const std::shared_ptr<DeviceQueues> made(new DeviceQueues(*device));
  device->set_hooks(made->hooks(made));
  const std::lock_guard lock(registry_mutex);
  registry()[device.get()] = made;
  return made;
}

// The device owns them, and they own this.
DeviceHooks DeviceQueues::hooks(const std::shared_ptr<DeviceQueues>& self) {
  return {.before_transfer =
              [self](std::string_view op) {
                if (!self->capturing_) return;
                fail(Code::invalid_argument, Hint{"do it before begin_trace_capture or after end_trace_capture"},
                     "{} during the capture of trace {} in queue {}: a trace holds operators, no reads or writes", op,
                     number(self->capturing_->id), self->capturing_->trace.queue);
              },
          .on_transfer = [self](const TraceRecord& record) { self->on_transfer(record); },
          .on_program = [self](const TraceRecord& record, bool cached) { self->on_program(record, cached); }};
}

void DeviceQueues::check_queue(int queue, std::string_view call) const {
  device_.check_open();
  check(queue >= 0 && queue < queues_.queues(), Code::invalid_argument,
        Hint{"open the device with num_command_queues=2 for a second queue"},
        "{}: there is no command queue {}; device {} was opened with {}", call, queue, device_.id(), queues_.queues());
}

void DeviceQueues::check_not_capturing(std::string_view call) const {
  if (!capturing_) return;
  fail(Code::invalid_argument, Hint{"do it before begin_trace_capture or after end_trace_capture"},
       "{} during the capture of trace {} in queue {}: a trace holds operators, no events and no waiting", call,
       number(capturing_->id), capturing_->trace.queue);
}

void DeviceQueues::set_queue(int queue) {
  check_queue(queue, "queue_id");
  queue_ = queue;
}

void DeviceQueues::on_program(const TraceRecord& record, bool cached) {
  if (device_.is_replaying()) return;
  DeviceStep step{.name = std::string(record.op()),
                  .op = std::string(record.op()),
                  .kernel_ns = time_of(record, device_.card(), costs_).ns};
  if (record.kind == ProgramKind::halo || record.kind == ProgramKind::move)
    step.calls = 0;  // part of the operator that asked for it
  if (!capturing_) {
    device_ns_ += step.kernel_ns;
    return queues_.run(queue_, step);
  }
  check(cached, Code::invalid_argument, Hint{"run the model once before begin_trace_capture, with the same shapes"},
        "{} ({}) during the capture of trace {}: its program is not in the cache, and building it writes to the device",
        record.op(), record.detail, number(capturing_->id));
  capturing_->trace.steps.push_back(std::move(step));
}

void DeviceQueues::on_transfer(const TraceRecord& record) {
  if (device_.is_replaying()) return;
  for (const Transfer& t : record.transfers) {
    if (t.from == MemoryKind::host) {
      queues_.write(queue_, t.bytes, std::string(record.op()));
    } else if (t.to == MemoryKind::host) {
      queues_.read(queue_, t.bytes, std::string(record.op()), blocking_reads_ ? Blocking::yes : Blocking::no);
      restart_if_idle(blocking_reads_ && queues_.queues() == 1);
    }
  }
}

TraceId DeviceQueues::begin_trace_capture(int queue) {
  check_queue(queue, "begin_trace_capture");
  if (capturing_)
    fail(Code::invalid_argument, Hint{"end it first"}, "begin_trace_capture: trace {} is being captured in queue {}",
         number(capturing_->id), capturing_->trace.queue);
  const auto id = static_cast<TraceId>(next_id_++);
  capturing_ = Capture{id, {.queue = queue}, device_.live_buffers()};
  capturing_->trace.at_begin = device_.allocator();
  device_.log_allocations(&capturing_->trace.allocations);
  return id;
}

void DeviceQueues::note_input(const DeviceTensor& x) {
  if (!capturing_ || x.buffer() == nullptr) return;
  const Allocation place = allocation_of(*x.buffer());
  const bool before = std::find(capturing_->live.begin(), capturing_->live.end(), x.buffer()) != capturing_->live.end();
  if (before && !contains(capturing_->trace.inputs, place)) capturing_->trace.inputs.push_back(place);
}

void DeviceQueues::end_trace_capture(TraceId id, int queue) {
  check_queue(queue, "end_trace_capture");
  check(capturing_ && capturing_->id == id && capturing_->trace.queue == queue, Code::invalid_argument,
        Hint{"pass what begin_trace_capture returned, and its cq_id"},
        "end_trace_capture: trace {} is not being captured in queue {}", number(id), queue);
  device_.log_allocations(nullptr);
  Capture capture = std::move(*capturing_);
  capturing_.reset();
  MetalTrace& trace = capture.trace;
  for (const DeviceStep& step : trace.steps) trace.bytes += trace_bytes(step, device_.card().cores());
  std::int64_t taken = trace.bytes;
  for (const auto& [other, each] : traces_) taken += each.bytes;
  const std::int64_t region = device_.options().trace_region_bytes;
  check(region == 0 || taken <= region, Code::out_of_memory,
        Hint{fmt::format("open the device with trace_region_size={} or more, or release_trace() another first", taken)},
        "end_trace_capture: trace {} takes {} B ({} programs), with those captured before {} B, but trace_region_size "
        "is {} B; the capture is dropped",
        number(id), trace.bytes, trace.steps.size(), taken, region);
  for (const Buffer* buffer : device_.live_buffers())
    if (contains(trace.allocations, allocation_of(*buffer))) trace.outputs.push_back(allocation_of(*buffer));
  if (region == 0 && trace.bytes > 0) {  // as DRAM that is taken when needed
    const int banks = device_.card().dram_banks;
    const std::int64_t alignment = device_.card().dram_alignment_bytes;
    const std::int64_t per_bank = ((trace.bytes + banks - 1) / banks + alignment - 1) / alignment * alignment;
    trace.memory = device_.allocate_inside(BufferType::dram, {per_bank, trace.bytes, banks}, {"trace", {}});
  }
  traces_.emplace(id, std::move(trace));
}

MetalTrace& DeviceQueues::find(TraceId id, std::string_view call) {
  if (capturing_ && capturing_->id == id)
    fail(Code::invalid_argument, Hint{"call end_trace_capture first"}, "{}: trace {} is still being captured", call,
         number(id));
  const auto there = traces_.find(id);
  check(there != traces_.end(), Code::not_found, "{}: there is no trace {}; it was released or never captured", call,
        number(id));
  return there->second;
}

const MetalTrace& DeviceQueues::trace(TraceId id) const { return const_cast<DeviceQueues*>(this)->find(id, "trace"); }

// A trace has addresses in it. What it reads must still be there; what it writes must not be somebody else's by now.
void DeviceQueues::check_memory(TraceId id, const MetalTrace& trace) const {
  std::vector<Allocation> live;
  for (const Buffer* buffer : device_.live_buffers()) live.push_back(allocation_of(*buffer));
  for (const Allocation& input : trace.inputs)
    check(contains(live, input), Code::invalid_argument,
          Hint{"keep the inputs of a trace allocated, or allocate one of the same spec and compare buffer_address()"},
          "execute_trace: trace {} reads {} address {}, where its input no longer is", number(id), name(input.type),
          input.address);
  for (const Buffer* buffer : device_.live_buffers()) {
    const Allocation place = allocation_of(*buffer);
    if (buffer == trace.memory.get() || contains(trace.inputs, place) || contains(trace.outputs, place)) continue;
    for (const Allocation& written : trace.allocations)
      check(!overlap(place, written), Code::invalid_argument,
            Hint{"allocate what outlives a trace before its capture, or free it before the replay"},
            "execute_trace: trace {} writes {} address {}, where '{}' has been allocated since", number(id),
            name(written.type), written.address, buffer->holds().label);
  }
}

void DeviceQueues::execute_trace(TraceId id, int queue, Blocking blocking, const std::function<void()>& again) {
  check_queue(queue, "execute_trace");
  check_not_capturing("execute_trace");
  const MetalTrace& trace = find(id, "execute_trace");
  check_memory(id, trace);
  if (again) {
    std::vector<Allocation> allocations;
    device_.begin_replay(*trace.at_begin);
    device_.log_allocations(&allocations);
    const auto end = [&] {
      device_.log_allocations(nullptr);
      device_.end_replay();
    };
    try {
      again();
    } catch (...) {
      end();
      throw;
    }
    end();
    check(allocations == trace.allocations, Code::internal,
          "execute_trace: the replay of trace {} made {} allocations, not the {} that were captured", number(id),
          allocations.size(), trace.allocations.size());
  }
  for (const DeviceStep& step : trace.steps) device_ns_ += step.kernel_ns;
  queues_.replay(queue, trace.steps, fmt::format("trace {}", number(id)), blocking);
  restart_if_idle(blocking == Blocking::yes && queues_.queues() == 1);
}

void DeviceQueues::release_trace(TraceId id) {
  find(id, "release_trace");
  traces_.erase(id);
}

QueuedEvent DeviceQueues::record_event(int queue) {
  check_queue(queue, "record_event");
  check_not_capturing("record_event");
  return {epoch_, queues_.record_event(queue), queue};
}

void DeviceQueues::wait_for_event(int queue, const QueuedEvent& event) {
  check_queue(queue, "wait_for_event");
  check_not_capturing("wait_for_event");
  check(event.epoch >= 0, Code::invalid_argument, Hint{"pass what record_event() has returned"},
        "wait_for_event: the event was never recorded");
  if (event.epoch == epoch_) queues_.wait_for_event(queue, event.event);
}

void DeviceQueues::synchronize_event(const QueuedEvent& event) {
  check_not_capturing("event_synchronize");
  check(event.epoch >= 0, Code::invalid_argument, Hint{"pass what record_event() has returned"},
        "event_synchronize: the event was never recorded");
  if (event.epoch == epoch_) queues_.synchronize_event(event.event);
}

void DeviceQueues::synchronize(std::optional<int> queue) {
  device_.check_open();
  check_not_capturing("synchronize_device");
  if (queue) {
    check_queue(*queue, "synchronize_device");
    queues_.synchronize(*queue);
  } else {
    queues_.synchronize();
  }
  restart_if_idle(!queue || queues_.queues() == 1);
}

// Nothing of the past can matter any more when the host has waited for everything: the next epoch starts empty.
void DeviceQueues::restart_if_idle(bool idle) {
  if (!idle) return;
  before_ns_ += queues_.host_ns();
  queues_ = CommandQueues(host_, queues_.queues());
  ++epoch_;
}

double DeviceQueues::simulated_ns() const { return before_ns_ + queues_.host_ns(); }

}  // namespace tessera::tensix
