"""Command queues, events, traces and simulated time.

A trace replays operators, so those of ttnn are wrapped: while a trace is captured, each call is kept. A replay makes the
same calls again in the memory that they had, without their cost on the host.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from tessera import _tessera
from tessera._tessera import Device, InvalidArgument, MeshEvent, MeshTraceId, Tensor
from tessera.ttnn import mesh
from tessera.ttnn.mesh import MeshDevice, MeshTensor


class _Number:
    """Stands for a tensor in the calls of a trace, which must not keep tensors alive: memory is freed as it was."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Capture:
    """The calls of a trace, and when its tensors were dropped."""

    def __init__(self) -> None:
        self.steps: list[Any] = []  # calls, and numbers of tensors that were dropped
        self.places: dict[int, Any] = {}  # of tensors that were there before, by number
        self._numbers: dict[int, int] = {}  # by id() of tensors that are alive
        self._watching: list[Any] = []
        self._count = 0

    def _watch(self, tensor: Tensor) -> int:
        number = self._count
        self._count += 1
        self._numbers[id(tensor)] = number

        def dropped(_: Any, key: int = id(tensor)) -> None:
            if self._numbers.get(key) == number:
                del self._numbers[key]
            self.steps.append(number)

        self._watching.append(weakref.ref(tensor, dropped))
        return number

    def _number(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or value.storage_type() != _tessera.StorageType.DEVICE:
            return value
        if id(value) not in self._numbers:
            _tessera._note_trace_input(value)
            self.places[self._watch(value)] = _tessera._place(value)
        return _Number(self._numbers[id(value)])

    def add(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = mesh.mapped((args, kwargs), self._number)
        result = function(*args, **kwargs)
        made = [
            self._numbers[id(tensor)] if id(tensor) in self._numbers else self._watch(tensor)
            for tensor in mesh.tensors_in(result)
        ]
        self.steps.append((function, *given, made))
        return result

    def end(self) -> None:
        self._watching.clear()
        self._numbers.clear()

    def replay(self) -> None:
        now: dict[int, Tensor] = {
            number: place.again() for number, place in self.places.items() if place is not None
        }

        def at_present(value: Any) -> Any:
            return now[value.number] if isinstance(value, _Number) else value

        for step in self.steps:
            if isinstance(step, int):
                now.pop(step, None)
                continue
            function, args, kwargs, made = step
            result = function(*mesh.mapped(args, at_present), **mesh.mapped(kwargs, at_present))
            now.update(zip(made, mesh.tensors_in(result), strict=True))
            del result


_capturing: dict[int, _Capture] = {}  # by id() of the device
_captured: dict[tuple[int, int], _Capture] = {}  # by id() of the device and number of the trace


def recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ttnn that traces can hold, that takes tensors of a mesh, and a queue to run in (queue_id)."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        queue = kwargs.pop("queue_id", None)
        if queue is not None:
            with contextlib.ExitStack() as scopes:
                devices = {id(t.device()): t.device() for t in mesh.tensors_in((args, kwargs)) if t.device() is not None}
                for device in devices.values():
                    scopes.enter_context(command_queue(device, int(queue)))
                return call(*args, **kwargs)
        if mesh.in_use() and mesh.has_mesh_tensor((args, kwargs)):
            return mesh.on_each(call, args, kwargs)
        if not _capturing:
            return function(*args, **kwargs)
        for tensor in mesh.tensors_in((args, kwargs)):
            if tensor.storage_type() == _tessera.StorageType.DEVICE:
                capture = _capturing.get(id(tensor.device()))
                if capture is not None:
                    return capture.add(function, args, kwargs)
        return function(*args, **kwargs)

    return call


def begin_trace_capture(mesh_device: Device | MeshDevice, *, cq_id: int | None = None) -> Any:
    """From here on operators are kept instead of run for good: only operators, and only such that have run before."""
    if isinstance(mesh_device, MeshDevice):
        return [begin_trace_capture(device, cq_id=cq_id) for device in mesh_device.devices]
    trace_id = _tessera._begin_trace_capture(mesh_device, cq_id)
    _capturing[id(mesh_device)] = _Capture()
    return trace_id


def end_trace_capture(mesh_device: Device | MeshDevice, trace_id: Any, *, cq_id: int | None = None) -> None:
    """Ends a capture. Needs room in the trace region, or, where its size is 0, in DRAM."""
    if isinstance(mesh_device, MeshDevice):
        for device, each in zip(mesh_device.devices, trace_id, strict=True):
            end_trace_capture(device, each, cq_id=cq_id)
        return
    try:
        _tessera._end_trace_capture(mesh_device, trace_id, cq_id)
    except _tessera.Error as error:
        if error.code == "out_of_memory":  # the capture is dropped
            _capturing.pop(id(mesh_device)).end()
        raise
    capture = _capturing.pop(id(mesh_device))
    capture.end()
    _captured[id(mesh_device), int(trace_id)] = capture


def execute_trace(
    mesh_device: Device | MeshDevice, trace_id: Any, *, cq_id: int | None = None, blocking: bool = True
) -> None:
    """Replays a trace: reads its inputs and writes its outputs where they were when it was captured."""
    if isinstance(mesh_device, MeshDevice):
        for device, each in zip(mesh_device.devices, trace_id, strict=True):
            execute_trace(device, each, cq_id=cq_id, blocking=blocking)
        return
    capture = _captured.get((id(mesh_device), int(trace_id)))
    _tessera._execute_trace(mesh_device, trace_id, cq_id, blocking, capture.replay if capture else lambda: None)


def release_trace(mesh_device: Device | MeshDevice, trace_id: Any) -> None:
    """Forgets a trace and frees what it took."""
    if isinstance(mesh_device, MeshDevice):
        for device, each in zip(mesh_device.devices, trace_id, strict=True):
            release_trace(device, each)
        return
    _tessera._release_trace(mesh_device, trace_id)
    _captured.pop((id(mesh_device), int(trace_id)), None)


def is_trace_capture_active(device: Device | MeshDevice) -> bool:
    """Whether operators of a device are being kept for a trace."""
    devices = device.devices if isinstance(device, MeshDevice) else [device]
    return any(id(each) in _capturing for each in devices)


def record_event(mesh_device: Device | MeshDevice, cq_id: int | None = None) -> Any:
    """An event that comes to pass when everything before it in its queue has ended."""
    if isinstance(mesh_device, MeshDevice):
        return [record_event(device, cq_id) for device in mesh_device.devices]
    return _tessera.record_event(mesh_device, cq_id)


def wait_for_event(cq_id: int | None, mesh_event: Any) -> None:
    """The queue goes on when the event has come to pass."""
    for event in mesh_event if isinstance(mesh_event, list) else [mesh_event]:
        if not isinstance(event, MeshEvent):
            raise InvalidArgument(
                f"wait_for_event: queue {cq_id} is to wait for {event!r}, which nobody recorded\n"
                "hint: pass what record_event returned"
            )
        _tessera.wait_for_event(cq_id, event)


def event_synchronize(mesh_event: Any) -> None:
    """The host waits for an event."""
    for event in mesh_event if isinstance(mesh_event, list) else [mesh_event]:
        _tessera.event_synchronize(event)


def synchronize_device(device: Device | MeshDevice, cq_id: int | None = None) -> None:
    """The host waits until a queue, or all of them, are empty: simulated time passes."""
    for each in device.devices if isinstance(device, MeshDevice) else [device]:
        _tessera.synchronize_device(each, cq_id)


@contextlib.contextmanager
def command_queue(device: Device, cq_id: int) -> Iterator[None]:
    """Operators and transfers go to this queue, unless they name another."""
    before = _tessera._set_queue(device, cq_id)
    try:
        yield
    finally:
        _tessera._set_queue(device, before)


def simulated_time(device: Device | MeshDevice | None = None) -> float:
    """Seconds on the host's clock since the device was opened (without one: on a clock for all devices, which never goes
    back), as it would be next to a card: calls, transfers, and waiting for queues where something waits."""
    if device is None:
        return _tessera._host_clock_ns() * 1e-9
    devices = device.devices if isinstance(device, MeshDevice) else [device]
    return max(_tessera._simulated_ns(each) for each in devices) * 1e-9


def simulated_device_time(device: Device | MeshDevice) -> float:
    """Seconds that kernels took, since the device was opened."""
    devices = device.devices if isinstance(device, MeshDevice) else [device]
    return max(_tessera._device_ns(each) for each in devices) * 1e-9


def trace_region_bytes(device: Device, trace_id: MeshTraceId) -> int:
    """What a trace takes of the trace region."""
    return _tessera._trace_bytes(device, trace_id)


__all__ = [
    "MeshTensor",
    "begin_trace_capture",
    "command_queue",
    "end_trace_capture",
    "event_synchronize",
    "execute_trace",
    "is_trace_capture_active",
    "record_event",
    "recorded",
    "release_trace",
    "simulated_device_time",
    "simulated_time",
    "synchronize_device",
    "trace_region_bytes",
    "wait_for_event",
]
