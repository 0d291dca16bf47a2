"""How an instruction is built: its operands, a mask, what it means to numbers, and where its result goes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument, NkiView
from tessera.nki._calls import public
from tessera.nki._dtypes import type_name
from tessera.nki._index import resolved
from tessera.nki._recorder import current
from tessera.nki._tile import Box, Pending, Tile, fit, store_into

# Arrays of the operands to the array of the result; None in place of a result: it is not the fast path's business.
Meaning = Callable[..., Any]


def with_dst(tiles: int) -> Callable[[Any], Any]:
    """Both generations of a call: `f(data, ...)` gives a result, `f(dst, data, ...)` and `dst=` put it there. `tiles`
    says how many tiles the first form begins with."""

    def decorate(function: Any) -> Any:
        names = [name for name in inspect.signature(function).parameters if name != "dst"]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if args and "dst" not in kwargs and isinstance(args[0], Tile):
                leading = next((i for i, each in enumerate(args) if not isinstance(each, Tile)), len(args))
                if leading > tiles or (names and names[0] in kwargs):
                    kwargs["dst"], args = args[0], args[1:]
            return function(*args, **kwargs)

        return public(call)

    return decorate


def named_location(name: str | None) -> None:
    """A name that the kernel gives to an instruction is told with its line."""
    if name is not None and not isinstance(name, str):
        raise InvalidArgument(f"the name of an instruction is a text, not {type(name).__name__}")


def given(dst: Tile | None, result: Pending) -> Any:
    if dst is None:
        return result
    if result.converts and result.type_name != dst.type_name:
        # A dtype of its own: numbers are rounded to that one first.
        result.access  # noqa: B018
        store_into(dst, result)
    else:
        result.into(dst)
    return dst


def spread(view: NkiView, shape: Sequence[int]) -> NkiView:
    """A view for an instruction over that shape: ones come and go; dimensions of size 1 are read over and over."""
    wanted = list(shape)
    if view.shape == wanted:
        return view
    count = 1
    for n in view.shape:
        count *= n
    full = 1
    for n in wanted:
        full *= n
    if count == full:
        return fit(view, wanted)
    while len(view.shape) < len(wanted):
        view = view.with_axis(len(view.shape) if view.shape[0] == wanted[0] else 0)
    for dim, size in enumerate(wanted):
        if view.shape[dim] != size:
            if view.shape[dim] != 1:
                raise InvalidArgument(f"'{view.name}' {view.shape} cannot be read as {wanted}")
            view = view.broadcast(dim, size)
    return view


def cut_of(tile: Tile, box: Box, shape: Sequence[int]) -> NkiView:
    """The part of an operand within a box of the instruction's shape."""
    if list(tile.shape) == list(shape):
        return tile.cut(box)
    if tile.ndim == len(shape):
        mine: Box = [(0, None) if n == 1 and m != 1 else each for n, m, each in zip(tile.shape, shape, box)]
        return tile.cut(mine)
    if tile.size == tile.shape[0]:
        return tile.cut([box[0]])
    # Dimensions of size 1 come and go.
    seen = Tile(tile.recorder, fit(tile.access, shape))
    return seen.cut(box)


def sizes_within(box: Box, shape: Sequence[int]) -> list[int]:
    return [(n if end is None else min(end, n)) - begin for n, (begin, end) in zip(shape, box)]


def is_nothing(box: Box, shape: Sequence[int]) -> bool:
    return any(n <= 0 for n in sizes_within(box, shape))


