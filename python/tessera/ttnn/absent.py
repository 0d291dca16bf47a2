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
    "adaptive_avg_pool2d": ("averages over windows that fit a given output", "avg_pool2d"),
    "batch_norm": ("normalizes by statistics of each channel", "multiply and add, with the statistics folded in"),
    "bcast": ("arithmetic of a tensor and a row, a column or a number", "add, subtract and multiply, which broadcast"),
    "conv1d": ("convolves along one dimension", "conv2d with a height of 1"),
    "dump_tensor": ("writes a tensor to a file", "to_numpy and numpy.save"),
    "fill_implicit_tile_padding": ("writes a number into the padding of tiles", "pad"),
    "gather": ("picks elements by indices along a dimension", "embedding, for rows"),
    "grid_sample": ("samples an image at given places", "upsample"),
    "group_norm": ("normalizes groups of channels", "layer_norm"),
    "load_tensor": ("reads a tensor from a file", "numpy.load and from_numpy"),
    "nonzero": ("lists where elements are not 0", "ne"),
    "outer": ("multiplies each element of a column with each of a row", "multiply, which broadcasts"),
    "prelu": ("a relu with a slope for each channel", "leaky_relu"),
    "rotate": ("turns an image", "permute and slice"),
    "scatter": ("writes elements to places given by indices", "where"),
    "scatter_add": ("adds elements at places given by indices", "where and add"),
    "softmax_in_place": ("softmax over its own input", "softmax"),
    "sort": ("sorts along a dimension", "argmax"),
    "tilize_with_val_padding": ("converts to tiles, padded with a number", "pad and tilize"),
    "tilize_with_zero_padding": ("converts to tiles, padded with zeros", "to_layout"),
    "topk": ("the largest elements along a dimension", "max and argmax"),
    "transformer": ("operators of attention", "matmul, softmax and permute"),
    "untilize_with_unpadding": ("converts to rows and drops padding", "to_layout"),
}


class Missing(Error, AttributeError):
    """A name of TTNN that Tessera does not have, or no name at all."""


def missing(name: str, present: Iterable[str]) -> Missing:
    """The error for a name that is not among those that are there."""
    if name in _MEANINGS:
        what, near = _MEANINGS[name]
        text = f"ttnn.{name} ({what}) is an operator of TTNN that is not there yet\nhint: what comes near: {near}"
    else:
        close = difflib.get_close_matches(name, list(present), n=3, cutoff=0.6)
        known = name in TTNN_NAMES
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
