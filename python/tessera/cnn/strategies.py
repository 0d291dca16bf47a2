"""How a layer's tensors are dealt to cores, and how a layer too large for L1 is cut into slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Union

from tessera import ttnn


@dataclass(frozen=True)
class ShardedStrategyConfiguration:
    """What all of them share. `layout` is None where the operation chooses."""

    layout: ClassVar[ttnn.TensorMemoryLayout | None] = None

    def get_tensor_memory_layout(self) -> ttnn.TensorMemoryLayout | None:
        return self.layout

    @classmethod
    def get_core_grid_from_num_cores(cls, num_cores: int, grid_rows: int, grid_cols: int) -> ttnn.CoreRangeSet:
        """The first cores of a grid, row by row."""
        if not 0 < num_cores <= grid_rows * grid_cols:
            raise ValueError(f"a grid of {grid_rows} rows and {grid_cols} columns does not have {num_cores} cores")
        return ttnn.num_cores_to_corerangeset(num_cores, (grid_cols, grid_rows), row_wise=True)


@dataclass(frozen=True)
class AutoShardedStrategyConfiguration(ShardedStrategyConfiguration):
    """The layout that takes the least L1."""


@dataclass(frozen=True)
class HeightShardedStrategyConfiguration(ShardedStrategyConfiguration):
    reshard_if_not_optimal: bool = False
    override_core_grid: ttnn.CoreRangeSet | None = None
    act_block_h_override: int = 0

    layout = ttnn.TensorMemoryLayout.HEIGHT_SHARDED


@dataclass(frozen=True)
class WidthShardedStrategyConfiguration(ShardedStrategyConfiguration):
    reshard_if_not_optimal: bool = False
    override_core_grid: ttnn.CoreRangeSet | None = None
    act_block_w_div: int = 1

    layout = ttnn.TensorMemoryLayout.WIDTH_SHARDED


@dataclass(frozen=True)
class BlockShardedStrategyConfiguration(ShardedStrategyConfiguration):
    reshard_if_not_optimal: bool = False
    override_core_grid: ttnn.CoreRangeSet | None = None
    act_block_h_override: int = 0
    act_block_w_div: int = 1
    override_output_sharding_config: bool = False

    layout = ttnn.TensorMemoryLayout.BLOCK_SHARDED


ShardingStrategy = Union[
    AutoShardedStrategyConfiguration,
    HeightShardedStrategyConfiguration,
    WidthShardedStrategyConfiguration,
    BlockShardedStrategyConfiguration,
]

# Fields of a strategy that Conv2dConfig has under the same name.
_SAME_NAME = ("reshard_if_not_optimal", "act_block_h_override", "act_block_w_div", "override_output_sharding_config")


def sharding_strategy_to_conv2d_config(sharding_strategy: ShardedStrategyConfiguration) -> dict[str, Any]:
    """The arguments of ttnn.Conv2dConfig that a strategy stands for."""
    if not isinstance(sharding_strategy, ShardedStrategyConfiguration):
        raise ValueError(f"a sharding strategy is expected, such as HeightShardedStrategyConfiguration(), not {sharding_strategy!r}")
    arguments: dict[str, Any] = {name: getattr(sharding_strategy, name) for name in _SAME_NAME if hasattr(sharding_strategy, name)}
    grid = getattr(sharding_strategy, "override_core_grid", None)
    if grid is not None:
        arguments |= {"core_grid": grid, "override_sharding_config": True}
    return arguments | {"shard_layout": sharding_strategy.get_tensor_memory_layout()}


@dataclass(frozen=True)
class SliceStrategyConfiguration:
    """What all of them share. 0 slices: as few as fit."""

    num_slices: int = 0

    kind: ClassVar[ttnn.Conv2dSliceConfig.SliceTypeEnum] = ttnn.Conv2dL1Full

    def __post_init__(self) -> None:
        if self.num_slices < 0:
            raise ValueError(f"num_slices is {self.num_slices}, but it cannot be negative")

    def get_slice_type(self) -> ttnn.Conv2dSliceConfig.SliceTypeEnum:
        return self.kind

    def get_num_slices(self) -> int:
        return self.num_slices


@dataclass(frozen=True)
class HeightSliceStrategyConfiguration(SliceStrategyConfiguration):
    """Rows of the output, one slice after the other, from DRAM to DRAM."""

    kind = ttnn.Conv2dDRAMSliceHeight


@dataclass(frozen=True)
class WidthSliceStrategyConfiguration(SliceStrategyConfiguration):
    """Columns of the output, one slice after the other, from DRAM to DRAM."""

    kind = ttnn.Conv2dDRAMSliceWidth


@dataclass(frozen=True)
class ChannelSliceStrategyConfiguration(SliceStrategyConfiguration):
    """Input channels, one slice after the other; what they give is added up in DRAM."""

    def __post_init__(self) -> None:
        if self.num_slices <= 1:
            raise ValueError(f"channel slicing needs num_slices > 1, not {self.num_slices}")


@dataclass(frozen=True)
class L1FullSliceStrategyConfiguration(SliceStrategyConfiguration):
    """The whole layer at once, in L1."""


SliceStrategy = Union[
    HeightSliceStrategyConfiguration,
    WidthSliceStrategyConfiguration,
    ChannelSliceStrategyConfiguration,
    L1FullSliceStrategyConfiguration,
]


def to_slice_config(slice_strategy: SliceStrategy | None) -> ttnn.Conv2dSliceConfig | None:
    """What ttnn.conv2d is told: a slice of channels runs whole."""
    if slice_strategy is None:
        return None
    if isinstance(slice_strategy, ChannelSliceStrategyConfiguration):
        return ttnn.Conv2dL1FullSliceConfig
    return ttnn.Conv2dSliceConfig(slice_type=slice_strategy.get_slice_type(), num_slices=slice_strategy.get_num_slices())


def channel_slices(slice_strategy: SliceStrategy | None, channels: int, layer: str) -> int:
    """Into how many slices of channels a layer is cut: 1 for none. Refuses slices that channels cannot be cut into."""
    if not isinstance(slice_strategy, ChannelSliceStrategyConfiguration):
        return 1
    if channels % slice_strategy.num_slices != 0:
        raise ValueError(f"{layer}: {channels} channels cannot be cut into {slice_strategy.num_slices} equal slices")
    return slice_strategy.num_slices


def check_only_channels_are_sliced(slice_strategy: SliceStrategy | None, channels: int, layer: str) -> None:
    if isinstance(slice_strategy, (HeightSliceStrategyConfiguration, WidthSliceStrategyConfiguration)):
        raise ValueError(f"{layer}: height and width slicing are not supported, only channel slicing is")
    channel_slices(slice_strategy, channels, layer)
