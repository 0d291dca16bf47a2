"""Instructions that go over tiles once, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki import _dma, _ops
from tessera.nki._calls import public
from tessera.nki._dtypes import promoted, type_name
from tessera.nki._index import resolved
from tessera.nki._instruction import elementwise, given, is_column, named_location, with_dst
from tessera.nki._recorder import current
from tessera.nki._tile import Gathered, Pending, Tile, _of_base
from tessera.nki.isa.constants import Engine, engine_name, unknown_engine


def result_type(dtype: Any, dst: Tile | None, *tiles: Any) -> str:
    """What was asked for, that of the destination, or the operands' highest one."""
    if dtype is not None:
        return type_name(dtype)
    if dst is not None:
        return dst.type_name
    return promoted(*(each.type_name for each in tiles if isinstance(each, Tile)))


def check_dtype(op: str, dtype: Any) -> None:
    """A dtype beside a destination is the type that numbers are rounded to on their way; it has to be one."""
    if dtype is not None:
        try:
            type_name(dtype)
        except InvalidArgument as error:
            raise InvalidArgument(f"{op}: {error}") from None


@with_dst(1)
def tensor_copy(
    src: Tile,
    *,
    mask: Any = None,
    dtype: Any = None,
    engine: Engine = unknown_engine,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    check_dtype("tensor_copy", dtype)
    kernel, unit = current().kernel, engine_name(engine, "vector")
    # Where the engine is left open, the one with less work takes it.
    chosen = engine_name(engine, "any")
    kind = result_type(dtype, dst, src)
    if isinstance(src, Gathered) or isinstance(dst, Gathered):
        return _copy_by_table(src, dst, mask, kind, unit)
    result = elementwise(
        "tensor_copy",
        unit,
        [src],
        lambda x: x,
        fast=lambda to, x: kernel.tensor_copy(to, x, chosen),
        shape=src.shape,
        dtype=kind,
        mask=mask,
        name=name or "copy",
    )
    return given(dst, result)


def _copy_by_table(src: Tile, dst: Tile | None, mask: Any, kind: str, unit: str) -> Any:
    """Elements that a table of indices chooses, on chip."""
    recorder = current()
    kernel = recorder.kernel

    def run(target: Tile) -> None:
        sources = [_of_base(src), *(each.access for each in getattr(src, "indices", []) + getattr(target, "indices", []))]
        kernel.pass_("tensor_copy", unit, [_of_base(target)], sources, 1)
        if not recorder.values:
            return
        shape = src.shape
        to, to_at, to_inside = _dma._places(target, shape)
        source, from_at, from_inside = _dma._places(src, shape)
        wanted = np.ones(shape, dtype=bool)
        chosen = resolved(mask)
        if chosen is not None:
            wanted &= np.broadcast_to(chosen.array(len(shape)), shape)
        for inside in (to_inside, from_inside):
            if inside is not None and (wanted & ~inside).any():
                raise InvalidArgument("tensor_copy: an index lies outside of the tile")
        numbers = kernel.array(source) if from_at is None else kernel.array(_dma._flat(source))[np.where(wanted, from_at, 0)]
        if to_at is None:
            np.copyto(kernel.array(to), numbers, where=wanted)
        else:
            kernel.array(_dma._flat(to))[to_at[wanted]] = np.broadcast_to(numbers, shape)[wanted]
        kernel.wrote(to)

    return given(dst, Pending(recorder, run, src.shape, kind, "sbuf", [src], "copy", resolved(mask) is False))


@public
def tensor_copy_dynamic_src(src: Tile, *, mask: Any = None, dtype: Any = None, engine: Engine = unknown_engine, dst: Tile | None = None) -> Any:
    return tensor_copy(src, mask=mask, dtype=dtype, engine=engine, dst=dst)


@public
def tensor_copy_dynamic_dst(*, dst: Tile, src: Tile, mask: Any = None, dtype: Any = None, engine: Engine = unknown_engine) -> Any:
    return tensor_copy(src, mask=mask, dtype=dtype, engine=engine, dst=dst)


@with_dst(2)
def tensor_tensor(
    data1: Tile,
    data2: Tile,
    op: Any,
    *,
    dtype: Any = None,
    mask: Any = None,
    engine: Engine = unknown_engine,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    check_dtype("tensor_tensor", dtype)
    if not isinstance(data1, Tile) or not isinstance(data2, Tile):
        raise InvalidArgument("tensor_tensor takes two tiles: use tensor_scalar for a number")
    kernel, unit, word = current().kernel, engine_name(engine, "vector"), _ops.op_name(op)
    if word == "copy":
        raise InvalidArgument("tensor_tensor needs an operation of two operands")
    shape = joint_shape("tensor_tensor", data1, data2)
    fast = (lambda to, a, b: kernel.tensor_tensor(to, a, b, word, unit)) if word in _ops.CORE_BINARY else None
    result = elementwise(
        "tensor_tensor",
        unit,
        [data1, data2],
        lambda a, b: _ops.apply_op(word, a, b),
        fast=fast,
        shape=shape,
        dtype=result_type(dtype, dst, data1, data2),
        mask=mask,
        name=name or word,
        accumulates=word in _ops.ASSOCIATIVE,
    )
    return given(dst, result)


def joint_shape(op: str, a: Tile, b: Tile) -> tuple[int, ...]:
    """Of two operands: dimensions of size 1 are read over and over, but partitions are not."""
    if a.shape == b.shape:
        return a.shape
    if [n for n in a.shape if n != 1] == [n for n in b.shape if n != 1]:
        return a.shape if a.ndim >= b.ndim else b.shape
    long, short = (a, b) if a.ndim >= b.ndim else (b, a)
    sizes = list(short.shape) + [1] * (long.ndim - short.ndim)
    if long.size == short.size and a.shape[0] == b.shape[0]:
        return a.shape
    if sizes[0] != long.shape[0] or any(m != n and 1 not in (m, n) for m, n in zip(sizes, long.shape)):
        raise InvalidArgument(f"{op}: {list(a.shape)} and {list(b.shape)} do not fit each other")
    return tuple(max(m, n) for m, n in zip(sizes, long.shape))


def operand_of(op: str, value: Any, data: Tile) -> tuple[float, Tile | None]:
    """A number, or one for each partition."""
    if not isinstance(value, Tile):
        return float(0 if value is None else value), None
    if value.shape[0] != data.shape[0] and value.size == 1 and value.recorder.values and value.shape[0] == 1 and data.shape[0] == 1:
        return 0.0, value
    if not is_column(value) or value.shape[0] != data.shape[0]:
        raise InvalidArgument(f"{op}: an operand is a number or [{data.shape[0]}, 1], not {list(value.shape)}")
    return 0.0, value


@with_dst(1)
def tensor_scalar(
    data: Tile,
    op0: Any,
    operand0: Any,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
    engine: Engine = unknown_engine,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """(data op0 operand0) op1 operand1; a reversed operand comes first."""
    check_dtype("tensor_scalar", dtype)
    kernel, unit = current().kernel, engine_name(engine, "vector")
    first, second = _ops.op_name(op0), _ops.op_name(op1)
    if second == "copy" and (operand1 is not None or reverse1):
        raise InvalidArgument("tensor_scalar: operand1 and reverse1 need op1")
    (number0, tile0), (number1, tile1) = operand_of("tensor_scalar", operand0, data), operand_of("tensor_scalar", operand1, data)
    tiles = [each for each in (tile0, tile1) if each is not None]
    reverse0 = reverse0 and first not in _ops.SWAPS
    reverse1 = reverse1 and second not in _ops.SWAPS

    def meaning(x: np.ndarray, *columns: np.ndarray) -> np.ndarray:
        rest = list(columns)
        a = rest.pop(0) if tile0 is not None else np.float32(number0)
        b = rest.pop(0) if tile1 is not None else np.float32(number1)
        y = _ops.apply_op(first, a, x) if reverse0 else _ops.apply_op(first, x, a)
        return _ops.apply_op(second, b, y) if reverse1 else _ops.apply_op(second, y, b)

    def fast(to: Any, x: Any, *columns: Any) -> None:
        rest = list(columns)
        a = rest.pop(0) if tile0 is not None else number0
        b = rest.pop(0) if tile1 is not None else number1
        kernel.tensor_scalar(to, x, first, a, second, b, unit)

    in_core = {first, second} <= _ops.CORE_BINARY | {"copy"} and not reverse0 and not reverse1
    result = elementwise(
        "tensor_scalar",
        unit,
        [data, *tiles],
        meaning,
        fast=fast if in_core else None,
        columns=len(tiles),
        shape=data.shape,
        dtype=result_type(dtype, dst, data),
        mask=mask,
        name=name or first,
        accumulates=first in _ops.ASSOCIATIVE and second == "copy",
    )
    return given(dst, result)


@with_dst(1)
def scalar_tensor_tensor(
    data: Tile,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: Tile,
    *,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: Any = None,
    mask: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """(data op0 operand0) op1 operand1: a number or a column first, then a tile."""
    check_dtype("scalar_tensor_tensor", dtype)
    first, second = _ops.op_name(op0), _ops.op_name(op1)
    number, column = operand_of("scalar_tensor_tensor", operand0, data)

    def meaning(x: np.ndarray, y: np.ndarray, *columns: np.ndarray) -> np.ndarray:
        a = columns[0] if columns else np.float32(number)
        z = _ops.apply_op(first, a, x) if reverse0 else _ops.apply_op(first, x, a)
        return _ops.apply_op(second, y, z) if reverse1 else _ops.apply_op(second, z, y)

    tiles = [data, operand1] + ([column] if column is not None else [])
    result = elementwise(
        "scalar_tensor_tensor",
        "vector",
        tiles,
        meaning,
        columns=len(tiles) - 2,
        shape=joint_shape("scalar_tensor_tensor", data, operand1),
        dtype=result_type(dtype, dst, data, operand1),
        mask=mask,
        name=name,
    )
    return given(dst, result)


@with_dst(1)
def reciprocal(data: Tile, *, dtype: Any = None, mask: Any = None, dst: Tile | None = None, name: str | None = None) -> Any:
    check_dtype("reciprocal", dtype)
    result = elementwise(
        "reciprocal",
        "vector",
        [data],
        lambda x: np.float32(1) / x,
        shape=data.shape,
        dtype=result_type(dtype, dst, data),
        mask=mask,
        name=name,
    )
    return given(dst, result)


@public
def memset(
    shape: Any = None,
    value: Any = 0.0,
    dtype: Any = None,
    *,
    mask: Any = None,
    engine: Engine = unknown_engine,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """(shape, value, dtype) gives a tile; (dst, value) fills one."""
    named_location(name)
    if isinstance(shape, Tile) and dst is None:
        dst, shape = shape, None
    if dst is None and (shape is None or dtype is None):
        raise InvalidArgument("memset needs a shape and a dtype, or dst")
    check_dtype("memset", dtype)
    kernel, unit = current().kernel, engine_name(engine, "vector")
    sizes: Sequence[int] = dst.shape if dst is not None else shape
    result = elementwise(
        "memset",
        unit,
        [],
        lambda: np.float32(value),
        fast=lambda to: kernel.memset(to, float(value), unit),
        shape=sizes,
        dtype=dst.type_name if dst is not None else type_name(dtype),
        mask=mask,
        name=name or "constant",
    )
    return given(dst, result)
