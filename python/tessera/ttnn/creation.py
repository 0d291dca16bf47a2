"""Tensors made of a number: like another tensor, or counting."""

from __future__ import annotations

from typing import Any

import numpy

from tessera import _tessera
from tessera._tessera import DataType, Device, InvalidArgument, Layout, MemoryConfig, StorageType, Tensor
from tessera.ttnn.tensors import from_numpy


def full_like(
    tensor: Tensor,
    fill_value: float,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A tensor of the same shape, dtype, layout and place, where nothing else is said, full of one number."""
    on_device = tensor.storage_type() == StorageType.DEVICE
    same = dtype in (None, tensor.dtype) and layout in (None, tensor.layout) and device in (None, tensor.device())
    if on_device and same:  # a program of the card writes it
        return _tessera.fill(tensor, float(fill_value), memory_config=memory_config)
    to = device if device is not None else tensor.device()
    place = memory_config if memory_config is not None or to is None or not on_device else tensor.memory_config()
    kind, form = dtype or tensor.dtype, layout or tensor.layout
    if to is None:
        return _tessera.full(tensor.shape, fill_value, kind, form)
    return _tessera.full(tensor.shape, fill_value, kind, form, to, place)


def zeros_like(
    tensor: Tensor,
    *,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """full_like of 0."""
    return full_like(tensor, 0, dtype, layout, device, memory_config)


def ones_like(
    tensor: Tensor,
    *,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """full_like of 1."""
    return full_like(tensor, 1, dtype, layout, device, memory_config)


def empty_like(
    tensor: Tensor,
    *,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Memory for a tensor of the same shape, dtype, layout and place, where nothing else is said."""
    to = device if device is not None else tensor.device()
    kind, form = dtype or tensor.dtype, layout or tensor.layout
    if to is None:
        return _tessera.empty(tensor.shape, kind, form)
    return _tessera.empty(tensor.shape, kind, form, to, memory_config or tensor.memory_config())


def arange(
    *bounds: int,
    start: int = 0,
    end: int | None = None,
    step: int = 1,
    dtype: DataType = DataType.BFLOAT16,
    device: Device | None = None,
    memory_config: MemoryConfig | None = None,
    layout: Layout = Layout.ROW_MAJOR,
) -> Tensor:
    """start, start + step, ... below end: arange(end), arange(start, end), arange(start, end, step)."""
    if len(bounds) > 3:
        raise InvalidArgument(f"arange: three numbers at most stand for start, end and step, not {len(bounds)}")
    if len(bounds) == 1:
        end = bounds[0]
    elif bounds:
        start, end = bounds[0], bounds[1]
        step = bounds[2] if len(bounds) == 3 else step
    if end is None:
        raise InvalidArgument("arange: an end must be given")
    if step == 0 or (end - start) * step <= 0:
        raise InvalidArgument(f"arange: there is nothing from {start} to {end} in steps of {step}")
    values: Any = numpy.arange(start, end, step)
    return from_numpy(values, dtype, layout=layout, device=device, memory_config=memory_config)


__all__ = ["arange", "empty_like", "full_like", "ones_like", "zeros_like"]
