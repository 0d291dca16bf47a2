"""Arrays of other libraries to tensors and back."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

from tessera._tessera import (
    DataType,
    Device,
    Error,
    InvalidArgument,
    Layout,
    MemoryConfig,
    StorageType,
    Tensor,
    TensorSpec,
    Tile,
)
from tessera.results import Array
from tessera.ttnn import mesh


def from_torch(
    tensor: Any,
    dtype: DataType | None = None,
    *,
    spec: TensorSpec | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    memory_config: MemoryConfig | None = None,
    tile: Tile | None = None,
    pad_value: float | None = None,
    mesh_mapper: Any = None,
    cq_id: int | None = None,
    preserve_nan_values: bool = False,
    col_tilize: bool = False,
) -> Tensor:
    """A tensor from anything with __dlpack__ or __array__: numpy, PyTorch (bfloat16 too) and others.

    A mesh_mapper or a mesh device makes a tensor for each chip. `spec` says all of dtype, layout, tile and memory_config.

    Without `dtype` it keeps the array's type where ttnn has it, without `layout` it is ROW_MAJOR (TILE for block floats).
    """
    if preserve_nan_values or col_tilize:
        raise InvalidArgument("from_torch: preserve_nan_values and col_tilize are not there yet")
    if spec is not None:
        if any(each is not None for each in (dtype, layout, memory_config, tile)):
            raise InvalidArgument("from_torch: a spec says already what dtype, layout, memory_config and tile would")
        if tuple(tensor.shape) != tuple(spec.shape):
            raise InvalidArgument(f"from_torch: an array of shape {list(tensor.shape)} does not go with {spec}")
        dtype, layout, tile = spec.dtype, spec.layout, spec.tile
        memory_config = spec.memory_config if device is not None else None
    if mesh_mapper is not None or isinstance(device, mesh.MeshDevice):
        return mesh.distribute(  # type: ignore[no-any-return]
            tensor,
            mesh_mapper,
            device,
            lambda part, to: Tensor(part, dtype, to, layout, memory_config, tile, cq_id, pad_value, None),
        )
    return Tensor(tensor, dtype, device, layout, memory_config, tile, cq_id, pad_value, None)


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
    cache_file_name: str | os.PathLike[str] | None = None,
    preprocess: Callable[[Any], Any] | None = None,
    mesh_mapper: Any = None,
) -> Tensor:
    """from_torch, and ttnn tensors as they are.

    With `cache_file_name`, what `preprocess` and the conversion made is kept in a file whose name says dtype and layout,
    and read from there the next time.
    """
    if isinstance(tensor, Tensor):
        return tensor

    def make(to: Device | None) -> Tensor:
        place = memory_config if to is not None else None
        given = tensor if preprocess is None else preprocess(tensor)
        return from_torch(
            given, dtype, layout=layout, device=to, memory_config=place, tile=tile, pad_value=pad_value, mesh_mapper=mesh_mapper
        )

    if cache_file_name is None:
        return make(device)
    from tessera.ttnn import tensor_files

    names = [each.name if each is not None else "None" for each in (dtype, layout)]
    path = pathlib.Path(f"{cache_file_name}_dtype_{names[0]}_layout_{names[1]}.tensorbin")
    try:
        made = tensor_files.load_tensor(path)
    except Error:  # not there, or not readable
        made = make(None)
        path.parent.mkdir(parents=True, exist_ok=True)
        tensor_files.dump_tensor(path, made)
    return made if device is None else made.to(device, memory_config)  # type: ignore[return-value, arg-type]


def to_numpy(tensor: Tensor, *, mesh_composer: Any = None) -> Array:
    """The values without padding; bfloat16 and block floats as float32."""
    if mesh_composer is not None:
        return mesh_composer.join([shard.to_numpy() for shard in mesh.get_device_tensors(tensor)])
    return tensor.to_numpy()


def to_torch(
    tensor: Tensor,
    dtype: Any = None,
    *,
    torch_rank: int | None = None,
    mesh_composer: Any = None,
    device: Device | None = None,
    cq_id: int | None = None,
) -> Any:
    """The values without padding as a PyTorch tensor, bfloat16 as such; leading dimensions of 1 go where `torch_rank` is less."""
    if device is not None and tensor.device() not in (None, device):
        raise InvalidArgument("to_torch: the tensor is on another device than that")
    if cq_id is not None and tensor.storage_type() == StorageType.DEVICE:
        tensor = tensor.cpu(cq_id=cq_id)
    if mesh_composer is not None:
        values = mesh_composer.join([shard.to_torch() for shard in mesh.get_device_tensors(tensor)])
    else:
        values = tensor.to_torch()
    while torch_rank is not None and len(values.shape) > torch_rank:
        if values.shape[0] != 1:
            raise Error(f"to_torch: a tensor of shape {list(values.shape)} cannot have rank {torch_rank}")
        values = values.squeeze(0)
    return values if dtype is None else values.to(dtype)


_TORCH_NAMES = {
    DataType.UINT8: "uint8",
    DataType.UINT16: "uint16",
    DataType.UINT32: "uint32",
    DataType.INT32: "int32",
    DataType.FLOAT32: "float32",
    DataType.BFLOAT16: "bfloat16",
    DataType.FLOAT16: "float16",
    DataType.BFLOAT8_B: "float32",
    DataType.BFLOAT4_B: "float32",
}


def ttnn_dtype_to_torch_dtype(dtype: DataType) -> Any:
    """The type of PyTorch that to_torch gives; float32 for block floats."""
    import torch

    return getattr(torch, _TORCH_NAMES[dtype])


def is_tensor_storage_on_device(tensor: Tensor) -> bool:
    return tensor.storage_type() == StorageType.DEVICE