def elementwise(
    op: str,
    engine: str,
    tiles: Sequence[Tile],
    meaning: Meaning,
    *,
    shape: Sequence[int],
    dtype: Any,
    mask: Any,
    fast: Callable[..., None] | None = None,
    columns: int = 0,
    streams: int | None = None,
    memory: str = "sbuf",
    name: str | None = None,
    extra: Tile | None = None,
    accumulates: bool = False,
) -> Pending:
    """An instruction whose result has the shape of its operands. The last `columns` operands are one number for each
    partition. `extra` is a second result, one number for each partition; `meaning` then gives both. `accumulates`: in
    whichever order it is applied to one tile, the result is the same."""
    recorder, kernel = current(), current().kernel
    named_location(name)
    mask = resolved(mask)
    plain = len(tiles) - columns
    shape = [int(n) for n in shape]

    def run(dst: Tile) -> None:
        region, table, box = shape, None, None
        if mask is None:
            to = fit(dst.access, shape) if list(dst.shape) != shape else dst.access
            views = [each.access for each in tiles]
        else:
            box = mask.box(len(shape))
            if box is None:
                to = fit(dst.access, shape)
                views = [each.access for each in tiles]
                table = np.broadcast_to(mask.array(len(shape)), shape)
            else:
                if is_nothing(box, shape):
                    return
                region = sizes_within(box, shape)
                to = cut_of(dst, box, shape)
                if to.shape != region:
                    to = fit(to, region)
                views = [cut_of(each, box, shape) for each in tiles]
        views = [spread(each, region) for each in views[:plain]] + [_column(each, region[0]) for each in views[plain:]]
        if accumulates and any(to.same(each) for each in views[:plain]):
            # Turns of a loop without order may add up, in whichever order.
            kernel.set_turn(0)
        if fast is not None and table is None and extra is None:
            fast(to, *views)
            return
        results = [to]
        if extra is not None:
            second = extra.access
            results.append(_column(second, region[0]) if second.shape[0] == region[0] else _column(second.slice(0, 0, region[0], 1), region[0]))
        reads = views if table is None else [*views]
        kernel.pass_(op, engine, results, reads, min(plain, 2) if streams is None else streams)
        if not recorder.values:
            return
        arrays = [kernel.array(each) for each in views[:plain]]
        arrays += [kernel.array(each).reshape([region[0]] + [1] * (len(region) - 1)) for each in views[plain:]]
        with np.errstate(all="ignore"):
            out = meaning(*arrays)
        if extra is not None:
            out, sums = out
            kernel.array(results[1]).reshape(-1)[:] = np.asarray(sums).reshape(-1)
            kernel.wrote(results[1])
        if region != shape and list(np.shape(out)) == shape:
            # Numbers that come from no operand are those of the whole shape.
            out = out[tuple(slice(begin, begin + n) for (begin, _), n in zip(box, region))]
        _put(kernel.array(to), out, table)
        kernel.wrote(to)

    result = Pending(recorder, run, shape, type_name(dtype), memory, tiles, name or op, mask is False)
    result.converts = True
    return result


def _put(to: np.ndarray, out: Any, table: np.ndarray | None) -> None:
    if table is None:
        to[...] = out
    else:
        np.copyto(to, np.asarray(out, dtype=np.float32), where=table)


def _column(view: NkiView, partitions: int) -> NkiView:
    """One number for each partition, as [p, 1]. A single number in one partition is not one for each."""
    count = 1
    for n in view.shape:
        count *= n
    if count != view.shape[0] or count != partitions:
        raise InvalidArgument(f"an operand per partition is [{partitions}, 1] here, not {view.shape}")
    return fit(view, [partitions, 1])


def is_column(tile: Tile) -> bool:
    """One number for each partition."""
    return all(n == 1 for n in tile.shape[1:])


def reduction(
    op: str,
    data: Tile,
    axes: Sequence[int],
    meaning: Callable[[np.ndarray, tuple[int, ...], np.ndarray | None], np.ndarray],
    *,
    keepdims: bool,
    dtype: Any,
    mask: Any,
    fast: Callable[[NkiView, NkiView, int], None] | None,
    dst: Tile | None,
    name: str | None = None,
) -> Any:
    """Over free dimensions."""
    recorder, kernel = current(), current().kernel
    named_location(name)
    mask = resolved(mask)
    rank, full = data.ndim, list(data.shape)
    axes = sorted({int(a) % rank for a in axes})
    if not axes or 0 in axes:
        raise InvalidArgument(f"{op} goes over free dimensions, not over partitions")
    kept = [d for d in range(rank) if d not in axes]
    shape = [1 if d in axes else n for d, n in enumerate(full) if keepdims or d not in axes]
    if len(shape) == 1:
        shape = [shape[0], 1]

    def run(target: Tile) -> None:
        table, region = None, full
        source = data.access if mask is None else None
        to = fit(target.access, [full[d] for d in kept]) if mask is None else None
        if mask is not None:
            box = mask.box(rank)
            if box is None:
                table = np.broadcast_to(mask.array(rank), full)
                source, to = data.access, fit(target.access, [full[d] for d in kept])
            else:
                if is_nothing(box, full):
                    return
                region = sizes_within(box, full)
                source = data.cut(box)
                whole = Tile(recorder, fit(target.access, [full[d] for d in kept]))
                to = whole.cut([box[d] for d in kept])
        assert source is not None and to is not None
        if fast is not None and table is None:
            fast(to, source.permuted(kept + axes), len(axes))
            return
        kernel.pass_(op, "vector", [to], [source], 1)
        if recorder.values:
            with np.errstate(all="ignore"):
                out = meaning(kernel.array(source), tuple(axes), table)
            array = kernel.array(to)
            if table is None:
                array[...] = out
            else:
                np.copyto(array, out, where=table.any(axis=tuple(axes)))
            kernel.wrote(to)

    return given(dst, Pending(recorder, run, shape, type_name(dtype), "sbuf", [data], "reduced", mask is False))
