"""Instructions that choose: by indices, by predicates, by ranges, by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki import _ops
from tessera.nki._calls import public
from tessera.nki._dtypes import type_name
from tessera.nki._index import Index, Mask, volume
from tessera.nki._instruction import elementwise, given, with_dst
from tessera.nki._recorder import current
from tessera.nki._tile import Tile
from tessera.nki.isa._activation import Sums, at_once, command_of
from tessera.nki.isa._passes import check_dtype, joint_shape, operand_of, result_type
from tessera.nki.isa.constants import reduce_cmd

_LEAST = float(np.finfo(np.float32).min)


def _by_pattern(dst: Tile, pattern: Sequence[Sequence[int]], offset: Any, channel_multiplier: int) -> np.ndarray:
    """offset + partition * channel_multiplier + the steps of the pattern, as [p, counts...]."""
    counts = [int(n) for _, n in pattern]
    out = np.arange(dst.shape[0], dtype=np.int64).reshape([-1] + [1] * len(counts)) * int(channel_multiplier) + int(offset)
    for axis, (step, count) in enumerate(pattern):
        shape = [1] * (len(counts) + 1)
        shape[axis + 1] = int(count)
        out = out + np.arange(int(count), dtype=np.int64).reshape(shape) * int(step)
    if volume(out.shape) != volume(dst.shape):
        raise InvalidArgument(f"a pattern of {counts} for {dst.shape[0]} partitions does not fill {list(dst.shape)}")
    return out.reshape(dst.shape)


@public
def iota(
    expr: Any = None,
    dtype: Any = None,
    *,
    pattern: Sequence[Sequence[int]] | None = None,
    offset: int = 0,
    channel_multiplier: int = 0,
    mask: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """(expression of indices, dtype) gives its numbers; (dst, pattern=, offset=, channel_multiplier=) puts a pattern's."""
    if isinstance(expr, Tile):
        dst, expr = expr, None
        if dtype is not None and pattern is None:
            pattern, dtype = dtype, None
    if (expr is None) == (pattern is None) or (pattern is not None and dst is None):
        raise InvalidArgument("iota takes an expression of indices and a dtype, or dst and pattern")
    check_dtype("iota", dtype)
    if pattern is not None:
        assert dst is not None
        numbers = _by_pattern(dst, pattern, offset, channel_multiplier)
    else:
        if offset or channel_multiplier:
            raise InvalidArgument("iota: offset and channel_multiplier belong to a pattern")
        if not isinstance(expr, Index):
            expr = Index([1, 1], [0, 0], int(expr))
        numbers = expr.array(max(2, len(expr.sizes)))
    if dtype is None and dst is None:
        raise InvalidArgument("iota needs a dtype")
    result = elementwise(
        "iota",
        "gpsimd",
        [],
        lambda: numbers,
        shape=numbers.shape,
        dtype=dst.type_name if dst is not None else type_name(dtype),
        mask=mask,
        name=name,
    )
    return given(dst, result)


