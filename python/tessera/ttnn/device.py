"""Devices: opening, memory views, memory reports."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tessera._tessera import (
    Arch,
    CloseDevice,
    CreateDevice,
    DeallocateBuffers,
    Device,
    DisableMemoryReports,
    DispatchCoreAxis,
    DispatchCoreConfig,
    DispatchCoreType,
    EnableMemoryReports,
    GetNumAvailableDevices,
    MemoryView,
    close_device,
    dump_device_memory_state,
    get_arch_name,
    get_dram_alignment,
    get_l1_alignment,
    get_max_worker_l1_unreserved_size,
    InvalidArgument,
    get_memory_view,
    open_device,
)
from tessera.ttnn.mesh import MeshDevice, MeshShape, close_mesh_device, open_mesh_device
from tessera.ttnn.queues import simulated_device_time, simulated_time, synchronize_device

# One chip is a mesh of one.
setattr(Device, "shape", property(lambda device: MeshShape(1, 1)))

DEFAULT_L1_SMALL_SIZE = 0
DEFAULT_TRACE_REGION_SIZE = 0


@contextlib.contextmanager
def manage_device(device_id: int = 0, **options: int) -> Iterator[Device]:
    """Opens a device for the length of a with statement."""
    device = open_device(device_id=device_id, **options)
    try:
        yield device
    finally:
        close_device(device)


def CreateDevices(
    device_ids: list[int],
    num_command_queues: int = 1,
    l1_small_size: int = DEFAULT_L1_SMALL_SIZE,
    trace_region_size: int = DEFAULT_TRACE_REGION_SIZE,
    dispatch_core_config: DispatchCoreConfig | None = None,
    *,
    worker_l1_size: int = 0,
) -> dict[int, Device]:
    """Opens several chips, each by its number."""
    if len(set(device_ids)) != len(device_ids):
        raise InvalidArgument(f"CreateDevices: a chip is named twice in {device_ids}")
    return {
        each: CreateDevice(
            each,
            num_command_queues,
            l1_small_size,
            trace_region_size,
            dispatch_core_config,
            worker_l1_size=worker_l1_size,
        )
        for each in device_ids
    }


def CloseDevices(devices: dict[int, Device]) -> None:
    """Closes what CreateDevices opened."""
    for device in devices.values():
        close_device(device)


_default: Device | MeshDevice | None = None


def SetDefaultDevice(device: Device | MeshDevice | None) -> None:
    """Keeps a device for GetDefaultDevice."""
    global _default
    _default = device


def GetDefaultDevice() -> Device | MeshDevice | None:
    """The device that SetDefaultDevice was given; None without."""
    return _default


def GetNumPCIeDevices() -> int:
    """Boards in the host: one, as the machine file says."""
    return 1


def GetPCIeDeviceID(device_id: int) -> int:
    """The chip of a board that the host reaches a chip by."""
    chips = GetNumAvailableDevices()
    if not 0 <= device_id < chips:
        raise InvalidArgument(f"GetPCIeDeviceID: there is no chip {device_id}, only {chips}")
    return 0


def get_num_devices() -> int:
    return GetNumAvailableDevices()


def get_device_ids() -> list[int]:
    return list(range(GetNumAvailableDevices()))


def get_num_pcie_devices() -> int:
    return GetNumPCIeDevices()


def get_pcie_device_ids() -> list[int]:
    return list(range(GetNumPCIeDevices()))


def is_wormhole_b0(device: Device | None = None) -> bool:
    return device.arch() == Arch.WORMHOLE_B0 if device else get_arch_name() == "wormhole_b0"


def is_blackhole(device: Device | None = None) -> bool:
    return device.arch() == Arch.BLACKHOLE if device else get_arch_name() == "blackhole"


__all__ = [
    "DEFAULT_L1_SMALL_SIZE",
    "DEFAULT_TRACE_REGION_SIZE",
    "Arch",
    "CloseDevice",
    "CloseDevices",
    "CreateDevice",
    "CreateDevices",
    "DeallocateBuffers",
    "Device",
    "DisableMemoryReports",
    "DispatchCoreAxis",
    "DispatchCoreConfig",
    "DispatchCoreType",
    "EnableMemoryReports",
    "GetDefaultDevice",
    "GetNumAvailableDevices",
    "GetNumPCIeDevices",
    "GetPCIeDeviceID",
    "MemoryView",
    "MeshDevice",
    "SetDefaultDevice",
    "close_device",
    "close_mesh_device",
    "dump_device_memory_state",
    "get_arch_name",
    "get_device_ids",
    "get_dram_alignment",
    "get_l1_alignment",
    "get_max_worker_l1_unreserved_size",
    "get_memory_view",
    "get_num_devices",
    "get_num_pcie_devices",
    "get_pcie_device_ids",
    "is_blackhole",
    "is_wormhole_b0",
    "manage_device",
    "open_device",
    "open_mesh_device",
    "simulated_device_time",
    "simulated_time",
    "synchronize_device",
]
