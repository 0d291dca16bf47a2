"""Sharded memory configs from a tensor's shape and a grid of cores."""

from __future__ import annotations

import enum
from typing import Any

from tessera import _tessera
from tessera._tessera import CoreGrid, CoreRange, CoreRangeSet, InvalidArgument, MemoryConfig, Shape, ShardOrientation, TensorMemoryLayout


class ShardStrategy(enum.Enum):
    """Which extents of a tensor, seen as a matrix, are divided over cores."""

    HEIGHT = 1
    WIDTH = 2
    BLOCK = 3


_STRATEGIES = {
    ShardStrategy.HEIGHT: _tessera._Strategy.HEIGHT,
    ShardStrategy.WIDTH: _tessera._Strategy.WIDTH,
    ShardStrategy.BLOCK: _tessera._Strategy.BLOCK,
}
_STRATEGIES_OF_LAYOUTS = {
    TensorMemoryLayout.HEIGHT_SHARDED: _tessera._Strategy.HEIGHT,
    TensorMemoryLayout.WIDTH_SHARDED: _tessera._Strategy.WIDTH,
    TensorMemoryLayout.BLOCK_SHARDED: _tessera._Strategy.BLOCK,
}


def _shape(shape: Any) -> Shape:
    if not isinstance(shape, (list, tuple, Shape)):
        raise InvalidArgument(f"Invalid input shape: a list, tuple or ttnn.Shape is expected, not {type(shape).__name__}")
    return shape if isinstance(shape, Shape) else Shape(shape)


def _grid(core_grid: Any) -> CoreRangeSet:
    """A CoreGrid, a CoreRangeSet, or two CoreGrids: full rows, then part of the row below them."""
    if isinstance(core_grid, CoreRangeSet):
        return core_grid
    if isinstance(core_grid, CoreGrid):
        return _tessera._grid_cores(core_grid)
    if not isinstance(core_grid, (list, tuple)):
        raise InvalidArgument(f"Invalid core_grid type: CoreGrid, CoreRangeSet or two CoreGrids, not {type(core_grid).__name__}")
    if len(core_grid) != 2:
        raise InvalidArgument(f"Invalid core_grid: a list of CoreGrids has two of them, not {len(core_grid)}")
    if not all(isinstance(g, CoreGrid) for g in core_grid):
        raise InvalidArgument("Invalid core_grid type: both members of the list must be CoreGrids")
    full, rest = core_grid
    coord = _tessera.CoreCoord
    return CoreRangeSet(
        [
            CoreRange(coord(0, 0), coord(full.x - 1, full.y - 1)),
            CoreRange(coord(0, full.y), coord(rest.x - 1, full.y)),
        ]
    )


def _orientation(orientation: Any) -> ShardOrientation:
    if orientation is None:
        return ShardOrientation.ROW_MAJOR
    if not isinstance(orientation, ShardOrientation):
        raise InvalidArgument(f"Invalid shard orientation: ttnn.ShardOrientation is expected, not {orientation!r}")
    return orientation


def create_sharded_memory_config(
    shape: Shape | list[int] | tuple[int, ...],
    core_grid: CoreGrid | CoreRangeSet | tuple[CoreGrid, CoreGrid] | list[CoreGrid],
    strategy: ShardStrategy,
    orientation: ShardOrientation | None = None,
    use_height_and_width_as_shard_shape: bool = False,
) -> MemoryConfig:
    """A sharded config in L1. The grid must divide the tensor exactly; TensorSpec.height_sharded and its siblings round up.

    With use_height_and_width_as_shard_shape the last two extents of `shape` are the shard itself, swapped for COL_MAJOR.
    """
    checked = _shape(shape)
    grid = _grid(core_grid)
    if not isinstance(strategy, ShardStrategy):
        raise InvalidArgument(f"Invalid sharding strategy: ttnn.ShardStrategy is expected, not {strategy!r}")
    direction = _orientation(orientation)
    if isinstance(core_grid, CoreRangeSet) and not use_height_and_width_as_shard_shape:
        raise InvalidArgument("height and width must be shard shape with CoreRangeSet: pass use_height_and_width_as_shard_shape=True")
    return _tessera._create_sharded_memory_config(
        checked, grid, _STRATEGIES[strategy], direction, use_height_and_width_as_shard_shape
    )


def create_sharded_memory_config_(
    shape: Shape | list[int] | tuple[int, ...],
    core_grid: CoreGrid | CoreRangeSet | tuple[CoreGrid, CoreGrid] | list[CoreGrid],
    strategy: ShardStrategy | TensorMemoryLayout,
    orientation: ShardOrientation | None = None,
    use_height_and_width_as_shard_shape: bool = False,
    tile_layout: bool = False,
) -> MemoryConfig:
    """Like create_sharded_memory_config, but rounding up; any cores, and a TensorMemoryLayout as strategy, will do."""
    checked = _shape(shape)
    grid = _grid(core_grid)
    known = _STRATEGIES.get(strategy) if isinstance(strategy, ShardStrategy) else _STRATEGIES_OF_LAYOUTS.get(strategy)
    if known is None:
        raise InvalidArgument(f"Invalid sharding scheme: {strategy!r} says nothing about shards")
    return _tessera._create_rounded_sharded_memory_config(
        checked, grid, known, _orientation(orientation), use_height_and_width_as_shard_shape, tile_layout
    )
