"""Operators that TTNN keeps under ttnn.experimental."""

from __future__ import annotations

from typing import Any

from tessera._tessera import _convert_to_chw as convert_to_chw
from tessera._tessera import _convert_to_hwc as convert_to_hwc

__all__ = ["convert_to_chw", "convert_to_hwc"]


def __getattr__(name: str) -> Any:
    from tessera.ttnn import absent

    if name.startswith("__"):
        raise AttributeError(name)
    raise absent.missing(name, __all__, "experimental.")
