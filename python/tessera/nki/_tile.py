"""Tiles as NKI kernels see them: indexed like arrays, written by assignment."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tessera._tessera import Error, InvalidArgument, NkiKernel, NkiView

_HERE = os.path.dirname(os.path.abspath(__file__))

try:
    import ml_dtypes

    bfloat16: Any = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    bfloat16 = "bfloat16"


def type_name(dtype: Any) -> str:
    """The name of an element type: of numpy's, of ml_dtypes', or a word."""
    if isinstance(dtype, str):
        return dtype
    try:
        return np.dtype(dtype).name
    except TypeError:
        return str(dtype)


def dtype_of(name: str) -> Any:
    return bfloat16 if name == "bfloat16" else np.dtype(name)


class Recorder:
    """A kernel that is being written, and results that have no tile yet."""

    def __init__(self, device: str, values: bool) -> None:
        self.kernel = NkiKernel(device, values)
        self.pending: weakref.WeakSet[Pending] = weakref.WeakSet()
        self.count = 0

    def name(self, name: str) -> str:
        self.count += 1
        return name or f"tile_{self.count}"

    def locate(self) -> str:
        """The line of the script that is being run: the innermost one outside of this package."""
        frame = sys._getframe(1)
        while frame is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _HERE:
            frame = frame.f_back
        return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""

    def write(self, dst: NkiView, location: str, run: Callable[[NkiView], None], turn: int | None = None) -> None:
        """Runs an instruction that writes dst; results that still have to read that tile come first."""
        for each in sorted(self.pending, key=lambda p: p.order):
            if dst.tile in each.reads and each.view_or_none is None:
                each.view  # noqa: B018
        self.kernel.set_location(location)
        if turn is None or turn == self.kernel.turn():
            run(dst)
            return
        self.kernel.set_turn(turn)
        run(dst)
        self.kernel.set_turn(self.kernel.turn())


def script_line(error: BaseException) -> str:
    """The innermost line outside of this package that an error came through."""
    line, at = "", error.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if os.path.dirname(os.path.abspath(file)) != _HERE:
            line = f"{file}:{at.tb_lineno}"
        at = at.tb_next
    return line


_current: list[Recorder] = []


def current() -> Recorder:
    if not _current:
        raise Error("this runs within a kernel only: one that nki.jit, nki.simulate_kernel or nki.benchmark calls")
    return _current[-1]


class recording:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __enter__(self) -> Recorder:
        _current.append(self.recorder)
        return self.recorder

    def __exit__(self, *_: object) -> None:
        _current.pop()


class Index:
    """A sum of multiples of loop-like axes: what nl.mgrid and nl.arange give, and what arithmetic makes of it."""

    def __init__(self, sizes: Sequence[int], steps: Sequence[int], offset: int = 0) -> None:
        self.sizes, self.steps, self.offset = list(sizes), list(steps), offset

    def __add__(self, other: Any) -> Index:
        if not isinstance(other, Index):
            return Index(self.sizes, self.steps, self.offset + int(other))
        rank = max(len(self.sizes), len(other.sizes))
        a, b = self._padded(rank), other._padded(rank)
        for m, n in zip(a.sizes, b.sizes):
            if m != n and 1 not in (m, n):
                raise InvalidArgument(f"indices of {a.sizes} and {b.sizes} do not fit each other")
        return Index(
            [max(m, n) for m, n in zip(a.sizes, b.sizes)],
            [m + n for m, n in zip(a.steps, b.steps)],
            a.offset + b.offset,
        )

    def __lt__(self, limit: int) -> Mask:
        return Mask([(self, int(limit))])

    def __le__(self, limit: int) -> Mask:
        return Mask([(self, int(limit) + 1)])

    def _padded(self, rank: int) -> Index:
        more = rank - len(self.sizes)
        return Index([1] * more + self.sizes, [0] * more + self.steps, self.offset)

    def __mul__(self, factor: int) -> Index:
        return Index(self.sizes, [step * int(factor) for step in self.steps], self.offset * int(factor))

    def __sub__(self, other: int) -> Index:
        return self + (-int(other))

    __radd__, __rmul__ = __add__, __mul__

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sizes)

    def __getitem__(self, index: Any) -> Index:
        """[:, None] and the like put axes of size 1 beside those there are."""
        sizes, steps, at = [], [], 0
        for each in index if isinstance(index, tuple) else (index,):
            if each is None:
                sizes.append(1)
                steps.append(0)
            elif each == slice(None) and at < len(self.sizes):
                sizes.append(self.sizes[at])
                steps.append(self.steps[at])
                at += 1
            else:
                raise InvalidArgument("an index is indexed by ':' and None only")
        return Index(sizes + self.sizes[at:], steps + self.steps[at:], self.offset)


class Mask:
    """Conditions `index < limit`, all of which hold where an access is made."""

    def __init__(self, conditions: list[tuple[Index, int]]) -> None:
        self.conditions = conditions

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.conditions + other.conditions)

    def limits(self, rank: int) -> dict[int, int]:
        """How far each axis goes. An axis of 0 leaves nothing."""
        out: dict[int, int] = {}
        for index, limit in self.conditions:
            padded = index._padded(rank)
            if len(padded.sizes) != rank:
                raise InvalidArgument(f"a mask over {len(padded.sizes)} axes for an access of {rank}")
            last = padded.offset + sum((n - 1) * s for n, s in zip(padded.sizes, padded.steps))
            if last < limit:
                continue
            active = [a for a in range(rank) if padded.sizes[a] > 1 and padded.steps[a] > 0]
            if padded.offset >= limit:
                out.update(dict.fromkeys(active or [0], 0))
            elif len(active) == 1:
                count = -(-(limit - padded.offset) // padded.steps[active[0]])
                out[active[0]] = min(out.get(active[0], count), count)
            else:
                raise InvalidArgument("a mask over more than one axis at once is not simulated")
        return out


def _expanded(index: Any, rank: int) -> list[Any]:
    items = list(index) if isinstance(index, tuple) else [index]
    if any(item is Ellipsis for item in items):
        at = next(i for i, item in enumerate(items) if item is Ellipsis)
        items[at : at + 1] = [slice(None)] * (rank - len(items) + 1)
    items += [slice(None)] * (rank - len(items))
    if len(items) != rank:
        raise InvalidArgument(f"{len(items)} indices for {rank} dimensions")
    return items


def _by_pattern(view: NkiView, items: list[Any]) -> NkiView:
    rank = max(len(item.sizes) for item in items if isinstance(item, Index))
    sizes, strides, offset = [1] * rank, [0] * rank, 0
    for dim, item in enumerate(items):
        step = view.strides[dim]
        if isinstance(item, Index):
            padded = item._padded(rank)
            low = padded.offset
            high = low + sum((n - 1) * s for n, s in zip(padded.sizes, padded.steps))
            if low < 0 or high >= view.shape[dim] or min(padded.steps, default=0) < 0:
                raise InvalidArgument(
                    f"indices {low} to {high} of dimension {dim} of '{view.name}', which has {view.shape[dim]}"
                )
            for axis in range(rank):
                if padded.sizes[axis] > 1:
                    sizes[axis] = max(sizes[axis], padded.sizes[axis])
                strides[axis] += padded.steps[axis] * step
            offset += low * step
        elif isinstance(item, slice):
            if item != slice(None) or view.shape[dim] != 1:
                raise InvalidArgument("slices and index grids cannot be mixed: use nl.mgrid for every dimension")
        else:
            number = int(item)
            if not 0 <= number < view.shape[dim]:
                raise InvalidArgument(f"index {number} of dimension {dim} of '{view.name}', which has {view.shape[dim]}")
            offset += number * step
    return view.gathered(offset, sizes, strides)


def indexed(view: NkiView, index: Any) -> NkiView:
    items = _expanded(index, len(view.shape))
    if any(isinstance(item, Index) for item in items):
        return _by_pattern(view, items)
    dim = 0
    for item in items:
        size = view.shape[dim]
        if isinstance(item, slice):
            begin, end, step = item.indices(size)
            if item.stop is not None and item.stop > size:
                raise InvalidArgument(f"{begin}:{item.stop} of dimension {dim} of '{view.name}', which has {size}")
            view = view.slice(dim, begin, max(0, -(-(end - begin) // step)), step)
            dim += 1
        else:
            number = int(item)
            view = view.at(dim, number + size if number < 0 else number)
    return view


class Tile:
    """A tile, or part of one."""

    def __init__(self, recorder: Recorder, view: NkiView) -> None:
        self.recorder, self._view = recorder, view

    @property
    def view(self) -> NkiView:
        return self._view

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.view.shape)

    @property
    def dtype(self) -> Any:
        return dtype_of(self.view.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def _here(self, make: Callable[[], NkiView]) -> Tile:
        location = self.recorder.locate()
        try:
            return Tile(self.recorder, make())
        except Error as error:
            raise type(error)(f"{error}\n  in the kernel, {location}") from None

    def __getitem__(self, index: Any) -> Tile:
        items = index if isinstance(index, tuple) else (index,)
        if any(isinstance(item, Index) for item in items):
            return Gridded(self, index)
        return self._here(lambda: indexed(self.view, index))

    def broadcast_to(self, shape: Sequence[int]) -> Tile:
        from tessera.nki import language

        return language.broadcast_to(self, shape)

    def reshape(self, *shape: Any) -> Tile:
        sizes = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
        return self._here(lambda: self.view.reshaped([int(n) for n in sizes]))

    def __setitem__(self, index: Any, value: Any) -> None:
        target = self[index]
        recorder, location = self.recorder, self.recorder.locate()
        if isinstance(value, Pending) and value.goes_to(target):
            value.into(target.view)
        elif isinstance(value, Tile):
            if value.view.memory == "hbm" or target.view.memory == "hbm":
                raise InvalidArgument("tensors in HBM are read by nl.load and written by nl.store (or nisa.dma_copy)")
            if not target.view.same(value.view):
                source = value.view
                recorder.write(target.view, location, lambda dst: recorder.kernel.tensor_copy(dst, source, "vector"))
        else:
            recorder.write(target.view, location, lambda dst: recorder.kernel.memset(dst, float(value), "vector"))

    def __iadd__(self, other: Any) -> Tile:
        if isinstance(other, Product) and other.goes_to(self):
            other.into(self.view, "add")
        else:
            from tessera.nki import isa, language

            result = isa.tensor_tensor(self, other, op=language.add) if isinstance(other, Tile) else None
            (result or isa.tensor_scalar(self, language.add, other)).into(self.view)
        return self

    def __add__(self, other: Any) -> Any:
        from tessera.nki import language

        return language.add(self, other)

    def __radd__(self, other: Any) -> Any:
        from tessera.nki import language

        return language.add(other, self)

    def __sub__(self, other: Any) -> Any:
        from tessera.nki import language

        return language.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        from tessera.nki import language

        return language.subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        from tessera.nki import language

        return language.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        from tessera.nki import language

        return language.multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        from tessera.nki import language

        return language.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        from tessera.nki import language

        return language.divide(other, self)

    def __neg__(self) -> Any:
        from tessera.nki import language

        return language.multiply(self, -1.0)

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.shape[0]))


class Gridded(Tile):
    """Part of a tile by index grids. It may go beyond the tile where a mask says that nothing is read there."""

    def __init__(self, base: Tile, index: Any) -> None:
        self.recorder, self.base = base.recorder, base
        self.location = self.recorder.locate()
        self.wrong: Error | None = None
        try:
            self.items = _expanded(index, len(base.view.shape))
            self._view = _by_pattern(base.view, self.items)
        except Error as error:
            self.wrong = type(error)(f"{error}\n  in the kernel, {self.location}")

    @property
    def view(self) -> NkiView:
        if self.wrong is not None:
            raise self.wrong
        return self._view

    @property
    def shape(self) -> tuple[int, ...]:
        if self.wrong is None:
            return tuple(self._view.shape)
        grids = [item for item in self.items if isinstance(item, Index)]
        rank = max(len(grid.sizes) for grid in grids)
        return tuple(max(sizes) for sizes in zip(*(grid._padded(rank).sizes for grid in grids)))

    @property
    def dtype(self) -> Any:
        return self.base.dtype

    def within(self, limits: dict[int, int]) -> NkiView:
        """Up to those limits of its axes."""
        rank = len(self.shape)

        def cut(item: Any) -> Any:
            if not isinstance(item, Index):
                return item
            grid = item._padded(rank)
            sizes = [min(n, limits.get(axis, n)) if n > 1 else n for axis, n in enumerate(grid.sizes)]
            return Index(sizes, grid.steps, grid.offset)

        return self._here(lambda: _by_pattern(self.base.view, [cut(item) for item in self.items])).view


class Pending(Tile):
    """What an instruction gives. It is written where it is assigned to, or into a tile of its own when it is read."""

    def __init__(
        self,
        recorder: Recorder,
        run: Callable[[NkiView], None],
        shape: Sequence[int],
        dtype: str,
        memory: str,
        sources: Sequence[Tile],
        name: str,
    ) -> None:
        self.recorder, self._run, self._sources = recorder, run, list(sources)
        self._shape, self._dtype, self._memory, self._name = [int(n) for n in shape], dtype, memory, name
        self.view_or_none: NkiView | None = None
        self.location, self.turn = recorder.locate(), recorder.kernel.turn()
        self.reads = {source.view.tile for source in sources}
        recorder.count += 1
        self.order = recorder.count
        recorder.pending.add(self)

    def goes_to(self, tile: Tile) -> bool:
        """Whether it has still to be computed, and its engine can write there: the PE array writes PSUM alone."""
        return self.view_or_none is None and (self._memory != "psum" or tile.view.memory == "psum")

    def into(self, dst: NkiView) -> None:
        self.recorder.pending.discard(self)
        self.view_or_none = dst
        self.recorder.write(dst, self.location, self._run, self.turn)
        self._sources = []

    @property
    def view(self) -> NkiView:
        if self.view_or_none is None:
            self.recorder.kernel.set_location(self.location)
            make = self.recorder.kernel.psum if self._memory == "psum" else self.recorder.kernel.sbuf
            self.into(make(self.recorder.name(self._name), self._dtype, self._shape))
        assert self.view_or_none is not None
        return self.view_or_none

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._shape)

    @property
    def dtype(self) -> Any:
        return dtype_of(self._dtype)


class Product(Pending):
    """Of nc_matmul: it can be added to what PSUM holds."""

    def into(self, dst: NkiView, how: str = "overwrite") -> None:
        stationary, moving = self._sources
        kernel = self.recorder.kernel
        self._run = lambda to: kernel.nc_matmul(to, stationary.view, moving.view, how)
        super().into(dst)
