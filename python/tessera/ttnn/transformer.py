"""Operators of attention: heads out of rows and back, masked softmax, scaled dot products."""

from __future__ import annotations

from typing import Any

from tessera import _tessera

SDPAProgramConfig = _tessera.SDPAProgramConfig

__all__ = ["SDPAProgramConfig"]


def __getattr__(name: str) -> Any:
    from tessera.ttnn import absent

    if name.startswith("__"):
        raise AttributeError(name)
    raise absent.missing(name, __all__, "transformer.")
