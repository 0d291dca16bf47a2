"""Tiles and tensors: how they are made, and how they go from memory to memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki import _dma, _ops
from tessera.nki._calls import public
from tessera.nki._dtypes import as_floats, element_bytes, type_name
from tessera.nki._index import resolved
from tessera.nki._instruction import named_location
from tessera.nki._recorder import current
from tessera.nki._tile import Pending, Tile, _of_base


class Buffer:
    def __init__(self, memory: str, shared: bool = True) -> None:
        self.memory, self.shared = memory, shared

    def __repr__(self) -> str:
        return f"nl.{self.memory}"


hbm = Buffer("hbm")
shared_hbm = Buffer("hbm")
private_hbm = Buffer("hbm", False)
sbuf, psum = Buffer("sbuf"), Buffer("psum")


class par_dim(int):  # noqa: N801
    """Marks the partition dimension of a shape."""


def _sizes(shape: Any) -> list[int]:
    return [int(n) for n in ((shape,) if isinstance(shape, (int, np.integer)) else shape)]


def _hbm(shape: Sequence[int], dtype: Any, name: str, shared: bool) -> Tile:
    """Programs of one launch share their tensors: the n-th that one makes is the n-th of every other."""
    recorder, sizes, kind = current(), [int(n) for n in shape], type_name(dtype)
    if shared and recorder.shared_at < len(recorder.shared):
        tile = recorder.shared[recorder.shared_at]
        recorder.shared_at += 1
        if list(tile.shape) != sizes or tile.type_name != kind:
            raise InvalidArgument(
                f"programs of one launch make different tensors: {list(tile.shape)} of {tile.type_name}, {sizes} of {kind}"
            )
        return tile
    tile = Tile(recorder, recorder.kernel.hbm(recorder.name(name or "hbm"), kind, sizes))
    if shared:
        recorder.shared.append(tile)
        recorder.shared_at += 1
    return tile


@public
def ndarray(
    shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", lazy_initialization: bool = False
) -> Any:
    """A tile or tensor that nobody has written. `lazy_initialization` says when a fill happens, and there is none."""
    del lazy_initialization
    recorder = current()
    buffer = sbuf if buffer is None else buffer
    sizes = _sizes(shape)
    if hasattr(buffer, "allocate"):
        return buffer.allocate(shape, dtype, name)
    if not isinstance(buffer, Buffer):
        raise InvalidArgument(f"{buffer!r} is no memory: there are nl.sbuf, nl.psum, nl.hbm, nl.shared_hbm, nl.private_hbm")
    if buffer.memory == "hbm":
        return _hbm(sizes, dtype, name, buffer.shared)
    recorder.kernel.set_location(recorder.locate())
    marked = partition_dim(shape)
    if marked > 0 and _is_larger_than_memory(recorder, sizes, marked, dtype, buffer.memory):
        from tessera.nki.compiler import Allocation

        return Allocation(buffer.memory, None).allocate(shape, dtype, name)
    order = [marked] + [i for i in range(len(sizes)) if i != marked]
    make = recorder.kernel.psum if buffer.memory == "psum" else recorder.kernel.sbuf
    access = make(recorder.name(name), type_name(dtype), [sizes[i] for i in order])
    return Tile(recorder, access.permuted([order.index(i) for i in range(len(sizes))]))


def _is_larger_than_memory(recorder: Any, sizes: list[int], marked: int, dtype: Any, memory: str) -> bool:
    """Blocks that do not fit all at once are tiles of their own, each there while it is used."""
    free = int(np.prod([n for i, n in enumerate(sizes) if i != marked], dtype=np.int64))
    return free * element_bytes(dtype) > recorder.limits[f"{memory}_partition_bytes"]


def partition_dim(shape: Any) -> int:
    if isinstance(shape, (int, np.integer)):
        return 0
    return next((i for i, n in enumerate(shape) if isinstance(n, par_dim)), 0)


@public
def full(
    shape: Any, fill_value: float, dtype: Any, *, buffer: Any = None, name: str = "", lazy_initialization: bool = False
) -> Any:
    tile = ndarray(shape, dtype, buffer=buffer, name=name, lazy_initialization=lazy_initialization)
    for part in getattr(tile, "tiles", lambda: [tile])():
        _fill(part, float(fill_value), 0 if part is not tile else partition_dim(shape))
    return tile


def _fill(tile: Tile, value: float, marked: int) -> None:
    kernel, access = tile.recorder.kernel, tile.access
    kernel.set_location(tile.recorder.locate())
    if access.memory == "hbm":
        # Written row by row of 128 from a tile of that number.
        flat = access.reshaped([int(np.prod(access.shape))]) if len(access.shape) != 1 else access
        count, width = flat.shape[0], 2048
        rows = max(1, min(128, count // width))
        width = min(width, count)
        source = Tile(tile.recorder, kernel.sbuf(tile.recorder.name("constant"), access.dtype, [rows, width]))
        kernel.memset(source.access, value, "vector")
        done = 0
        while done < count:
            if count - done >= rows * width:
                kernel.dma_copy(flat.slice(0, done, rows * width, 1).split(0, width), source.access)
                done += rows * width
            else:
                some = min(width, count - done)
                kernel.dma_copy(flat.slice(0, done, some, 1).with_axis(0), source.access.slice(0, 0, 1, 1).slice(1, 0, some, 1))
                done += some
        return
    whole = access.permuted([marked] + [i for i in range(len(access.shape)) if i != marked])
    if access.memory == "psum" and value == 0:
        kernel.zero(whole)
    else:
        kernel.memset(whole, value, "vector")


@public
def zeros(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", lazy_initialization: bool = False) -> Any:
    return full(shape, 0, dtype, buffer=buffer, name=name, lazy_initialization=lazy_initialization)


@public
def ones(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", lazy_initialization: bool = False) -> Any:
    return full(shape, 1, dtype, buffer=buffer, name=name, lazy_initialization=lazy_initialization)


@public
def zeros_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "") -> Tile:
    return full(a.shape, 0, dtype or a.dtype, buffer=buffer, name=name)


@public
def ones_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "") -> Tile:
    return full(a.shape, 1, dtype or a.dtype, buffer=buffer, name=name)


@public
def empty_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "") -> Tile:
    return ndarray(a.shape, dtype or a.dtype, buffer=buffer, name=name)


@public
def shared_constant(constant: Any, dtype: Any = None, *, name: str = "") -> Tile:
    """A tensor in HBM whose numbers the program brings along."""
    recorder, array = current(), np.asarray(constant)
    kind = type_name(dtype if dtype is not None else array.dtype if array.dtype != np.float64 else np.float32)
    if not recorder.values:
        return Tile(recorder, recorder.kernel.shape_input(recorder.name(name or "constant"), kind, list(array.shape)))
    return Tile(recorder, recorder.kernel.input(recorder.name(name or "constant"), kind, as_floats(array, name or "constant")))


@public
def shared_identity_matrix(n: int, dtype: Any = "uint8", *, name: str = "") -> Tile:
    return shared_constant(np.eye(int(n), dtype=np.float32), dtype=dtype, name=name)


@public
def load(src: Tile, *, mask: Any = None, dtype: Any = None, name: str | None = None) -> Pending:
    if not isinstance(src, Tile):
        raise InvalidArgument(f"load reads a tensor in HBM, not {type(src).__name__}")
    named_location(name)
    kind = type_name(dtype or src.dtype)
    return Pending(
        current(), lambda to: _dma.transfer(to, src, mask), src.shape, kind, "sbuf", [src], name or "loaded", resolved(mask) is False
    )


@public
def load_transpose2d(src: Tile, *, mask: Any = None, dtype: Any = None) -> Pending:
    if src.ndim != 2:
        raise InvalidArgument(f"load_transpose2d turns tensors of two dimensions, not of {src.ndim}")
    chosen = resolved(mask)

    def run(to: Tile) -> None:
        source, target = src.access if chosen is None else None, to.access
        if chosen is not None:
            box = chosen.box(2)
            if box is None:
                raise InvalidArgument("load_transpose2d: a mask is a box")
            source, target = src.cut(box), to.cut(box[::-1])
        current().kernel.dma_copy(target, source.permuted([1, 0]))

    kind = type_name(dtype or src.dtype)
    return Pending(current(), run, src.shape[::-1], kind, "sbuf", [src], "turned", chosen is False)


@public
def store(dst: Tile, value: Any, *, mask: Any = None) -> None:
    recorder, location = current(), current().locate()
    if resolved(mask) is False:
        return
    if not isinstance(dst, Tile) or dst.memory != "hbm":
        raise InvalidArgument("store writes a tensor in HBM")
    if not isinstance(value, Tile):
        value = full(dst.shape, float(value), dst.dtype)
    source = value if value.memory != "psum" else Tile(recorder, copy(value).access)
    recorder.write(_of_base(dst), location, lambda: _dma.transfer(dst, source, mask))


@public
def atomic_rmw(dst: Tile, value: Tile, op: Any, *, mask: Any = None) -> None:
    """dst = op(dst, value) in HBM."""
    recorder, location = current(), current().locate()
    source = value if value.memory != "psum" else Tile(recorder, copy(value).access)
    recorder.write(_of_base(dst), location, lambda: _dma.transfer(dst, source, mask, _ops.op_name(op)))


@public
def copy(src: Tile, *, mask: Any = None, dtype: Any = None) -> Pending:
    from tessera.nki import isa

    return isa.tensor_copy(src, mask=mask, dtype=dtype)


@public
def broadcast_to(src: Tile, shape: Sequence[int]) -> Tile:
    """Reads dimensions of size 1 over and over. A single partition is copied to the others by DMA."""
    sizes = _sizes(shape)
    tile = src
    while len(tile.shape) < len(sizes):
        tile = tile.expand_dims(0 if tile.shape[0] != sizes[0] else tile.ndim)
    if len(tile.shape) != len(sizes) or any(n not in (1, m) for n, m in zip(tile.shape, sizes)):
        raise InvalidArgument(f"{list(tile.shape)} cannot be broadcast to {sizes}")
    if tile.shape[0] != sizes[0]:
        one = tile if tile.memory != "psum" else copy(tile)
        row = one.access
        tile = Pending(
            current(),
            lambda to: current().kernel.dma_copy(to.access, row.broadcast(0, sizes[0])),
            [sizes[0], *tile.shape[1:]],
            tile.type_name,
            "sbuf",
            [one],
            "broadcast",
        )
    access = tile.access
    for dim, size in enumerate(sizes):
        if access.shape[dim] != size:
            access = access.broadcast(dim, size)
    return Tile(tile.recorder, access)


@public
def expand_dims(data: Tile, axis: int) -> Tile:
    return data.expand_dims(axis)


@public
def static_cast(value: Any, dtype: Any) -> Any:
    """Numbers of the host as another type."""
    from tessera.nki._dtypes import dtype_of

    if isinstance(value, Tile):
        return copy(value, dtype=dtype)
    return np.asarray(value).astype(dtype_of(type_name(dtype)))


@public
def gather_flattened(data: Tile, indices: Tile, *, mask: Any = None, dtype: Any = None) -> Pending:
    """Of each partition the elements at its own indices."""
    from tessera.nki._instruction import elementwise

    recorder = current()
    source = data

    def meaning(places: np.ndarray) -> np.ndarray:
        rows = recorder.kernel.array(source.access)
        rows = rows.reshape(rows.shape[0], -1)
        at = places.reshape(places.shape[0], -1).astype(np.int64)
        if (at < 0).any() or (at >= rows.shape[1]).any():
            raise InvalidArgument(f"gather_flattened: an index lies outside of {rows.shape[1]} elements")
        return np.take_along_axis(rows[: at.shape[0]], at, axis=1).reshape(places.shape)

    data.access  # noqa: B018
    return elementwise(
        "gather_flattened", "gpsimd", [indices], meaning, shape=indices.shape, dtype=type_name(dtype or data.dtype), mask=mask
    )


@public
def device_print(prefix: str, x: Tile, *, mask: Any = None) -> None:
    if resolved(mask) is False:
        return
    if resolved(mask) is not None:
        raise InvalidArgument("device_print: a mask over part of the tile is not simulated")
    if x.recorder.values:
        print(prefix, np.array(x.recorder.kernel.array(x.access)))


@public
def rand(shape: Any, dtype: Any = np.float32) -> Pending:
    """Uniform numbers of [0, 1), of the simulator's own generator."""
    from tessera.nki._instruction import elementwise

    recorder, sizes = current(), _sizes(shape)
    return elementwise(
        "rand", "gpsimd", [], lambda: recorder.random.random(sizes, dtype=np.float32), shape=sizes, dtype=dtype, mask=None
    )


@public
def random_seed(seed: Any, *, mask: Any = None) -> None:
    recorder = current()
    if resolved(mask) is False:
        return
    if isinstance(seed, Tile):
        seed = int(np.asarray(recorder.kernel.array(seed.access)).reshape(-1)[0]) if recorder.values else 0
    recorder.random = np.random.default_rng(abs(int(seed)))
