"""What TTNN has and Tessera does not: names that are asked for in vain say so, and what is nearest."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable
from typing import Any

from tessera._tessera import Error
from tessera.ttnn.ttnn_names import TTNN_NAMES

# What they would do, in words, and which of ours come near.
_MEANINGS = {
    "ema": ("an exponential moving average along a row", "multiply and cumsum"),
    "generic_op": ("runs kernels of your own", "the operators that are there"),
    "moe": ("picks experts by their scores", "topk and softmax"),
    "sampling": ("draws a token by its probability", "topk"),
    "sparse_matmul": ("multiplies only by the experts that are picked", "matmul"),
    "update_cache": ("writes rows into a cache of keys or values", "indexed_fill"),
}


class Missing(Error, AttributeError):
    """A name of TTNN that Tessera does not have, or no name at all."""


def missing(name: str, present: Iterable[str], module: str = "") -> Missing:
    """The error for a name that is not among those that are there."""
    if name in _MEANINGS:
        what, near = _MEANINGS[name]
        text = f"ttnn.{name} ({what}) is an operator of TTNN that is not there yet\nhint: what comes near: {near}"
    else:
        close = difflib.get_close_matches(name, list(present), n=3, cutoff=0.6)
        known = name in TTNN_NAMES
        if module:
            text = f"ttnn.{module}{name} is not there; what is: {', '.join(sorted(present))}"
        else:
            text = f"ttnn.{name} is part of TTNN and not there yet" if known else f"ttnn has no '{name}', and TTNN neither"
        if close:
            text += f"\nhint: names that come near: {', '.join(close)}"
    error = Missing(text)
    error.code = "unsupported"  # type: ignore[attr-defined]
    error.hint = text.partition("\nhint: ")[2]  # type: ignore[attr-defined]
    return error


class ModuleWithoutSome(types.ModuleType):
    """ttnn: its missing names raise `missing`. Others may still give it a __getattr__ of their own, which is asked first."""

    def __getattribute__(self, name: str) -> Any:
        try:
            return super().__getattribute__(name)
        except AttributeError:
            if name.startswith("__"):
                raise
        raise missing(name, super().__getattribute__("__all__"))
