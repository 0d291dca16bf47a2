"""Arrays of other libraries to tensors and back."""

from __future__ import annotations

from typing import Any

from tessera._tessera import DataType, Device, Layout, MemoryConfig, StorageType, Tensor, Tile
from tessera.results import Array
from tessera.ttnn import mesh


def from_torch(
    tensor: Any,
    dtype: DataType | None = None,
    *,
    layout: Layout | None = None,
    device: Device | None = None,
    memory_config: MemoryConfig | None = None,
    tile: Tile | None = None,
    pad_value: float | None = None,
    mesh_mapper: Any = None,
) -> Tensor:
    """A tensor from anything with __dlpack__ or __array__: numpy, PyTorch (bfloat16 too) and others.

    A mesh_mapper or a mesh device makes a tensor for each chip.

    Without `dtype` it keeps the array's type where ttnn has it, without `layout` it is ROW_MAJOR (TILE for block floats).
    """
    if mesh_mapper is not None or isinstance(device, mesh.MeshDevice):
        return mesh.distribute(  # type: ignore[no-any-return]
            tensor,
            mesh_mapper,
            device,
            lambda part, to: Tensor(part, dtype, to, layout, memory_config, tile, None, pad_value, None),
        )
    return Tensor(tensor, dtype, device, layout, memory_config, tile, None, pad_value, None)


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


def to_numpy(tensor: Tensor, *, mesh_composer: Any = None) -> Array:
    """The values without padding; bfloat16 and block floats as float32."""
    if mesh_composer is not None:
        return mesh_composer.join([shard.to_numpy() for shard in mesh.get_device_tensors(tensor)])
    return tensor.to_numpy()


def to_torch(tensor: Tensor, dtype: Any = None, *, mesh_composer: Any = None) -> Any:
    """The values without padding as a PyTorch tensor, bfloat16 as such."""
    if mesh_composer is not None:
        values = mesh_composer.join([shard.to_torch() for shard in mesh.get_device_tensors(tensor)])
    else:
        values = tensor.to_torch()
    return values if dtype is None else values.to(dtype)


def is_tensor_storage_on_device(tensor: Tensor) -> bool:
    return tensor.storage_type() == StorageType.DEVICE
