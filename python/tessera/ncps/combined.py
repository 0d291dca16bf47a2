"""Layers above each other, and one for each direction of time."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.ncps.cfc import CfC
from tessera.ncps.ltc import LTC
from tessera.ncps.model import Array

Layer = CfC | LTC


class Stacked:
    """Each layer's output is the next one's input: stacked(input, hx, timespans) -> (output, states of the layers)."""

    def __init__(self, *layers: Layer) -> None:
        if not layers:
            raise InvalidArgument("a stack of no layers")
        for i, layer in enumerate(layers[:-1]):
            if not layer.return_sequences:
                raise InvalidArgument(
                    f"layer {i} of {len(layers)} returns its last output only: make it with return_sequences=True"
                )
            if layer.output_size != layers[i + 1].input_size:
                raise InvalidArgument(
                    f"layer {i} has {layer.output_size} outputs, but layer {i + 1} has {layers[i + 1].input_size} inputs"
                )
            if layer.batch_first != layers[i + 1].batch_first:
                raise InvalidArgument(f"layers {i} and {i + 1} do not agree on batch_first")
        self.layers = list(layers)

    def __call__(self, input: Any, hx: Any = None, timespans: Any = None) -> tuple[Array, list[Any]]:
        states = [None] * len(self.layers) if hx is None else list(hx)
        if len(states) != len(self.layers):
            raise InvalidArgument(f"{len(states)} states for {len(self.layers)} layers")
        for i, layer in enumerate(self.layers):
            input, states[i] = layer(input, states[i], timespans)
        return input, states

    forward = __call__


class Bidirectional:
    """One layer from the first step to the last, one from the last to the first; their outputs side by side.

    bidirectional(input, hx, timespans) -> (output, (state of the one, state of the other)). Where only last outputs are
    returned, each direction's own last.
    """

    def __init__(self, forward_layer: Layer, backward_layer: Layer) -> None:
        for name in ("return_sequences", "batch_first", "input_size"):
            one, other = getattr(forward_layer, name), getattr(backward_layer, name)
            if one != other:
                raise InvalidArgument(f"the two directions do not agree on {name}: {one} and {other}")
        self.forward_layer = forward_layer
        self.backward_layer = backward_layer

    def _turned(self, array: Any, batched: bool) -> Array:
        axis = 1 if batched and self.forward_layer.batch_first else 0
        return np.flip(np.asarray(array, np.float32), axis)

    def __call__(self, input: Any, hx: Any = None, timespans: Any = None) -> tuple[Array, tuple[Any, Any]]:
        input = np.asarray(input, np.float32)
        batched = input.ndim == 3
        first, second = (None, None) if hx is None else hx
        ahead, state = self.forward_layer(input, first, timespans)
        each = timespans is not None and np.size(timespans) > 1
        times = self._turned(timespans, batched) if each else timespans
        back, other = self.backward_layer(self._turned(input, batched), second, times)
        if self.forward_layer.return_sequences:
            back = self._turned(back, batched)
        return np.concatenate((ahead, back), axis=-1), (state, other)
