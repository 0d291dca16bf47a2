"""Questions about tensors and dtypes, work dealt to cores, and the names of ways to compute."""

from __future__ import annotations

import enum

from tessera._tessera import (
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    DataType,
    InvalidArgument,
    MemoryConfig,
    SigmoidMode,
    StorageType,
    Tensor,
    TensorMemoryLayout,
    num_cores_to_corerangeset,
    num_cores_to_corerangeset_in_subcoregrids,
)


class ThrottleLevel(enum.IntEnum):
    """How often products pause, to spare power. Values are the same in all of them."""

    NO_THROTTLE = 0
    LEVEL_1 = 1
    LEVEL_2 = 2
    LEVEL_3 = 3
    LEVEL_4 = 4
    LEVEL_5 = 5


_BYTES = {
    DataType.BFLOAT16: 2,
    DataType.FLOAT32: 4,
    DataType.FLOAT16: 2,
    DataType.INT32: 4,
    DataType.UINT32: 4,
    DataType.UINT16: 2,
    DataType.UINT8: 1,
}
_BLOCK_TILE_BYTES = {DataType.BFLOAT8_B: 1088, DataType.BFLOAT4_B: 576}
_TILE_ELEMENTS = 32 * 32


def element_size(dtype: DataType) -> int:
    """Bytes of one element. Block floats have no elements of their own."""
    if dtype not in _BYTES:
        raise InvalidArgument(f"element_size: {dtype} has no elements of its own, only blocks that share an exponent")
    return _BYTES[dtype]


def tile_size(dtype: DataType) -> int:
    """Bytes of one tile of 32 x 32."""
    return _BLOCK_TILE_BYTES[dtype] if dtype in _BLOCK_TILE_BYTES else _BYTES[dtype] * _TILE_ELEMENTS


def is_sharded(tensor: Tensor) -> bool:
    """Whether a tensor on a device is cut into shards."""
    return tensor.memory_config().memory_layout != TensorMemoryLayout.INTERLEAVED


def get_memory_config(tensor: Tensor) -> MemoryConfig | None:
    """Where a tensor on a device lies; None on the host."""
    return tensor.memory_config() if tensor.storage_type() == StorageType.DEVICE else None


def has_storage_type_of(tensor: Tensor, storage_type: StorageType) -> bool:
    return tensor.storage_type() == storage_type


def has_tile_padding(tensor: Tensor, *, dim: int | None = None) -> bool:
    """Whether tiles hold more than the tensor has: in one dimension, or in any of the last two."""
    shape, padded = tuple(tensor.shape), tuple(tensor.padded_shape)
    if len(shape) <= 1:
        return False
    if dim is not None:
        return shape[dim] != padded[dim]
    return shape[-2:] != padded[-2:]


def grid_to_cores(
    num_cores: int | CoreCoord, grid_size_x: int | CoreCoord, grid_size_y: int | None = None, row_wise: bool = False
) -> list[CoreCoord]:
    """So many cores of a grid, or all between two corners, row by row or column by column."""
    if isinstance(num_cores, CoreCoord) and isinstance(grid_size_x, CoreCoord):
        first, last = num_cores, grid_size_x
        columns, rows = range(first.x, last.x + 1), range(first.y, last.y + 1)
        count = len(columns) * len(rows)
        by_row = bool(grid_size_y) or row_wise
    elif isinstance(num_cores, int) and isinstance(grid_size_x, int) and grid_size_y is not None:
        columns, rows, count, by_row = range(grid_size_x), range(grid_size_y), num_cores, row_wise
    else:
        raise InvalidArgument("grid_to_cores: a number of cores and a grid are needed, or two corners")
    if count > len(columns) * len(rows):
        raise InvalidArgument(f"grid_to_cores: {count} cores are more than a grid of {len(columns)} x {len(rows)} has")
    cores = [CoreCoord(x, y) for y in rows for x in columns] if by_row else [CoreCoord(x, y) for x in columns for y in rows]
    return cores[:count]


def split_work_to_cores(
    grid_size: CoreCoord | CoreRangeSet, units_to_divide: int, row_wise: bool = False
) -> tuple[int, CoreRangeSet, CoreRangeSet, CoreRangeSet, int, int]:
    """How many cores work, which, those that do one unit more than the others, the others, and the units of both."""
    nothing = CoreRangeSet([])
    if isinstance(grid_size, CoreRangeSet):
        most = grid_size.num_cores()
        first = grid_size.ranges()[0].start if most else CoreCoord(0, 0)

        def some(count: int) -> CoreRangeSet:
            return num_cores_to_corerangeset_in_subcoregrids(first, count, grid_size, row_wise)
    else:
        most = grid_size.x * grid_size.y

        def some(count: int) -> CoreRangeSet:
            return num_cores_to_corerangeset(count, grid_size, row_wise)

    count = min(most, units_to_divide)
    if count == 0:
        return 0, nothing, nothing, nothing, 0, 0
    each, more = divmod(units_to_divide, count)
    everyone = some(count)
    if more == 0:
        return count, everyone, everyone, nothing, each, 0
    busier = some(more)
    return count, everyone, busier, everyone.subtract(busier), each + 1, each


__all__ = [
    "CoreRange",
    "SigmoidMode",
    "ThrottleLevel",
    "element_size",
    "get_memory_config",
    "grid_to_cores",
    "has_storage_type_of",
    "has_tile_padding",
    "is_sharded",
    "split_work_to_cores",
    "tile_size",
]
