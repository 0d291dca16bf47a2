"""Copies between memories: plain ones, masked ones, indirect ones, and those that combine with what is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera._tessera import Error, InvalidArgument, NkiView
from tessera.nki import _ops
from tessera.nki._index import resolved
from tessera.nki._instruction import cut_of, is_nothing
from tessera.nki._recorder import current
from tessera.nki._tile import Gathered, Gridded, Tile, fit


def _flat(view: NkiView) -> NkiView:
    last = sum((n - 1) * s for n, s in zip(view.shape, view.strides))
    return view.gathered(0, [last + 1], [1])


def _places(tile: Tile, shape: tuple[int, ...]) -> tuple[NkiView, np.ndarray | None, np.ndarray | None]:
    """A view to record by, and where elements are in it: None for a plain access."""
    if isinstance(tile, Gathered) or (isinstance(tile, Gridded) and tile.wrong is not None):
        if not tile.recorder.values:
            return tile.base.access, None, None
        offsets, inside = tile.offsets()
        return tile.base.access, offsets, inside
    return fit(tile.access, shape), None, None


def _fitted(dst: NkiView, src: NkiView) -> tuple[NkiView, NkiView]:
    """As one shape: ones come and go, and the side without gaps is cut as the other one is."""
    if dst.shape == src.shape:
        return dst, src
    try:
        return fit(dst, src.shape), src
    except Error:
        return dst, fit(src, dst.shape)


def transfer(dst: Tile, src: Tile, mask: Any = None, op: str | None = None, skip_outside: bool = False) -> None:
    """dst = src, or dst = op(dst, src), where the mask says."""
    recorder, kernel = current(), current().kernel
    mask = resolved(mask)
    if mask is False:
        return
    indirect = isinstance(dst, Gathered) or isinstance(src, Gathered)
    shape = dst.shape if isinstance(dst, (Gathered, Gridded)) else src.shape
    box = None if mask is None else mask.box(len(shape))
    if not indirect and op is None and not skip_outside and (mask is None or box is not None):
        if box is None:
            to, source = dst.access, src.access
        else:
            if is_nothing(box, shape):
                return
            to, source = cut_of(dst, box, shape), cut_of(src, box, shape)
        kernel.dma_copy(*_fitted(to, source))
        return
    to, to_at, to_inside = _places(dst, tuple(shape))
    source, from_at, from_inside = _places(src, tuple(shape))
    kernel.transfer(to, source, op is not None)
    if not recorder.values:
        return
    wanted = np.ones(shape, dtype=bool) if mask is None else np.broadcast_to(mask.array(len(shape)), shape).copy()
    for inside, tile in ((to_inside, to), (from_inside, source)):
        if inside is None:
            continue
        if not skip_outside and (wanted & ~inside).any():
            at = [int(i) for i in np.argwhere(wanted & ~inside)[0]]
            raise InvalidArgument(f"element {at} of an access to '{tile.name}' {tile.shape} lies outside of it")
        wanted &= inside
    numbers = kernel.array(source).reshape(shape)[wanted] if from_at is None else kernel.array(_flat(source))[from_at[wanted]]
    if to_at is None:
        target = kernel.array(to)
        target[wanted] = numbers if op is None else _ops.apply_op(op, target[wanted], numbers)
    else:
        target = kernel.array(_flat(to))
        if op is None:
            target[to_at[wanted]] = numbers
        elif op == "add":
            np.add.at(target, to_at[wanted], numbers)
        else:
            for place, number in zip(to_at[wanted], numbers):
                target[place] = _ops.apply_op(op, target[place], number)
    kernel.wrote(to)
