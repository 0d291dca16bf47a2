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
    EnableMemoryReports,
    GetNumAvailableDevices,
    MemoryView,
    close_device,
    dump_device_memory_state,
    get_arch_name,
    get_dram_alignment,
    get_l1_alignment,
    get_max_worker_l1_unreserved_size,
    get_memory_view,
    open_device,
)
from tessera.ttnn.mesh import MeshDevice, close_mesh_device, open_mesh_device
from tessera.ttnn.queues import simulated_device_time, simulated_time, synchronize_device

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


def is_wormhole_b0(device: Device | None = None) -> bool:
    return device.arch() == Arch.WORMHOLE_B0 if device else get_arch_name() == "wormhole_b0"


def is_blackhole(device: Device | None = None) -> bool:
    return device.arch() == Arch.BLACKHOLE if device else get_arch_name() == "blackhole"


__all__ = [
    "DEFAULT_L1_SMALL_SIZE",
    "DEFAULT_TRACE_REGION_SIZE",
    "Arch",
    "CloseDevice",
    "CreateDevice",
    "DeallocateBuffers",
    "Device",
    "DisableMemoryReports",
    "EnableMemoryReports",
    "GetNumAvailableDevices",
    "MemoryView",
    "MeshDevice",
    "close_device",
    "close_mesh_device",
    "dump_device_memory_state",
    "get_arch_name",
    "get_dram_alignment",
    "get_l1_alignment",
    "get_max_worker_l1_unreserved_size",
    "get_memory_view",
    "is_blackhole",
    "is_wormhole_b0",
    "manage_device",
    "open_device",
    "open_mesh_device",
    "simulated_device_time",
    "simulated_time",
    "synchronize_device",
]
