"""What layers of PyTorch, or anything with their attributes, say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera import ttnn


def pair(value: int | Sequence[int]) -> tuple[int, int]:
    """One number stands for height and width."""
    if isinstance(value, Sequence):
        if len(value) != 2:
            raise ValueError(f"a height and a width are expected, not {value!r}")
        return int(value[0]), int(value[1])
    return int(value), int(value)


def array(parameter: Any) -> Any:
    """A parameter as an array: without its gradient, on the host."""
    return parameter.detach().cpu() if hasattr(parameter, "detach") else parameter


def weight_and_bias(weight: Any, bias: Any = None) -> tuple[ttnn.Tensor, ttnn.Tensor | None]:
    """As float32 tensors in host memory; the bias as a row."""
    converted = ttnn.from_torch(array(weight), dtype=ttnn.float32)
    return converted, None if bias is None else ttnn.from_torch(array(bias).reshape(1, 1, 1, -1), dtype=ttnn.float32)


def padding(layer: Any) -> tuple[int, int] | tuple[int, int, int, int]:
    """As (height, width), or as (top, bottom, left, right) where "same" is uneven."""
    if layer.padding == "valid":
        return 0, 0
    if layer.padding != "same":
        return pair(layer.padding)
    reach = [d * (k - 1) for k, d in zip(pair(layer.kernel_size), pair(layer.dilation))]
    if all(r % 2 == 0 for r in reach):
        return reach[0] // 2, reach[1] // 2
    return reach[0] // 2, reach[0] - reach[0] // 2, reach[1] // 2, reach[1] - reach[1] // 2


PADDING_MODES = {"zeros": ttnn.PaddingMode.Zeros, "replicate": ttnn.PaddingMode.Replicate}


def padding_mode(layer: Any) -> ttnn.PaddingMode:
    name = getattr(layer, "padding_mode", "zeros")
    if name not in PADDING_MODES:
        raise ValueError(f"padding_mode is {name!r}, but the card pads with one of {', '.join(PADDING_MODES)}")
    return PADDING_MODES[name]