@public
def affine_select(
    pred: Any = None,
    on_true_tile: Tile | None = None,
    on_false_value: float = 0.0,
    *,
    pattern: Sequence[Sequence[int]] | None = None,
    offset: int = 0,
    channel_multiplier: int = 0,
    cmp_op: Any = "equal",
    mask: Any = None,
    dtype: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """on_true_tile where a condition on indices holds, else a number. The condition is `pred`, or `pattern cmp_op 0`."""
    if isinstance(pred, Tile) and dst is None:
        dst, pred = pred, None
    if on_true_tile is None or (pred is None) == (pattern is None):
        raise InvalidArgument("affine_select needs on_true_tile and a condition: pred, or a pattern")
    check_dtype("affine_select", dtype)
    shape = on_true_tile.shape
    if pattern is not None:
        numbers = _by_pattern(on_true_tile, pattern, offset, channel_multiplier)
        table = np.asarray(_ops.apply_op(_ops.op_name(cmp_op), numbers, 0)) != 0
    else:
        if offset or channel_multiplier or cmp_op != "equal":
            raise InvalidArgument("affine_select: offset, channel_multiplier and cmp_op belong to a pattern")
        if isinstance(pred, Mask):
            table = np.broadcast_to(pred.array(len(shape)), shape)
        elif isinstance(pred, (bool, np.bool_)):
            table = np.full(shape, bool(pred))
        else:
            raise InvalidArgument("affine_select: pred is a condition on indices, like i_p >= i_f")

    # A mask cuts the instruction, and the condition with it.
    result = elementwise(
        "affine_select",
        "gpsimd",
        [on_true_tile],
        _cut_like(table, lambda part, x: np.where(part, x, np.float32(on_false_value)), mask),
        shape=shape,
        dtype=result_type(dtype, dst, on_true_tile),
        mask=mask,
        name=name,
    )
    return given(dst, result)


def _cut_like(table: np.ndarray, meaning: Any, mask: Any) -> Any:
    """A meaning over a table that a box of a mask cuts as it cuts operands."""

    def apply(x: np.ndarray, *rest: np.ndarray) -> Any:
        part = table
        if part.shape != x.shape and isinstance(mask, Mask):
            box = mask.box(table.ndim)
            assert box is not None
            part = table[tuple(slice(begin, end) for begin, end in box)]
        return meaning(part, x, *rest)

    return apply


@with_dst(1)
def range_select(
    on_true_tile: Tile,
    comp_op0: Any,
    comp_op1: Any,
    bound0: Tile,
    bound1: Tile,
    *,
    reduce_cmd: reduce_cmd | None = None,
    reduce_res: Tile | None = None,
    reduce_op: Any = np.max,
    range_start: float = 0.0,
    on_false_value: float = _LEAST,
    mask: Any = None,
    dtype: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """Elements whose place in the partition is within bounds, one of each for each partition."""
    from tessera.nki.isa.constants import reduce_cmd as commands

    check_dtype("range_select", dtype)
    recorder = current()
    first, second = _ops.op_name(comp_op0), _ops.op_name(comp_op1)
    command = reduce_cmd or (commands.idle if reduce_res is None else commands.reset_reduce)
    sums = None
    if command in (commands.reduce, commands.reset_reduce):
        sums = Sums(recorder, "vector", _ops.op_name(reduce_op), command)
    if reduce_res is not None and sums is None:
        raise InvalidArgument("range_select: reduce_res is given, but reduce_cmd does not reduce")

    def meaning(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
        places = np.arange(x[0].size, dtype=np.float32).reshape(x.shape[1:])[None] + np.float32(range_start)
        keep = (np.asarray(_ops.apply_op(first, places, low)) != 0) & (np.asarray(_ops.apply_op(second, places, high)) != 0)
        y = np.where(keep, x, np.float32(on_false_value))
        if sums is None:
            return y
        total = sums.take(y)
        return y if reduce_res is None else (y, total)

    result = elementwise(
        "range_select",
        "vector",
        [on_true_tile, bound0, bound1],
        meaning,
        columns=2,
        shape=on_true_tile.shape,
        dtype=result_type(dtype, dst, on_true_tile),
        mask=mask,
        name=name,
        extra=reduce_res,
    )
    return at_once(dst, result) if sums is not None else given(dst, result)


@public
def select_reduce(
    dst: Tile,
    predicate: Tile,
    on_true: Tile,
    on_false: Any,
    *,
    reduce_res: Tile | None = None,
    reduce_cmd: reduce_cmd | None = None,
    reduce_op: Any = np.max,
    reverse_pred: bool = False,
    mask: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tile:
    """on_true where the predicate holds, else on_false (a number, or one for each partition)."""
    from tessera.nki.isa.constants import reduce_cmd as commands

    check_dtype("select_reduce", dtype)
    recorder = current()
    command = command_of("select_reduce", reduce_op if reduce_res is not None or reduce_cmd is not None else None, reduce_res, reduce_cmd)
    sums = Sums(recorder, "vector", _ops.op_name(reduce_op), command) if command in (commands.reduce, commands.reset_reduce) else None
    number, column = operand_of("select_reduce", on_false, on_true)

    def meaning(p: np.ndarray, x: np.ndarray, *rest: np.ndarray) -> Any:
        holds = (p == 0) if reverse_pred else (p != 0)
        y = np.where(holds, x, rest[0] if rest else np.float32(number))
        if sums is None:
            return y
        total = sums.take(y)
        return y if reduce_res is None else (y, total)

    result = elementwise(
        "select_reduce",
        "vector",
        [predicate, on_true, *([column] if column is not None else [])],
        meaning,
        columns=int(column is not None),
        shape=joint_shape("select_reduce", on_true, predicate),
        dtype=dst.type_name,
        mask=mask,
        name=name,
        extra=reduce_res,
    )
    result.into(dst)
    return dst


@public
def tensor_copy_predicated(
    *,
    src: Any,
    dst: Tile,
    predicate: Tile,
    mask: Any = None,
    dtype: Any = None,
    reverse_pred: bool = False,
    name: str | None = None,
) -> Tile:
    """dst = src where the predicate holds; elsewhere it stays."""
    check_dtype("tensor_copy_predicated", dtype)
    tiles = [predicate, dst] + ([src] if isinstance(src, Tile) else [])

    def meaning(p: np.ndarray, old: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        holds = (p == 0) if reverse_pred else (p != 0)
        return np.where(holds, rest[0] if rest else np.float32(src), old)

    elementwise(
        "tensor_copy_predicated", "vector", tiles, meaning, shape=dst.shape, dtype=dst.type_name, mask=mask, name=name
    ).into(dst)
    return dst


@with_dst(1)
def dropout(
    data: Tile, prob: Any, *, mask: Any = None, dtype: Any = None, dst: Tile | None = None, name: str | None = None
) -> Any:
    """Zeros in place of elements, with that probability; the numbers are the simulator's own."""
    check_dtype("dropout", dtype)
    recorder = current()
    number, column = operand_of("dropout", prob, data)

    def meaning(x: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        chance = rest[0] if rest else np.float32(number)
        return np.where(recorder.random.random(x.shape, dtype=np.float32) < chance, np.float32(0), x)

    result = elementwise(
        "dropout",
        "vector",
        [data, *([column] if column is not None else [])],
        meaning,
        columns=int(column is not None),
        shape=data.shape,
        dtype=result_type(dtype, dst, data),
        mask=mask,
        name=name,
    )
    return given(dst, result)
