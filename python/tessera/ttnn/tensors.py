"""Arrays of other libraries to tensors and back."""

from __future__ import annotations

from typing import Any

from tessera._tessera import DataType, Device, Layout, MemoryConfig, StorageType, Tensor, Tile


def from_torch(
    tensor: Any,
    dtype: DataType | None = None,
    *,
    layout: Layout | None = None,
    device: Device | None = None,
    memory_config: MemoryConfig | None = None,
    tile: Tile | None = None,
    pad_value: float | None = None,
    mesh_mapper: None = None,
) -> Tensor:
    """A tensor from anything with __dlpack__ or __array__: numpy, PyTorch (bfloat16 too) and others.

    Without `dtype` it keeps the array's type where ttnn has it, without `layout` it is ROW_MAJOR (TILE for block floats).
    """
    return Tensor(tensor, dtype, device, layout, memory_config, tile, None, pad_value, mesh_mapper)


from_numpy = from_torch


def as_tensor(
    tensor: Any,
    dtype: DataType | None = None,
    *,
    layout: Layout | None = None,
    device: Device | None = None,
    memory_config: MemoryConfig | None = None,
    tile: Tile | None = None,
    pad_value: float | None = None,
) -> Tensor:
    """from_torch, and ttnn tensors as they are."""
    if isinstance(tensor, Tensor):
        return tensor
    return from_torch(
        tensor, dtype, layout=layout, device=device, memory_config=memory_config, tile=tile, pad_value=pad_value
    )


def to_numpy(tensor: Tensor) -> Any:
    """The values without padding; bfloat16 and block floats as float32."""
    return tensor.to_numpy()


def to_torch(tensor: Tensor, dtype: Any = None) -> Any:
    """The values without padding as a PyTorch tensor, bfloat16 as such."""
    values = tensor.to_torch()
    return values if dtype is None else values.to(dtype)


def is_tensor_storage_on_device(tensor: Tensor) -> bool:
    return tensor.storage_type() == StorageType.DEVICE
