"""Configurations of layer_norm and group_norm that follow from shards, cores and channels."""

from __future__ import annotations

from typing import Any

import numpy

from tessera._tessera import (
    Arch,
    BufferType,
    CoreCoord,
    CoreGrid,
    CoreRangeSet,
    DataType,
    Device,
    InvalidArgument,
    LayerNormDefaultProgramConfig,
    LayerNormShardedMultiCoreProgramConfig,
    Layout,
    MathFidelity,
    MemoryConfig,
    ShardOrientation,
    ShardSpec,
    Tensor,
    TensorMemoryLayout,
    WormholeComputeKernelConfig,
)
from tessera.ttnn.group_norm import create_group_norm_input_mask, create_group_norm_weight_bias_rm

_TILE = 32


def _compute_config(arch: Arch) -> WormholeComputeKernelConfig:
    if not isinstance(arch, Arch):
        raise TypeError(f"the architecture of a device is expected, not {arch!r}")
    return WormholeComputeKernelConfig(math_fidelity=MathFidelity.HiFi4, math_approx_mode=False, fp32_dest_acc_en=True)


def layernorm_default_compute_config(arch: Arch) -> WormholeComputeKernelConfig:
    """How layer_norm computes when nothing is said."""
    return _compute_config(arch)


def rmsnorm_default_compute_config(arch: Arch) -> WormholeComputeKernelConfig:
    """How rms_norm computes when nothing is said."""
    return _compute_config(arch)


def create_layernorm_program_config(
    shard_spec: ShardSpec | None = None, tile_height: int = _TILE, tile_width: int = _TILE
) -> LayerNormDefaultProgramConfig | LayerNormShardedMultiCoreProgramConfig:
    """That of tensors without shards, or blocks that are whole shards, a column of tiles at a time."""
    if shard_spec is None:
        return LayerNormDefaultProgramConfig()
    box = shard_spec.grid.bounding_box()
    size = CoreCoord(box.end.x - box.start.x + 1, box.end.y - box.start.y + 1)
    return LayerNormShardedMultiCoreProgramConfig(
        compute_with_storage_grid_size=size, subblock_w=1, block_h=shard_spec.shape[0] // tile_height,
        block_w=shard_spec.shape[1] // tile_width, inplace=False,
    )  # fmt: skip


def create_layer_norm_reciprocals(device: Device, core_range_set: CoreRangeSet, width: int) -> Tensor:
    """1, 1/2, ... 1/width on every core: what Welford's algorithm divides by."""
    cores = core_range_set.num_cores()
    values = numpy.tile(1 / numpy.arange(1, width + 1, dtype=numpy.float64), (cores, 1)).astype(numpy.float32)
    shards = ShardSpec(core_range_set, (1, width), ShardOrientation.ROW_MAJOR)
    place = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, shards)
    return Tensor(values, DataType.FLOAT32, device, Layout.ROW_MAJOR, place, None, None, None, None)


def _virtual_columns(columns: int, channels: int, groups: int) -> int:
    """The most parts that channels are cut into, each of whole tiles and whole groups; 0: none."""
    return next((n for n in range(columns, 0, -1) if groups % n == 0 and channels % (n * _TILE) == 0), 0)


def determine_expected_group_norm_dram_grid_size(
    *, device: Device, num_channels: int, num_groups: int, input_nhw: int, num_batches: int = 1
) -> CoreGrid:
    """The largest grid, first in columns and then in rows, whose cores share tensors without shards evenly."""
    if num_channels % num_groups != 0 or num_channels % _TILE != 0:
        raise InvalidArgument(f"group_norm: {num_channels} channels must be a multiple of {_TILE} and of the {num_groups} groups")
    most, tiles = device.compute_with_storage_grid_size(), -(-input_nhw // _TILE)
    for x in range(most.x, 0, -1):
        parts = _virtual_columns(x, num_channels, num_groups)
        if parts == 0 or x % parts != 0:
            continue
        for y in range(most.y, 0, -1):
            rows = y * (x // parts)
            if tiles % rows == 0 and (rows % num_batches == 0 or num_batches % rows == 0):
                return CoreGrid(y=y, x=x)
    raise InvalidArgument(f"group_norm: no grid shares {num_channels} channels in {num_groups} groups and {input_nhw} pixels evenly")


def dram_group_norm_params_from_torch(
    torch_params: Any,
    channels_per_device: int,
    groups_per_device: int,
    device: Device | None,
    mesh_axis: int | None = None,
    core_grid: CoreGrid | None = None,
    return_mask: bool = True,
    dtype: DataType = DataType.BFLOAT16,
) -> Any:
    """Weight and bias as group_norm without shards reads them, on the device (or the host), and the mask of the groups."""
    if mesh_axis is not None:
        raise InvalidArgument("dram_group_norm_params_from_torch: parameters that differ between chips are not supported")
    if core_grid is None and device is None:
        raise InvalidArgument("dram_group_norm_params_from_torch: a core grid or a device must be given")
    columns = core_grid.x if core_grid is not None else device.compute_with_storage_grid_size().x  # type: ignore[union-attr]
    parts = _virtual_columns(columns, channels_per_device, groups_per_device)
    if parts == 0:
        raise InvalidArgument(f"group_norm: {channels_per_device} channels in {groups_per_device} groups do not fit {columns} columns of cores")
    alone = not isinstance(torch_params, (list, tuple))
    made = []
    for each in [torch_params] if alone else torch_params:
        rows = create_group_norm_weight_bias_rm(each, channels_per_device, parts)
        made.append(Tensor(rows, dtype, device, Layout.ROW_MAJOR, None, None, None, None, None))
    result = made[0] if alone else made
    if not return_mask:
        return result
    mask = create_group_norm_input_mask(channels_per_device, groups_per_device, parts, dtype)
    return result, mask if device is None else mask.to(device)


__all__ = [
    "create_layer_norm_reciprocals",
    "create_layernorm_program_config",
    "determine_expected_group_norm_dram_grid_size",
    "dram_group_norm_params_from_torch",
    "layernorm_default_compute_config",
    "rmsnorm_default_compute_config",
]
