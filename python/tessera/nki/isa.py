"""nki.isa: one function for each instruction. Results go where they are assigned to, or to `dst`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera._tessera import InvalidArgument
from tessera.nki import language
from tessera.nki._tile import Pending, Product, Tile, current, type_name


class Engine:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"nisa.{self.name}_engine"


tensor_engine, vector_engine, scalar_engine = Engine("tensor"), Engine("vector"), Engine("scalar")
gpsimd_engine, unknown_engine = Engine("gpsimd"), Engine("unknown")


def _name(engine: Engine, default: str) -> str:
    return default if engine is unknown_engine else engine.name


def _given(dst: Tile | None, result: Pending) -> Any:
    if dst is None:
        return result
    result.into(dst.view)
    return dst


def dma_copy(dst: Tile, src: Tile, **_: Any) -> None:
    recorder = current()
    source, location = src.view, recorder.locate()
    recorder.write(dst.view, location, lambda to: recorder.kernel.dma_copy(to, source))


def nc_matmul(
    *tiles: Tile,
    stationary: Tile | None = None,
    moving: Tile | None = None,
    dst: Tile | None = None,
    accumulate: bool | None = None,
    **_: Any,
) -> Any:
    """(stationary, moving) gives a product; (dst, stationary, moving) puts it there. Without `accumulate` the first
    product that goes to a place of PSUM overwrites it and later ones are added."""
    given = [*tiles, *(each for each in (stationary, moving) if each is not None)]
    if len(given) == 3 and dst is None:
        dst, *given = given
    if len(given) != 2:
        raise InvalidArgument(f"nc_matmul takes a stationary and a moving operand, not {len(given)} tiles")
    left, right = given
    shape = [language.volume(left.shape[1:]), *right.shape[1:]]
    product = Product(current(), lambda _dst: None, shape, "float32", "psum", [left, right], "product")
    if dst is None:
        return product
    product.into(dst.view, "automatic" if accumulate is None else "add" if accumulate else "overwrite")
    return dst


def nc_transpose(data: Tile, *, engine: Engine = unknown_engine, dst: Tile | None = None, dtype: Any = None, **_: Any) -> Any:
    kernel, unit = current().kernel, _name(engine, "tensor")
    shape = [language.volume(data.shape[1:]), data.shape[0]]
    memory = "psum" if unit == "tensor" else "sbuf"
    name = type_name(dtype or data.dtype)
    return _given(dst, Pending(current(), lambda to: kernel.nc_transpose(to, data.view, unit), shape, name, memory, [data], "turned"))


def tensor_copy(src: Tile, *, engine: Engine = unknown_engine, dtype: Any = None, dst: Tile | None = None, **_: Any) -> Any:
    kernel, unit = current().kernel, _name(engine, "vector")
    name = type_name(dtype or src.dtype)
    return _given(dst, Pending(current(), lambda to: kernel.tensor_copy(to, src.view, unit), src.shape, name, "sbuf", [src], "copy"))


def tensor_tensor(
    data1: Tile, data2: Tile, op: Any, *, dtype: Any = None, engine: Engine = unknown_engine, dst: Tile | None = None, **_: Any
) -> Any:
    kernel, unit, word = current().kernel, _name(engine, "vector"), language.op_name(op)
    name = type_name(dtype or data1.dtype)
    return _given(
        dst,
        Pending(
            current(),
            lambda to: kernel.tensor_tensor(to, data1.view, data2.view, word, unit),
            data1.shape,
            name,
            "sbuf",
            [data1, data2],
            word,
        ),
    )


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
    engine: Engine = unknown_engine,
    dst: Tile | None = None,
    **_: Any,
) -> Any:
    if reverse0 or reverse1:
        raise InvalidArgument("tensor_scalar: reversed operands are not simulated")
    kernel, unit = current().kernel, _name(engine, "vector")
    first, second = language.op_name(op0), language.op_name(op1)
    tiles = [each for each in (operand0, operand1) if isinstance(each, Tile)]

    def operand(value: Any) -> Any:
        return value.view if isinstance(value, Tile) else float(value or 0)

    return _given(
        dst,
        Pending(
            current(),
            lambda to: kernel.tensor_scalar(to, data.view, first, operand(operand0), second, operand(operand1), unit),
            data.shape,
            type_name(dtype or data.dtype),
            "sbuf",
            [data, *tiles],
            first,
        ),
    )


def tensor_reduce(
    op: Any, data: Tile, axis: int | Sequence[int], *, dtype: Any = None, keepdims: bool = False, dst: Tile | None = None, **_: Any
) -> Any:
    kernel, word = current().kernel, language.op_name(op)
    axes = sorted(a % data.ndim for a in ([axis] if isinstance(axis, int) else axis))
    if 0 in axes:
        raise InvalidArgument("tensor_reduce goes over free dimensions, not over partitions")
    kept = [d for d in range(data.ndim) if d not in axes]
    shape = [1 if d in axes else n for d, n in enumerate(data.shape) if keepdims or d not in axes]
    return _given(
        dst,
        Pending(
            current(),
            lambda to: kernel.tensor_reduce(to, data.view.permuted(kept + axes), word, len(axes)),
            shape,
            type_name(dtype or data.dtype),
            "sbuf",
            [data],
            "reduced",
        ),
    )


def activation(
    op: Any, data: Tile, *, bias: Tile | None = None, scale: float = 1.0, dtype: Any = None, dst: Tile | None = None, **_: Any
) -> Any:
    kernel, word = current().kernel, language.function_name(op)
    return _given(
        dst,
        Pending(
            current(),
            lambda to: kernel.activation(to, word, data.view, 0.0 if bias is None else bias.view, float(scale)),
            data.shape,
            type_name(dtype or data.dtype),
            "sbuf",
            [data] if bias is None else [data, bias],
            "activation",
        ),
    )


def reciprocal(data: Tile, *, dtype: Any = None, dst: Tile | None = None, **_: Any) -> Any:
    return activation(language.reciprocal, data, dtype=dtype, dst=dst)


def memset(shape: Sequence[int], value: float, dtype: Any, *, engine: Engine = unknown_engine, **_: Any) -> Pending:
    kernel, unit = current().kernel, _name(engine, "vector")
    return Pending(current(), lambda to: kernel.memset(to, float(value), unit), shape, type_name(dtype), "sbuf", [], "constant")
