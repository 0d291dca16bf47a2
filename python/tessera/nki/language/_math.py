"""Operations and functions over tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki._calls import public
from tessera.nki._dtypes import is_float, promoted, type_name
from tessera.nki._index import resolved
from tessera.nki._instruction import elementwise, is_column, reduction
from tessera.nki._tile import Tile
from tessera.nki.language._memory import broadcast_to, copy


def _kind(dtype: Any, *tiles: Any) -> str:
    return type_name(dtype) if dtype is not None else promoted(*(each.type_name for each in tiles if isinstance(each, Tile)))


def binary(word: str, x: Any, y: Any, dtype: Any, mask: Any) -> Any:
    from tessera.nki import isa

    if not isinstance(x, Tile) and not isinstance(y, Tile):
        raise InvalidArgument("one of the operands is a tile")
    kind = _kind(dtype, x, y)
    if word == "divide" and dtype is None and not is_float(kind):
        kind = "float32"  # quotients of integers are no integers
    if not isinstance(y, Tile):
        return isa.tensor_scalar(x, word, y, dtype=kind, mask=mask)
    if not isinstance(x, Tile):
        return isa.tensor_scalar(y, word, x, reverse0=True, dtype=kind, mask=mask)
    if x.shape != y.shape and x.shape[0] == y.shape[0] and x.size != y.size:
        # One number for each partition is an operand of its own kind.
        if is_column(y) and x.ndim >= y.ndim:
            return isa.tensor_scalar(x, word, y, dtype=kind, mask=mask)
        if is_column(x) and y.ndim >= x.ndim:
            return isa.tensor_scalar(y, word, x, reverse0=True, dtype=kind, mask=mask)
    if x.shape[0] != y.shape[0] and 1 in (x.shape[0], y.shape[0]):
        shape = np.broadcast_shapes(x.shape, y.shape)
        x = broadcast_to(x, shape=shape) if x.shape[0] != shape[0] else x
        y = broadcast_to(y, shape=shape) if y.shape[0] != shape[0] else y
    return isa.tensor_tensor(x, y, word, dtype=kind, mask=mask)


def _binary(name: str, word: str, default: Any = None) -> Any:
    def function(x: Any, y: Any, *, dtype: Any = default, mask: Any = None) -> Any:
        return binary(word, x, y, dtype, mask)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} of two tiles, or of a tile and a number or column."
    return public(function)


add, subtract = _binary("add", "add"), _binary("subtract", "subtract")
multiply, divide = _binary("multiply", "multiply"), _binary("divide", "divide")
maximum, minimum = _binary("maximum", "max"), _binary("minimum", "min")
power, mod, fmod = _binary("power", "power"), _binary("mod", "mod"), _binary("fmod", "fmod")
equal, not_equal = _binary("equal", "equal", "bool"), _binary("not_equal", "not_equal", "bool")
greater, greater_equal = _binary("greater", "greater", "bool"), _binary("greater_equal", "greater_equal", "bool")
less, less_equal = _binary("less", "less", "bool"), _binary("less_equal", "less_equal", "bool")
logical_and, logical_or = _binary("logical_and", "logical_and", "bool"), _binary("logical_or", "logical_or", "bool")
logical_xor = _binary("logical_xor", "logical_xor", "bool")
bitwise_and, bitwise_or = _binary("bitwise_and", "bitwise_and"), _binary("bitwise_or", "bitwise_or")
bitwise_xor = _binary("bitwise_xor", "bitwise_xor")
left_shift, right_shift = _binary("left_shift", "left_shift"), _binary("right_shift", "right_shift")


def _function(name: str, word: str | None = None, default: Any = None) -> Any:
    meaning = word or name

    def function(x: Tile, *, dtype: Any = default, mask: Any = None) -> Any:
        from tessera.nki import isa

        return isa.activation(meaning, x, dtype=dtype, mask=mask)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} of every element, on ScalarE."
    return public(function)


relu, exp, tanh, sigmoid = _function("relu"), _function("exp"), _function("tanh"), _function("sigmoid")
square, sqrt, rsqrt = _function("square"), _function("sqrt"), _function("rsqrt")
reciprocal, log, abs, silu = _function("reciprocal"), _function("log"), _function("abs"), _function("silu")  # noqa: A001
silu_dx, gelu, gelu_dx = _function("silu_dx"), _function("gelu"), _function("gelu_dx")
gelu_apprx_tanh, gelu_apprx_sigmoid = _function("gelu_apprx_tanh"), _function("gelu_apprx_sigmoid")
erf, erf_dx, softplus, mish = _function("erf"), _function("erf_dx"), _function("softplus"), _function("mish")
sin, cos, tan, arctan = _function("sin"), _function("cos"), _function("tan"), _function("arctan")
sign, trunc, floor, ceil = _function("sign"), _function("trunc"), _function("floor"), _function("ceil")
negative, invert = _function("negative"), _function("invert")
logical_not = _function("logical_not", default="bool")
bitwise_not = _function("bitwise_not", "invert")


def _axes(axis: Any) -> list[int]:
    return [int(axis)] if isinstance(axis, (int, np.integer)) else [int(a) for a in axis]


def _reduction(name: str, word: str) -> Any:
    def function(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Any:
        from tessera.nki import isa

        return isa.tensor_reduce(word, x, _axes(axis), dtype=dtype, mask=mask, keepdims=keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} over free dimensions."
    return public(function)


max, min = _reduction("max", "max"), _reduction("min", "min")  # noqa: A001
sum, prod = _reduction("sum", "add"), _reduction("prod", "multiply")  # noqa: A001


@public
def all(x: Tile, axis: Any, *, dtype: Any = "bool", mask: Any = None, keepdims: bool = False) -> Any:  # noqa: A001
    from tessera.nki import isa

    return isa.tensor_reduce("logical_and", x, _axes(axis), dtype=dtype, mask=mask, keepdims=keepdims)


@public
def any(x: Tile, axis: Any, *, dtype: Any = "bool", mask: Any = None, keepdims: bool = False) -> Any:  # noqa: A001
    from tessera.nki import isa

    return isa.tensor_reduce("logical_or", x, _axes(axis), dtype=dtype, mask=mask, keepdims=keepdims)


def _statistic(op: str, function: Any, x: Tile, axis: Any, dtype: Any, mask: Any, keepdims: bool) -> Any:
    return reduction(
        op,
        x,
        _axes(axis),
        lambda a, over, table: function(a.astype(np.float64), axis=over, where=True if table is None else table),
        keepdims=keepdims,
        dtype=_kind(dtype, x),
        mask=mask,
        fast=None,
        dst=None,
    )


@public
def mean(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Any:
    return _statistic("mean", np.mean, x, axis, dtype, mask, keepdims)


@public
def var(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False) -> Any:
    return _statistic("var", np.var, x, axis, dtype, mask, keepdims)


@public
def matmul(x: Tile, y: Tile, *, transpose_x: bool = False, mask: Any = None) -> Any:
    """x [m, k] (or [k, m], transposed) times y [k, n]."""
    from tessera.nki import isa

    def on_chip(tile: Tile) -> Tile:
        return tile if mask is False or tile.memory != "psum" else copy(tile)

    if mask is False:
        return isa.nc_matmul(x, y, mask=mask)
    stationary = on_chip(x) if transpose_x else copy(isa.nc_transpose(on_chip(x)), dtype=x.dtype)
    return isa.nc_matmul(stationary, on_chip(y), mask=mask)


@public
def transpose(x: Tile, *, dtype: Any = None, mask: Any = None) -> Any:
    from tessera.nki import isa

    if mask is not False and x.memory == "psum" and (x.shape[0] > 32 or x.size // x.shape[0] > 32):
        x = copy(x)
    return isa.nc_transpose(x, dtype=dtype, mask=mask)


@public
def where(condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None) -> Any:
    """x where the condition holds, else y; each of them a tile or a number."""
    tiles = [each for each in (x, y) if isinstance(each, Tile)]
    if not isinstance(condition, Tile):
        raise InvalidArgument("where: the condition is a tile; conditions on indices are for nisa.affine_select")
    shape = np.broadcast_shapes(condition.shape, *(each.shape for each in tiles))
    kind = _kind(dtype, *tiles) if tiles or dtype is not None else "float32"

    def meaning(p: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        left = list(rest)
        a = left.pop(0) if isinstance(x, Tile) else np.float32(x)
        b = left.pop(0) if isinstance(y, Tile) else np.float32(y)
        return np.where(p != 0, a, b)

    return elementwise("where", "vector", [condition, *tiles], meaning, shape=shape, dtype=kind, mask=mask)


@public
def softmax(
    x: Tile, axis: Any, *, dtype: Any = None, compute_dtype: Any = None, mask: Any = None
) -> Any:
    """exp(x - max) over its sum, along free dimensions."""
    from tessera.nki import isa

    kind = type_name(compute_dtype) if compute_dtype is not None else "float32"
    axes = _axes(axis)
    top = isa.tensor_reduce("max", x, axes, dtype=kind, mask=mask, keepdims=True)
    if is_column(top):
        low = isa.tensor_scalar(top, "multiply", -1.0)
        powers = isa.activation("exp", x, bias=low, dtype=kind, mask=mask)
    else:
        powers = isa.activation("exp", binary("subtract", x, top, kind, mask), dtype=kind, mask=mask)
    total = isa.tensor_reduce("add", powers, axes, dtype=kind, mask=mask, keepdims=True)
    return binary("multiply", powers, isa.reciprocal(total), dtype or x.dtype, mask)


@public
def rms_norm(
    x: Tile,
    w: Tile,
    axis: Any,
    n: int,
    *,
    epsilon: float = 1e-6,
    dtype: Any = None,
    compute_dtype: Any = None,
    mask: Any = None,
) -> Any:
    """x / sqrt(sum of squares / n + epsilon) * w."""
    from tessera.nki import isa

    kind = type_name(compute_dtype) if compute_dtype is not None else "float32"
    if resolved(mask) is False:
        return binary("multiply", x, w, dtype or x.dtype, mask)
    squares = isa.activation("square", x, dtype=kind, mask=mask)
    total = isa.tensor_reduce("add", squares, _axes(axis), dtype=kind, mask=mask, keepdims=True)
    scaled = isa.tensor_scalar(total, "multiply", 1.0 / n, op1="add", operand1=epsilon)
    normed = binary("multiply", x, isa.activation("rsqrt", scaled), kind, mask)
    return binary("multiply", normed, w, dtype or x.dtype, mask)


@public
def dropout(x: Tile, rate: Any, *, mask: Any = None, dtype: Any = None) -> Any:
    from tessera.nki import isa

    return isa.dropout(x, rate, mask=mask, dtype=dtype)


@public
def all_reduce(
    x: Tile,
    op: Any,
    program_axes: Sequence[int],
    *,
    loop_axes: Sequence[int] = (),
    dtype: Any = None,
    mask: Any = None,
    parallel_reduce: bool = True,
    asynchronous: bool = False,
) -> Any:
    del x, op, program_axes, loop_axes, dtype, mask, parallel_reduce, asynchronous
    raise InvalidArgument("all_reduce over the programs of a launch is not simulated")
