"""Tensors in files: values, type, layout and place. The format is numpy's npz, not the one of TTNN."""

from __future__ import annotations

import enum
import json
import os
import pathlib
import zipfile
from typing import Any

import numpy

from tessera._tessera import (
    BufferType,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    DataType,
    Device,
    Error,
    InvalidArgument,
    Layout,
    MemoryConfig,
    NdShardSpec,
    ShardDistributionStrategy,
    ShardOrientation,
    ShardSpec,
    StorageType,
    Tensor,
    TensorMemoryLayout,
    Tile,
)
from tessera.ttnn.mesh import MeshDevice, MeshTensor, get_device_tensors
from tessera.ttnn.tensors import from_torch

_ENDING = ".tensorbin"
_VERSION = 1


class DumpTensorMode(enum.Enum):
    """Who writes a tensor that several hosts share. There is one host: both modes write all of it."""

    DISTRIBUTED_GATHER = 0
    LOCAL = 1


def _checked_name(what: str, file_name: str | os.PathLike[str]) -> pathlib.Path:
    path = pathlib.Path(file_name)
    if path.suffix != _ENDING:
        raise InvalidArgument(f"{what}: the file {path} must end in {_ENDING}")
    return path


def _grid(cores: CoreRangeSet) -> list[list[int]]:
    return [[r.start.x, r.start.y, r.end.x, r.end.y] for r in cores.ranges()]


def _cores(ranges: list[list[int]]) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(CoreCoord(a, b), CoreCoord(c, d)) for a, b, c, d in ranges])


def _place_of(config: MemoryConfig) -> dict[str, Any]:
    place: dict[str, Any] = {"layout": config.memory_layout.name, "buffer": config.buffer_type.name}
    shards, nd = config.shard_spec, config.nd_shard_spec
    if shards is not None:
        place["shard"] = [_grid(shards.grid), list(shards.shape), shards.orientation.name]
    elif nd is not None:
        place["nd_shard"] = [
            list(nd.shard_shape),
            _grid(nd.grid),
            nd.orientation.name,
            nd.shard_distribution_strategy.name,
        ]
    return place


def _config_of(place: dict[str, Any]) -> MemoryConfig:
    buffer = BufferType[place["buffer"]]
    if "nd_shard" in place:
        shape, grid, orientation, strategy = place["nd_shard"]
        return MemoryConfig(
            buffer, NdShardSpec(shape, _cores(grid), ShardOrientation[orientation], ShardDistributionStrategy[strategy])
        )
    spec = None
    if "shard" in place:
        grid, shape, orientation = place["shard"]
        spec = ShardSpec(_cores(grid), shape, ShardOrientation[orientation])
    return MemoryConfig(TensorMemoryLayout[place["layout"]], buffer, spec)


def dump_tensor(
    file_name: str | os.PathLike[str],
    tensor: Tensor | MeshTensor,
    *,
    mode: DumpTensorMode = DumpTensorMode.DISTRIBUTED_GATHER,
) -> None:
    """Writes a tensor, from wherever it is; load_tensor reads it."""
    if not isinstance(mode, DumpTensorMode):
        raise TypeError(f"dump_tensor: mode is a ttnn.DumpTensorMode, not {mode!r}")
    path = _checked_name("dump_tensor", file_name)
    parts = get_device_tensors(tensor)
    first = parts[0]
    about = {
        "version": _VERSION,
        "dtype": first.dtype.name,
        "layout": first.layout.name,
        "tile": list(first.tile.tile_shape),
        "place": _place_of(first.memory_config()) if first.storage_type() == StorageType.DEVICE else None,
        "mesh": isinstance(tensor, MeshTensor),
    }
    arrays = {f"part{i}": part.to_numpy() for i, part in enumerate(parts)}
    beside = path.with_name(path.name + ".part")
    try:
        with open(beside, "wb") as file:
            numpy.savez(file, about=numpy.frombuffer(json.dumps(about).encode(), numpy.uint8), **arrays)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def load_tensor(file_name: str | os.PathLike[str], *, device: Device | MeshDevice | None = None) -> Tensor | MeshTensor:
    """Reads what dump_tensor wrote: to the host, or to a device, where it lies as it did before."""
    path = _checked_name("load_tensor", file_name)
    if not path.is_file():
        raise Error(f"load_tensor: there is no file {path}")
    try:
        with numpy.load(path, allow_pickle=False) as file:
            about = json.loads(bytes(file["about"]))
            parts = [file[f"part{i}"] for i in range(len(file.files) - 1)]
        if about["version"] != _VERSION:
            raise Error(f"load_tensor: {path} has version {about['version']}, not {_VERSION}")
        dtype, layout, tile = DataType[about["dtype"]], Layout[about["layout"]], Tile(tuple(about["tile"]))
        place = _config_of(about["place"]) if about["place"] is not None and device is not None else None
        one_each = len(parts) > 1 and isinstance(device, MeshDevice)
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise Error(f"load_tensor: {path} is no file of dump_tensor ({error})") from error
    if one_each and len(parts) != device.get_num_devices():  # type: ignore[union-attr]
        raise InvalidArgument(f"load_tensor: {path} is of a mesh of {len(parts)} chips, not {device}")
    targets = device.devices if one_each else [device] * len(parts)  # type: ignore[union-attr]
    loaded = [
        from_torch(part, dtype, layout=layout, device=to, memory_config=place, tile=tile)
        for part, to in zip(parts, targets)
    ]
    if not about["mesh"]:
        return loaded[0]
    return MeshTensor(loaded, device if isinstance(device, MeshDevice) else None)


__all__ = ["DumpTensorMode", "dump_tensor", "load_tensor"]
