"""nki.language: tiles, loops and plain operations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki import _tile
from tessera.nki._tile import Gridded, Index, Mask, Pending, Tile, current, type_name

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


class affine_range:  # noqa: N801
    """A loop whose turns have no order: what one writes, no other may read or write, but for sums in PSUM."""

    def __init__(self, *args: int, **_: Any) -> None:
        self.numbers = range(*(int(a) for a in args))

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[int]:
        recorder = current()
        recorder.kernel.set_location(recorder.locate())
        recorder.kernel.begin_affine_range()
        try:
            for number in self.numbers:
                recorder.kernel.next_turn()
                yield number
        finally:
            recorder.kernel.end_affine_range()


def sequential_range(*args: int, **_: Any) -> range:
    return range(*(int(a) for a in args))


static_range = sequential_range


def ds(start: int, size: int) -> slice:
    return slice(int(start), int(start) + int(size))


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
        return Grid(out) if isinstance(slices, tuple) else out[0]


class Grid(tuple[Index, ...]):
    """The indices of nl.mgrid; those of two to five axes are also called p, x, y, z, w."""

    def __getattr__(self, name: str) -> Index:
        at = "pxyzw".find(name)
        if len(name) != 1 or not 0 <= at < len(self):
            raise AttributeError(f"an index grid of {len(self)} axes has no '{name}'")
        return self[at]


mgrid = _Grid()


def zeros_like(a: Tile, *, dtype: Any = None, buffer: Buffer = sbuf, **_: Any) -> Tile:
    return zeros(a.shape, dtype or a.dtype, buffer=buffer)


def _masked(tile: Tile, mask: Mask) -> tuple[Any, dict[int, int]]:
    """The part of an access that a mask leaves, and how far its axes go."""
    limits = mask.limits(len(tile.shape))
    if 0 in limits.values():
        return None, limits
    if isinstance(tile, Gridded):
        return tile.within(limits), limits
    return _cut(tile.view, limits), limits


def _cut(view: Any, limits: dict[int, int]) -> Any:
    for axis, count in limits.items():
        view = view.slice(axis, 0, count, 1)
    return view


def load(src: Tile, *, mask: Mask | None = None, dtype: Any = None, **_: Any) -> Pending:
    kernel = current().kernel
    if mask is None:
        return Pending(
            current(), lambda dst: kernel.dma_copy(dst, src.view), src.shape, type_name(dtype or src.dtype), "sbuf", [src], "loaded"
        )
    part, limits = _masked(src, mask)
    base = src.base if isinstance(src, Gridded) else src

    def run(dst: Any) -> None:
        if part is not None:
            kernel.dma_copy(_cut(dst, limits), part)

    return Pending(current(), run, src.shape, type_name(dtype or src.dtype), "sbuf", [base], "loaded")


def load_transpose2d(src: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    kernel = current().kernel
    if src.ndim != 2:
        raise InvalidArgument(f"load_transpose2d turns tensors of two dimensions, not of {src.ndim}")
    shape, name = src.shape[::-1], type_name(dtype or src.dtype)
    return Pending(current(), lambda dst: kernel.dma_copy(dst, src.view.permuted([1, 0])), shape, name, "sbuf", [src], "turned")


def store(dst: Tile, value: Any, *, mask: Mask | None = None, **_: Any) -> None:
    recorder = current()
    if not isinstance(value, Tile):
        value = full(dst.shape, float(value), dst.dtype)
    source = value if value.view.memory != "psum" else copy(value)
    location = recorder.locate()
    if mask is None:
        recorder.write(dst.view, location, lambda to: recorder.kernel.dma_copy(to, source.view))
        return
    part, limits = _masked(dst, mask)
    if part is not None:
        recorder.write(part, location, lambda to: recorder.kernel.dma_copy(to, _cut(source.view, limits)))


def copy(src: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    from tessera.nki import isa

    return isa.tensor_copy(src, dtype=dtype)


def _is_column(tile: Tile) -> bool:
    """One number for each partition."""
    return all(n == 1 for n in tile.shape[1:])


def broadcast_to(src: Tile, shape: Sequence[int], **_: Any) -> Tile:
    """Reads dimensions of size 1 over and over. A single partition is copied to the others by DMA."""
    sizes = [int(n) for n in shape]
    tile = src
    if len(tile.shape) != len(sizes) or any(n not in (1, m) for n, m in zip(tile.shape, sizes)):
        raise InvalidArgument(f"{list(tile.shape)} cannot be broadcast to {sizes}")
    if tile.shape[0] != sizes[0]:
        kernel, one = current().kernel, tile.view
        tile = Pending(
            current(),
            lambda dst: kernel.dma_copy(dst, one.broadcast(0, sizes[0])),
            [sizes[0], *tile.shape[1:]],
            type_name(tile.dtype),
            "sbuf",
            [src],
            "broadcast",
        )
    view = tile.view
    for dim, size in enumerate(sizes):
        if view.shape[dim] != size:
            view = view.broadcast(dim, size)
    return Tile(tile.recorder, view)


def _binary(op: Any, x: Any, y: Any, dtype: Any) -> Pending:
    from tessera.nki import isa

    if not isinstance(x, Tile) and not isinstance(y, Tile):
        raise InvalidArgument("one of the operands is a tile")
    if not isinstance(y, Tile):
        return isa.tensor_scalar(x, op, y, dtype=dtype)
    if isinstance(x, Tile) and x.shape == y.shape:
        return isa.tensor_tensor(x, y, op, dtype=dtype)
    if isinstance(x, Tile) and _is_column(y) and x.shape[0] == y.shape[0]:
        return isa.tensor_scalar(x, op, y, dtype=dtype)
    if not isinstance(x, Tile) or (_is_column(x) and x.shape[0] == y.shape[0]):
        # The other way round: the tile comes first in an instruction.
        if op is subtract:
            return isa.tensor_scalar(y, multiply, -1.0, op1=add, operand1=x, dtype=dtype)
        if op is divide:
            return isa.tensor_scalar(reciprocal(y), multiply, x, dtype=dtype)
        return isa.tensor_scalar(y, op, x, dtype=dtype)
    shape = np.broadcast_shapes(x.shape, y.shape)
    return isa.tensor_tensor(broadcast_to(x, shape), broadcast_to(y, shape), op, dtype=dtype)


def add(x: Any, y: Any, *, dtype: Any = None, **_: Any) -> Pending:
    return _binary(add, x, y, dtype)


def subtract(x: Any, y: Any, *, dtype: Any = None, **_: Any) -> Pending:
    return _binary(subtract, x, y, dtype)


def multiply(x: Any, y: Any, *, dtype: Any = None, **_: Any) -> Pending:
    return _binary(multiply, x, y, dtype)


def divide(x: Any, y: Any, *, dtype: Any = None, **_: Any) -> Pending:
    return _binary(divide, x, y, dtype)


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


def mean(x: Tile, axis: Any, *, dtype: Any = None, keepdims: bool = False, **_: Any) -> Pending:
    from tessera.nki import isa

    axes = [axis] if isinstance(axis, int) else list(axis)
    count = math.prod(x.shape[a] for a in axes)
    return isa.tensor_scalar(sum(x, axis, dtype=float32, keepdims=keepdims), multiply, 1 / count, dtype=dtype or x.dtype)


def matmul(x: Tile, y: Tile, *, transpose_x: bool = False, **_: Any) -> Pending:
    """x [m, k] (or [k, m], transposed) times y [k, n]."""
    from tessera.nki import isa

    stationary = x if transpose_x else copy(isa.nc_transpose(x))
    return isa.nc_matmul(stationary, y)


def transpose(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    from tessera.nki import isa

    return isa.nc_transpose(x, dtype=dtype)


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


def sqrt(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _function(sqrt, x, dtype)


def rsqrt(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _function(rsqrt, x, dtype)


def reciprocal(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _function(reciprocal, x, dtype)


def log(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _function(log, x, dtype)


def abs(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:  # noqa: A001
    return _function(abs, x, dtype)


def silu(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _function(silu, x, dtype)


def negative(x: Tile, *, dtype: Any = None, **_: Any) -> Pending:
    return _binary(multiply, x, -1.0, dtype)


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
    divide: "divide",
    np.divide: "divide",
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
    sqrt: "sqrt",
    np.sqrt: "sqrt",
    rsqrt: "rsqrt",
    reciprocal: "reciprocal",
    np.reciprocal: "reciprocal",
    log: "log",
    np.log: "log",
    abs: "abs",
    np.abs: "abs",
    silu: "silu",
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
