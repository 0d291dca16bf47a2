"""Enlarged images: UpsampleConfiguration says how, TtUpsample runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tessera import ttnn
from tessera.cnn.max_pool2d import run_on_channels
from tessera.cnn.strategies import SliceStrategy, channel_slices, check_only_channels_are_sliced

_MODES = ("nearest", "bilinear")


@dataclass(frozen=True)
class UpsampleConfiguration:
    input_height: int
    input_width: int
    channels: int
    batch_size: int
    scale_factor: float | tuple[float, float]
    mode: str = "nearest"

    slice_strategy: SliceStrategy | None = None

    def __post_init__(self) -> None:
        check_only_channels_are_sliced(self.slice_strategy, self.channels, "Upsample")
        if self.mode not in _MODES:
            raise ValueError(f"Upsample: mode is {self.mode!r}, but it is one of {', '.join(_MODES)}")

    @classmethod
    def from_torch(
        cls, torch_layer: Any, input_height: int, input_width: int, batch_size: int, channels: int, **options: Any
    ) -> UpsampleConfiguration:
        """Of a torch.nn.Upsample, or of anything with its attributes."""
        if getattr(torch_layer, "align_corners", None):
            raise ValueError("Upsample: align_corners is set, but the card's corners are not aligned")
        factor = torch_layer.scale_factor
        if factor is None:
            height, width = _pair(torch_layer.size)
            factor = (height / input_height, width / input_width)
        described: dict[str, Any] = {"scale_factor": _pair(factor), "mode": torch_layer.mode}
        return cls(input_height, input_width, channels, batch_size, **(described | options))


class TtUpsample:
    """An upsampling on a device."""

    def __init__(self, configuration: UpsampleConfiguration, device: ttnn.Device) -> None:
        self.configuration = configuration
        self.device = device
        self.num_slices = channel_slices(configuration.slice_strategy, configuration.channels, "Upsample")
        self.use_channel_slicing = self.num_slices > 1
        self.channels_per_slice = configuration.channels // self.num_slices

    def get_upsample_kwargs(self) -> dict[str, Any]:
        factors = [int(f) if float(f).is_integer() else float(f) for f in _pair(self.configuration.scale_factor)]
        if not all(isinstance(f, int) for f in factors):
            factors = [float(f) for f in factors]
        return {"scale_factor": factors, "mode": self.configuration.mode}

    def __call__(self, x: ttnn.Tensor) -> ttnn.Tensor:
        c = self.configuration
        image = (c.batch_size, c.input_height, c.input_width, c.channels)
        if tuple(x.shape) != image:
            x = ttnn.reshape(x, image)
        if not self.use_channel_slicing:
            return ttnn.upsample(input_tensor=x, **self.get_upsample_kwargs())
        return run_on_channels(
            x, self.num_slices, lambda part: ttnn.upsample(input_tensor=part, **self.get_upsample_kwargs())
        )


def _pair(value: Any) -> tuple[Any, Any]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value, value)
