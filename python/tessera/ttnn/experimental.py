"""Operators that TTNN keeps under ttnn.experimental."""

from __future__ import annotations

from typing import Any

from tessera._tessera import InvalidArgument, Tensor
from tessera._tessera import _convert_to_chw as convert_to_chw
from tessera._tessera import _convert_to_hwc as convert_to_hwc
from tessera._tessera import cumsum as _cumsum



def intimg(input_tensor: Tensor) -> Tensor:
    """The integral image of [1, H, W, C]: sums of all that is above and to the left, the element itself included."""
    if len(input_tensor.shape) != 4:
        raise InvalidArgument(f"intimg: an image [1, H, W, C] is needed, not {input_tensor.shape}")
    return _cumsum(_cumsum(input_tensor, 1), 2)


__all__ = ["convert_to_chw", "convert_to_hwc", "intimg"]


def __getattr__(name: str) -> Any:
    from tessera.ttnn import absent

    if name.startswith("__"):
        raise AttributeError(name)
    raise absent.missing(name, __all__, "experimental.")
