"""Maxima over windows: MaxPool2dConfiguration says which, TtMaxPool2d runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tessera import ttnn
from tessera._tessera import _run_on_channels
from tessera.cnn import torch_layers
from tessera.cnn.strategies import SliceStrategy, channel_slices, check_only_channels_are_sliced


@dataclass(frozen=True)
class MaxPool2dConfiguration:
    input_height: int
    input_width: int
    channels: int
    batch_size: int
    kernel_size: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    ceil_mode: bool = False

    in_place: bool = False  # nothing hears it
    deallocate_input: bool = False
    reallocate_halo_output: bool = True

    dtype: ttnn.DataType = ttnn.bfloat16
    output_layout: ttnn.Layout = ttnn.ROW_MAJOR_LAYOUT

    slice_strategy: SliceStrategy | None = None

    def __post_init__(self) -> None:
        check_only_channels_are_sliced(self.slice_strategy, self.channels, "MaxPool2d")

    @classmethod
    def from_torch(
        cls, torch_layer: Any, input_height: int, input_width: int, batch_size: int, channels: int, **options: Any
    ) -> MaxPool2dConfiguration:
        """Of a torch.nn.MaxPool2d, or of anything with its attributes."""
        if getattr(torch_layer, "return_indices", False):
            raise ValueError("MaxPool2d: return_indices is set, but the layer gives maxima only")
        kernel = torch_layers.pair(torch_layer.kernel_size)
        stride = getattr(torch_layer, "stride", None)
        described: dict[str, Any] = {
            "stride": kernel if stride is None else torch_layers.pair(stride),
            "padding": torch_layers.pair(torch_layer.padding),
            "dilation": torch_layers.pair(torch_layer.dilation),
            "ceil_mode": getattr(torch_layer, "ceil_mode", False),
        }
        return cls(input_height, input_width, channels, batch_size, kernel, **(described | options))


class TtMaxPool2d:
    """A pool on a device."""

    def __init__(self, configuration: MaxPool2dConfiguration, device: ttnn.Device) -> None:
        self.configuration = configuration
        self.device = device
        self.num_slices = channel_slices(configuration.slice_strategy, configuration.channels, "MaxPool2d")
        self.use_channel_slicing = self.num_slices > 1
        self.channels_per_slice = configuration.channels // self.num_slices

    def get_maxpool2d_kwargs(self) -> dict[str, Any]:
        c = self.configuration
        return {
            "batch_size": c.batch_size,
            "input_h": c.input_height,
            "input_w": c.input_width,
            "channels": self.channels_per_slice,
            "kernel_size": list(torch_layers.pair(c.kernel_size)),
            "stride": list(torch_layers.pair(c.stride)),
            "padding": list(c.padding),
            "dilation": list(torch_layers.pair(c.dilation)),
            "ceil_mode": c.ceil_mode,
            "deallocate_input": c.deallocate_input,
            "reallocate_halo_output": c.reallocate_halo_output,
            "dtype": c.dtype,
            "output_layout": c.output_layout,
        }

    def __call__(self, x: ttnn.Tensor) -> ttnn.Tensor:
        if not self.use_channel_slicing:
            output: ttnn.Tensor = ttnn.max_pool2d(input_tensor=x, **self.get_maxpool2d_kwargs())
            return output
        return run_on_channels(
            x, self.num_slices, lambda part: ttnn.max_pool2d(input_tensor=part, **self.get_maxpool2d_kwargs())
        )


def run_on_channels(x: ttnn.Tensor, slices: int, layer: Callable[[ttnn.Tensor], ttnn.Tensor]) -> ttnn.Tensor:
    """A layer that keeps channels apart, on one slice of them after the other; the results meet in DRAM."""
    return _run_on_channels(x, slices, layer)
