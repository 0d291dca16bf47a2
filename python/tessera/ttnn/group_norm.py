"""What group_norm wants beside its input: weights as cores read them, masks of groups, shards that hold whole groups."""

from __future__ import annotations

import math
from typing import Any

import numpy

from tessera._tessera import (
    BufferType,
    CoreCoord,
    CoreGrid,
    CoreRange,
    CoreRangeSet,
    DataType,
    Device,
    InvalidArgument,
    Layout,
    MemoryConfig,
    ShardOrientation,
    ShardSpec,
    Tensor,
    TensorMemoryLayout,
)

_TILE = 32


def _rows_of_tiles(count: int) -> int:
    return -(-count // _TILE) * _TILE


def create_group_norm_weight_bias_rm(input_tensor: Any, num_channels: int, num_cores_x: int) -> Any:
    """[1, 1, n, 32]: the channels of each of so many cores, padded to whole tiles with zeros. In the type of `input_tensor`."""
    if num_channels % num_cores_x != 0:
        raise InvalidArgument(f"create_group_norm_weight_bias_rm: {num_channels} channels cannot be dealt evenly to {num_cores_x} cores")
    each = num_channels // num_cores_x
    parts = input_tensor.reshape(-1, each)
    missing = _rows_of_tiles(each) - each
    if hasattr(parts, "new_zeros"):  # PyTorch
        import torch

        padded = torch.cat([parts, parts.new_zeros(parts.shape[0], missing)], 1)
    else:
        padded = numpy.concatenate([parts, numpy.zeros((parts.shape[0], missing), parts.dtype)], 1)
    return padded.reshape(1, 1, -1, _TILE)


def _group_mask(op: str, num_channel: int, num_groups: int, num_cores_across_channel: int, tile_width: int) -> numpy.ndarray:
    """[groups, columns]: 1 in the columns of each group, counted from the tile that it begins in."""
    if num_channel % num_groups != 0 or num_groups % num_cores_across_channel != 0:
        raise InvalidArgument(
            f"{op}: {num_channel} channels in {num_groups} groups cannot be dealt evenly to {num_cores_across_channel} cores"
        )
    size, per_core = num_channel // num_groups, num_groups // num_cores_across_channel
    # As many tiles as any group touches, counted from the first channel of all.
    tiles = max((first + size - 1) // tile_width - first // tile_width + 1 for first in range(0, num_channel, size))
    mask = numpy.zeros((num_groups, tiles * tile_width), numpy.float32)
    for group in range(num_groups):
        begin = group % per_core * size % tile_width
        mask[group, begin : begin + size] = 1
    return mask


def _as_mask(rows: numpy.ndarray, data_type: DataType, tile_height: int) -> Tensor:
    values = numpy.repeat(rows[None, :, None, :], tile_height, axis=2)
    return Tensor(values, data_type, None, Layout.TILE, None, None, None, None, None)


def create_group_norm_input_mask(
    num_channel: int,
    num_groups: int,
    num_cores_across_channel: int,
    data_type: DataType = DataType.BFLOAT16,
    tile_height: int = _TILE,
    tile_width: int = _TILE,
) -> Tensor:
    """[1, groups, tile height, columns]: 1 where a column belongs to the group, counted from the tile that it begins in."""
    rows = _group_mask("create_group_norm_input_mask", num_channel, num_groups, num_cores_across_channel, tile_width)
    return _as_mask(rows, data_type, tile_height)


def create_group_norm_input_negative_mask(
    num_channel: int,
    num_groups: int,
    num_cores_across_channel: int,
    data_type: DataType = DataType.BFLOAT16,
    tile_height: int = _TILE,
    tile_width: int = _TILE,
) -> Tensor:
    """create_group_norm_input_mask with 0 and 1 exchanged."""
    rows = _group_mask("create_group_norm_input_negative_mask", num_channel, num_groups, num_cores_across_channel, tile_width)
    return _as_mask(1 - rows, data_type, tile_height)


def _largest_divisor(count: int, most: int) -> int:
    return next(n for n in range(min(count, most), 0, -1) if count % n == 0)


def determine_expected_group_norm_sharded_config_and_grid_size(
    *, device: Device, num_channels: int, num_groups: int, input_nhw: int, is_height_sharded: bool, is_row_major: bool = False
) -> tuple[MemoryConfig, CoreGrid]:
    """Shards that hold whole groups, on as many cores as divide the pixels evenly, and the grid of those cores."""
    if num_channels % num_groups != 0 or num_channels % _TILE != 0:
        raise InvalidArgument(
            f"group_norm: {num_channels} channels must be a multiple of {_TILE} and of the {num_groups} groups"
        )
    grid = device.compute_with_storage_grid_size()
    size = num_channels // num_groups
    tiles = -(-input_nhw // _TILE)
    rows_on = grid.x if not is_row_major else grid.y
    cores = _largest_divisor(tiles, grid.x * grid.y if is_height_sharded else rows_on)
    across = 1
    if not is_height_sharded:
        most = grid.y if not is_row_major else grid.x
        across = next(n for n in range(most, 0, -1) if num_groups % n == 0 and num_channels // n % size == 0 and num_channels // n % 8 == 0)
    shard = (tiles // cores * _TILE, num_channels // across)
    if is_height_sharded:
        x, y = min(cores, grid.x), math.ceil(cores / grid.x)
    else:
        x, y = (across, cores) if is_row_major else (cores, across)
    where = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(x - 1, y - 1))])
    turned = not (is_height_sharded or is_row_major)
    if turned:  # shards of columns of cores are given the other way round
        shard = shard[::-1]
    layout = TensorMemoryLayout.HEIGHT_SHARDED if is_height_sharded else TensorMemoryLayout.BLOCK_SHARDED
    orientation = ShardOrientation.COL_MAJOR if turned else ShardOrientation.ROW_MAJOR
    return MemoryConfig(layout, BufferType.L1, ShardSpec(where, shard, orientation)), CoreGrid(y=y, x=x)


def get_group_norm_cores_across_channel(memory_layout: TensorMemoryLayout, core_grid: CoreGrid) -> int:
    """How many cores share the channels of a tensor in shards."""
    if memory_layout == TensorMemoryLayout.BLOCK_SHARDED:
        return core_grid.y
    return 1 if memory_layout == TensorMemoryLayout.HEIGHT_SHARDED else core_grid.x * core_grid.y


__all__ = [
    "create_group_norm_input_mask",
    "create_group_norm_input_negative_mask",
    "create_group_norm_weight_bias_rm",
    "determine_expected_group_norm_sharded_config_and_grid_size",
    "get_group_norm_cores_across_channel",
]
