"""nki.language: tiles, loops and plain operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki import _tile
from tessera.nki._tile import Index, Pending, Tile, current, type_name

float32, float16, bfloat16 = np.float32, np.float16, _tile.bfloat16


class Buffer:
    def __init__(self, memory: str) -> None:
        self.memory = memory

    def __repr__(self) -> str:
        return f"nl.{self.memory}"


hbm = shared_hbm = private_hbm = Buffer("hbm")
sbuf, psum = Buffer("sbuf"), Buffer("psum")


class tile_size:  # noqa: N801
    pmax = 128
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    psum_fmax = 512
    bn_stats_fmax = 512
    psum_min_align = 4
    sbuf_min_align = 1


class par_dim(int):  # noqa: N801
    """Marks the partition dimension of a shape."""


def ndarray(shape: Sequence[int], dtype: Any, *, buffer: Buffer = sbuf, name: str = "", **_: Any) -> Tile:
    recorder = current()
    sizes = [int(n) for n in shape]
    if buffer.memory == "hbm":
        return Tile(recorder, recorder.kernel.hbm(recorder.name(name or "hbm"), type_name(dtype), sizes))
    recorder.kernel.set_location(recorder.locate())
    marked = next((i for i, n in enumerate(shape) if isinstance(n, par_dim)), 0)
    order = [marked] + [i for i in range(len(sizes)) if i != marked]
    make = recorder.kernel.psum if buffer.memory == "psum" else recorder.kernel.sbuf
    view = make(recorder.name(name), type_name(dtype), [sizes[i] for i in order])
    return Tile(recorder, view.permuted([order.index(i) for i in range(len(sizes))]))


def full(shape: Sequence[int], fill_value: float, dtype: Any, *, buffer: Buffer = sbuf, name: str = "", **_: Any) -> Tile:
    tile = ndarray(shape, dtype, buffer=buffer, name=name)
    view = tile.view
    marked = next((i for i, n in enumerate(shape) if isinstance(n, par_dim)), 0)
    whole = view.permuted([marked] + [i for i in range(len(shape)) if i != marked])
    if buffer.memory == "psum" and fill_value == 0:
        tile.recorder.kernel.zero(whole)
    else:
        tile.recorder.kernel.memset(whole, float(fill_value), "vector")
    return tile


def zeros(shape: Sequence[int], dtype: Any, *, buffer: Buffer = sbuf, name: str = "", **_: Any) -> Tile:
    return full(shape, 0, dtype, buffer=buffer, name=name)


def ones(shape: Sequence[int], dtype: Any, *, buffer: Buffer = sbuf, name: str = "", **_: Any) -> Tile:
    return full(shape, 1, dtype, buffer=buffer, name=name)


def affine_range(*args: int, **_: Any) -> range:
    return range(*(int(a) for a in args))


sequential_range = static_range = affine_range


def arange(*args: int) -> Index:
    numbers = range(*(int(a) for a in args))
    return Index([len(numbers)], [numbers.step], numbers.start)


class _Grid:
    def __getitem__(self, slices: Any) -> Any:
        given = slices if isinstance(slices, tuple) else (slices,)
        out = []
        for axis, each in enumerate(given):
            numbers = range(int(each.start or 0), int(each.stop), int(each.step or 1))
            sizes, steps = [1] * len(given), [0] * len(given)
            sizes[axis], steps[axis] = len(numbers), numbers.step
            out.append(Index(sizes, steps, numbers.start))
        return tuple(out) if isinstance(slices, tuple) else out[0]


mgrid = _Grid()


def load(src: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    kernel = current().kernel
    return Pending(
        current(), lambda dst: kernel.dma_copy(dst, src.view), src.shape, type_name(dtype or src.dtype), "sbuf", [src], "loaded"
    )


def store(dst: Tile, value: Tile, **_: Any) -> None:
    recorder = current()
    source = value if value.view.memory != "psum" else copy(value)
    location = recorder.locate()
    recorder.write(dst.view, location, lambda to: recorder.kernel.dma_copy(to, source.view))


def copy(src: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    from tessera.nki import isa

    return isa.tensor_copy(src, dtype=dtype)


def _binary(op: Any, x: Any, y: Any, dtype: Any) -> Pending:
    from tessera.nki import isa

    if isinstance(x, Tile) and isinstance(y, Tile):
        if y.shape[1:] == (1,) * (len(y.shape) - 1) and x.shape != y.shape:
            return isa.tensor_scalar(x, op, y, dtype=dtype)
        return isa.tensor_tensor(x, y, op, dtype=dtype)
    if isinstance(x, Tile):
        return isa.tensor_scalar(x, op, y, dtype=dtype)
    raise InvalidArgument("the first operand is a tile")


def add(x: Any, y: Any, *, dtype: Any = None, **_: Any) -> Pending:
    return _binary(add, x, y, dtype)


def subtract(x: Any, y: Any, *, dtype: Any = None, **_: Any) -> Pending:
    return _binary(subtract, x, y, dtype)


def multiply(x: Any, y: Any, *, dtype: Any = None, **_: Any) -> Pending:
    return _binary(multiply, x, y, dtype)


def maximum(x: Any, y: Any, *, dtype: Any = None, **_: Any) -> Pending:
    return _binary(maximum, x, y, dtype)


def minimum(x: Any, y: Any, *, dtype: Any = None, **_: Any) -> Pending:
    return _binary(minimum, x, y, dtype)


def max(x: Tile, axis: Any, *, dtype: Any = None, keepdims: bool = False, **_: Any) -> Pending:  # noqa: A001
    from tessera.nki import isa

    return isa.tensor_reduce(max, x, axis, dtype=dtype, keepdims=keepdims)


def min(x: Tile, axis: Any, *, dtype: Any = None, keepdims: bool = False, **_: Any) -> Pending:  # noqa: A001
    from tessera.nki import isa

    return isa.tensor_reduce(min, x, axis, dtype=dtype, keepdims=keepdims)


def sum(x: Tile, axis: Any, *, dtype: Any = None, keepdims: bool = False, **_: Any) -> Pending:  # noqa: A001
    from tessera.nki import isa

    return isa.tensor_reduce(sum, x, axis, dtype=dtype, keepdims=keepdims)


def _function(op: Any, x: Tile, dtype: Any) -> Pending:
    from tessera.nki import isa

    return isa.activation(op=op, data=x, dtype=dtype)


def relu(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _function(relu, x, dtype)


def exp(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _function(exp, x, dtype)


def tanh(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _function(tanh, x, dtype)


def sigmoid(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _function(sigmoid, x, dtype)


def square(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _function(square, x, dtype)


def device_print(prefix: str, x: Tile, **_: Any) -> None:
    print(prefix, x.recorder.kernel.read(x.view))


_OPS = {
    add: "add",
    np.add: "add",
    sum: "add",
    np.sum: "add",
    subtract: "subtract",
    np.subtract: "subtract",
    multiply: "multiply",
    np.multiply: "multiply",
    maximum: "max",
    np.maximum: "max",
    max: "max",
    np.max: "max",
    minimum: "min",
    np.minimum: "min",
    min: "min",
    np.min: "min",
}
_FUNCTIONS = {
    copy: "identity",
    np.copy: "identity",
    relu: "relu",
    exp: "exp",
    np.exp: "exp",
    tanh: "tanh",
    np.tanh: "tanh",
    sigmoid: "sigmoid",
    square: "square",
    np.square: "square",
}


def op_name(op: Any) -> str:
    if op is None:
        return "copy"
    if op not in _OPS:
        raise InvalidArgument(f"{getattr(op, '__name__', op)} is no operation that engines have here")
    return _OPS[op]


def function_name(op: Any) -> str:
    if op not in _FUNCTIONS:
        raise InvalidArgument(f"{getattr(op, '__name__', op)} is no function that the scalar engine has here")
    return _FUNCTIONS[op]


def volume(shape: Sequence[int]) -> int:
    return math.prod(shape)
