"""Functions on ScalarE, and sums that engines keep beside an instruction."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki import _ops
from tessera.nki._instruction import elementwise, given, with_dst
from tessera.nki._recorder import Recorder, current
from tessera.nki._tile import Tile
from tessera.nki.isa._passes import check_dtype, operand_of, result_type
from tessera.nki.isa.constants import reduce_cmd


class Sums:
    """One number for each partition, kept from instruction to instruction of an engine."""

    def __init__(self, recorder: Recorder, engine: str, op: str, command: reduce_cmd) -> None:
        self.kept: dict[str, Any] = recorder.__dict__.setdefault("sums", {})
        self.engine, self.op, self.command = engine, op, command

    def take(self, out: np.ndarray) -> np.ndarray:
        """Of the elements of one instruction."""
        axes = tuple(range(1, out.ndim))
        mine = _ops.reduced(self.op, np.asarray(out, dtype=np.float32), axes)
        before = self.kept.get(self.engine)
        if self.command is reduce_cmd.reduce and before is not None and len(before) == len(mine):
            mine = np.asarray(_ops.apply_op(self.op, before, mine), dtype=np.float32)
        self.kept[self.engine] = mine
        return mine


def command_of(op: str, reduce_op: Any, reduce_res: Tile | None, command: reduce_cmd | None) -> reduce_cmd:
    """Without a command, a place for sums means that they are made."""
    if command is None:
        if (reduce_op is None) != (reduce_res is None):
            raise InvalidArgument(f"{op}: reduce_op and reduce_res come together")
        return reduce_cmd.idle if reduce_res is None else reduce_cmd.reset_reduce
    if not isinstance(command, reduce_cmd):
        raise InvalidArgument(f"{op}: {command!r} is no nisa.reduce_cmd")
    if command is reduce_cmd.idle and reduce_res is not None:
        raise InvalidArgument(f"{op}: reduce_res is given, but reduce_cmd is idle: nothing is reduced")
    if command in (reduce_cmd.reduce, reduce_cmd.reset_reduce) and reduce_op is None:
        raise InvalidArgument(f"{op}: reduce_cmd is {command.name}, but there is no reduce_op")
    return command


@with_dst(0)
def activation(
    op: Any,
    data: Tile,
    *,
    bias: Tile | None = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Tile | None = None,
    reduce_cmd: reduce_cmd | None = None,
    mask: Any = None,
    dtype: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """op(data * scale + bias); with a reduction also one number for each partition."""
    from tessera.nki.isa.constants import reduce_cmd as commands

    check_dtype("activation", dtype)
    recorder, word = current(), _ops.function_name(op)
    kernel = recorder.kernel
    command = command_of("activation", reduce_op, reduce_res, reduce_cmd)
    if bias is not None and not isinstance(bias, Tile):
        if float(bias) != 0.0:
            raise InvalidArgument("activation: bias is a tile of [partitions, 1], not a number")
        bias = None
    number, factors = operand_of("activation", scale, data)
    offsets = operand_of("activation", bias, data)[1]
    columns = [each for each in (factors, offsets) if each is not None]
    reduces = command in (commands.reduce, commands.reset_reduce)
    sums = Sums(recorder, "scalar", _ops.op_name(reduce_op), command) if reduces else None
    if command is commands.reset:
        recorder.__dict__.setdefault("sums", {}).pop("scalar", None)

    def meaning(x: np.ndarray, *rest: np.ndarray) -> Any:
        given_columns = list(rest)
        factor = given_columns.pop(0) if factors is not None else np.float32(number)
        offset = given_columns.pop(0) if offsets is not None else np.float32(0)
        y = np.asarray(_ops.UNARY[word](x * factor + offset))
        if sums is None:
            return y
        total = sums.take(y)
        return y if reduce_res is None else (y, total)

    def fast(to: Any, x: Any, *rest: Any) -> None:
        kernel.activation(to, word, x, rest[0] if rest else 0.0, number)

    in_core = word in _ops.CORE_UNARY and factors is None and sums is None
    result = elementwise(
        "activation",
        "scalar",
        [data, *columns],
        meaning,
        fast=fast if in_core else None,
        columns=len(columns),
        shape=data.shape,
        dtype=result_type(dtype, dst, data),
        mask=mask,
        name=name,
        extra=reduce_res,
    )
    return at_once(dst, result) if sums is not None else given(dst, result)


def at_once(dst: Tile | None, result: Any) -> Any:
    """Computes an instruction that makes sums, even where nobody reads its elements."""
    if dst is not None:
        return given(dst, result)
    if not result.masked_out:
        result.access  # noqa: B018
    return result


@with_dst(0)
def activation_reduce(
    op: Any,
    data: Tile,
    *,
    reduce_op: Any,
    reduce_res: Tile,
    bias: Tile | None = None,
    scale: Any = 1.0,
    mask: Any = None,
    dtype: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    return activation(
        op,
        data,
        bias=bias,
        scale=scale,
        reduce_op=reduce_op,
        reduce_res=reduce_res,
        reduce_cmd=reduce_cmd.reset_reduce,
        mask=mask,
        dtype=dtype,
        dst=dst,
        name=name,
    )


@with_dst(1)
def tensor_scalar_reduce(
    data: Tile,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: Tile,
    *,
    reverse0: bool = False,
    dtype: Any = None,
    mask: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """data op0 operand0, and what reduce_op makes of each partition."""
    check_dtype("tensor_scalar_reduce", dtype)
    word, over = _ops.op_name(op0), _ops.op_name(reduce_op)
    number, column = operand_of("tensor_scalar_reduce", operand0, data)

    def meaning(x: np.ndarray, *rest: np.ndarray) -> Any:
        a = rest[0] if rest else np.float32(number)
        y = np.asarray(_ops.apply_op(word, a, x) if reverse0 else _ops.apply_op(word, x, a))
        return y, _ops.reduced(over, y, tuple(range(1, y.ndim)))

    result = elementwise(
        "tensor_scalar_reduce",
        "vector",
        [data, *([column] if column is not None else [])],
        meaning,
        columns=int(column is not None),
        shape=data.shape,
        dtype=result_type(dtype, dst, data),
        mask=mask,
        name=name,
        extra=reduce_res,
    )
    return at_once(dst, result)
