#include "any_tensor.h"
#include "bind.h"
#include "queue_scope.h"
#include "shape_like.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/time/device_queues.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using tensix::Blocking;
using tensix::DeviceQueues;
using tensix::TraceId;
using DevicePointer = std::shared_ptr<tensix::Device>;

struct MeshTraceId {
  TraceId id;
};

struct MeshEvent {
  DevicePointer device;
  tensix::QueuedEvent event;
};

struct Place {
  DevicePointer device;
  tensix::TensorSpec spec;
  tensix::Allocation allocation;
};

int queue_or_current(const DeviceQueues& queues, OptionalQueue queue) { return queue.value_or(queues.queue()); }

void bind_traces(nb::module_& module) {
  nb::class_<MeshTraceId>(module, "MeshTraceId", "What begin_trace_capture returns.")
      .def("__repr__", [](const MeshTraceId& t) { return fmt::format("MeshTraceId({})", static_cast<unsigned>(t.id)); })
      .def("__int__", [](const MeshTraceId& t) { return static_cast<unsigned>(t.id); })
      .def("__eq__", [](const MeshTraceId& a, const MeshTraceId& b) { return a.id == b.id; })
      .def("__hash__", [](const MeshTraceId& t) { return static_cast<unsigned>(t.id); });
  module.def(
      "_begin_trace_capture",
      [](const DevicePointer& device, OptionalQueue queue) {
        const auto queues = DeviceQueues::of(device);
        return MeshTraceId{queues->begin_trace_capture(queue_or_current(*queues, queue))};
      },
      "device"_a, "cq_id"_a = nb::none());
  module.def(
      "_end_trace_capture",
      [](const DevicePointer& device, const MeshTraceId& trace, OptionalQueue queue) {
        const auto queues = DeviceQueues::of(device);
        queues->end_trace_capture(trace.id, queue_or_current(*queues, queue));
      },
      "device"_a, "trace_id"_a, "cq_id"_a = nb::none());
  module.def(
      "_execute_trace",
      [](const DevicePointer& device, const MeshTraceId& trace, OptionalQueue queue, bool blocking,
         const nb::callable& again) {
        const auto queues = DeviceQueues::of(device);
        queues->execute_trace(trace.id, queue_or_current(*queues, queue), blocking ? Blocking::yes : Blocking::no,
                              [&] { again(); });
      },
      "device"_a, "trace_id"_a, "cq_id"_a.none(), "blocking"_a, "again"_a);
  module.def(
      "_release_trace",
      [](const DevicePointer& device, const MeshTraceId& trace) { DeviceQueues::of(device)->release_trace(trace.id); },
      "device"_a, "trace_id"_a);
  module.def(
      "_trace_bytes",
      [](const DevicePointer& device, const MeshTraceId& trace) {
        return DeviceQueues::of(device)->trace(trace.id).bytes;
      },
      "device"_a, "trace_id"_a);
  module.def(
      "_note_trace_input",
      [](const AnyTensor& x) {
        if (x.on_device()) DeviceQueues::of(x.device("trace").device())->note_input(x.device("trace"));
      },
      "tensor"_a);
  nb::class_<Place>(module, "_Place", "Where a tensor was when a trace was captured, without keeping it.")
      .def("again",
           [](const Place& p) { return AnyTensor(tensix::DeviceTensor::borrow(p.device, p.spec, p.allocation)); });
  module.def(
      "_place",
      [](const AnyTensor& x) -> std::optional<Place> {
        if (!x.on_device() || x.device("trace").buffer() == nullptr) return std::nullopt;
        const tensix::DeviceTensor& t = x.device("trace");
        return Place{t.device(), t.spec(), t.buffer()->allocation()};
      },
      "tensor"_a);
}

void bind_events(nb::module_& module) {
  nb::class_<MeshEvent>(module, "MeshEvent", "What record_event returns.").def("__repr__", [](const MeshEvent& e) {
    return fmt::format("MeshEvent(id={}, device_id={}, mesh_cq_id={})", static_cast<int>(e.event.event), e.device->id(),
                       e.event.queue);
  });
  module.def(
      "record_event",
      [](const DevicePointer& device, OptionalQueue queue) {
        const auto queues = DeviceQueues::of(device);
        return MeshEvent{device, queues->record_event(queue_or_current(*queues, queue))};
      },
      "mesh_device"_a, "cq_id"_a = nb::none(), "Comes to pass when everything before it in its queue has ended.");
  module.def(
      "wait_for_event",
      [](OptionalQueue queue, const MeshEvent& event) {
        const auto queues = DeviceQueues::of(event.device);
        queues->wait_for_event(queue_or_current(*queues, queue), event.event);
      },
      "cq_id"_a.none(), "mesh_event"_a, "The queue goes on when the event has come to pass.");
  module.def(
      "event_synchronize", [](const MeshEvent& e) { DeviceQueues::of(e.device)->synchronize_event(e.event); },
      "mesh_event"_a, "The host waits for an event.");
  module.def(
      "synchronize_device",
      [](const DevicePointer& device, OptionalQueue queue) { DeviceQueues::of(device)->synchronize(queue); },
      "device"_a, "cq_id"_a = nb::none(),
      "The host waits until a queue, or all of them, are empty: in simulated time.");
  module.def(
      "_simulated_ns", [](const DevicePointer& device) { return DeviceQueues::of(device)->simulated_ns(); },
      "device"_a);
  module.def(
      "_device_ns", [](const DevicePointer& device) { return DeviceQueues::of(device)->device_ns(); }, "device"_a);
  module.def("_host_clock_ns", &DeviceQueues::host_clock_ns);
  module.def(
      "_set_queue",
      [](const DevicePointer& device, int queue) {
        const auto queues = DeviceQueues::of(device);
        const int before = queues->queue();
        queues->set_queue(queue);
        return before;
      },
      "device"_a, "cq_id"_a);
}

}  // namespace

void bind_queues(nb::module_& module) {
  bind_traces(module);
  bind_events(module);
  module.def(
      "allocate_tensor_on_host",
      [](const ShapeLike& shape, DataType dtype, Layout layout, const nb::object&, const nb::object&) {
        return AnyTensor(Tensor(shape, dtype, layout));
      },
      "shape"_a, "dtype"_a, "layout"_a, "mesh_device"_a = nb::none(), "memory_config"_a = nb::none(),
      "A host tensor of zeros, for copy_device_to_host_tensor.");
  module.def(
      "copy_device_to_host_tensor",
      [](const AnyTensor& x, AnyTensor& y, bool blocking, OptionalQueue queue) {
        const QueueScope scope(x, queue, blocking);
        y.assign_host(tensix::from_device(x.device("copy_device_to_host_tensor")), "copy_device_to_host_tensor");
      },
      "device_tensor"_a, "host_tensor"_a, "blocking"_a = true, "cq_id"_a = nb::none());
}

}  // namespace tessera::python
