"""Tiles as NKI kernels see them: indexed like arrays, written by assignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tessera._tessera import Error, InvalidArgument, NkiView
from tessera.nki._dtypes import dtype_of, type_name
from tessera.nki._index import Index, volume
from tessera.nki._recorder import Recorder, located

Box = list[tuple[int, "int | None"]]


def _expanded(index: Any, rank: int) -> list[Any]:
    items = list(index) if isinstance(index, (tuple, list)) else [index]
    if any(item is Ellipsis for item in items):
        at = next(i for i, item in enumerate(items) if item is Ellipsis)
        given = sum(item is not None for item in items) - 1
        items[at : at + 1] = [slice(None)] * (rank - given)
    given = sum(item is not None for item in items)
    items += [slice(None)] * (rank - given)
    if given > rank:
        raise InvalidArgument(f"{given} indices for {rank} dimensions")
    return items


def _by_pattern(view: NkiView, items: list[Any]) -> NkiView:
    grids = [item for item in items if isinstance(item, Index)]
    rank = max(len(item.sizes) for item in grids)
    sizes, strides, offset = [1] * rank, [0] * rank, 0
    for dim, item in enumerate(items):
        step = view.strides[dim]
        if isinstance(item, Index):
            padded = item.padded(rank)
            low, high = padded.span()
            if low < 0 or high >= view.shape[dim]:
                raise InvalidArgument(
                    f"indices {low} to {high} of dimension {dim} of '{view.name}', which has {view.shape[dim]}"
                )
            for axis in range(rank):
                if padded.sizes[axis] > 1:
                    sizes[axis] = max(sizes[axis], padded.sizes[axis])
                    strides[axis] += padded.steps[axis] * step
            offset += padded.offset * step
        elif isinstance(item, slice):
            raise InvalidArgument("slices and index grids cannot be mixed: use nl.mgrid for every dimension")
        else:
            number = int(item)
            if not 0 <= number < view.shape[dim]:
                raise InvalidArgument(f"index {number} of dimension {dim} of '{view.name}', which has {view.shape[dim]}")
            offset += number * step
    if min(strides) < 0:
        raise InvalidArgument(f"an access to '{view.name}' goes backwards, which access patterns do not")
    return view.gathered(offset, sizes, strides)


def _sliced(view: NkiView, items: list[Any]) -> NkiView:
    dim = 0
    for item in items:
        if item is None:
            view = view.with_axis(dim)
            dim += 1
            continue
        size = view.shape[dim]
        if isinstance(item, slice):
            begin, end, step = item.indices(size)
            if item.stop is not None and item.stop > size:
                raise InvalidArgument(f"{begin}:{item.stop} of dimension {dim} of '{view.name}', which has {size}")
            view = view.slice(dim, begin, max(0, -(-(end - begin) // step)), step)
            dim += 1
        else:
            number = int(item)
            if not -size <= number < size:
                raise InvalidArgument(f"index {number} of dimension {dim} of '{view.name}', which has {size}")
            view = view.at(dim, number + size if number < 0 else number)
    # On chip there is a free dimension, be it of size 1.
    return view.with_axis(1) if len(view.shape) == 1 and view.memory != "hbm" else view


def _grids_beyond(items: list[Any], shape: Sequence[int], name: str) -> tuple[list[Any], str] | None:
    """Slices that go beyond a tile as index grids, since a mask may say that nothing is there; None: none does."""
    sizes = [item for item in items if item is not None]
    if not any(isinstance(i, slice) and i.stop is not None and int(i.stop) > n for i, n in zip(sizes, shape)):
        return None
    if any(item is None for item in items):
        raise InvalidArgument("a slice that goes beyond its tile has no new axes")
    count = sum(isinstance(item, slice) for item in items)
    out, axis, why = list(items), 0, ""
    for dim, item in enumerate(items):
        if isinstance(item, slice):
            stop = shape[dim] if item.stop is None else int(item.stop)
            numbers = range(int(item.start or 0), stop + shape[dim] if stop < 0 else stop, int(item.step or 1))
            extents, steps = [1] * count, [0] * count
            extents[axis], steps[axis] = len(numbers), numbers.step
            out[dim] = Index(extents, steps, numbers.start)
            axis += 1
            if stop > shape[dim] and not why:
                why = f"{numbers.start}:{stop} of dimension {dim} of '{name}', which has {shape[dim]}"
    return out, why


def fit(view: NkiView, shape: Sequence[int]) -> NkiView:
    """A view as that shape: dimensions of size 1 come and go, and runs without gaps are cut elsewhere."""
    wanted = [int(n) for n in shape]
    if view.shape == wanted:
        return view
    if [n for n in view.shape if n != 1] == [n for n in wanted if n != 1]:
        for dim in reversed(range(len(view.shape))):
            if view.shape[dim] == 1:
                view = view.at(dim, 0)
        for dim, size in enumerate(wanted):
            if size == 1:
                view = view.with_axis(dim)
        return view
    if volume(view.shape) != volume(wanted):
        raise InvalidArgument(f"'{view.name}' {view.shape} is not of shape {wanted}")
    out = view
    try:
        dim = 0
        for size in wanted:
            if dim >= len(out.shape):
                out = out.with_axis(dim)
            while out.shape[dim] < size:
                out = out.merged(dim)
            if out.shape[dim] != size:
                out = out.split(dim, out.shape[dim] // size)
            dim += 1
        while len(out.shape) > len(wanted):
            out = out.at(len(wanted), 0)
    except Error:
        out = view
    if out.shape != wanted:
        raise InvalidArgument(f"'{view.name}' {view.shape} cannot be seen as {wanted}: there are gaps in it")
    return out


def broadcast(view: NkiView, shape: Sequence[int]) -> NkiView:
    """Reads dimensions of size 1 over and over."""
    for dim, size in enumerate(shape):
        if view.shape[dim] != size:
            view = view.broadcast(dim, size)
    return view


def _cut_view(view: NkiView, box: Box) -> NkiView:
    for axis, (begin, end) in enumerate(box[: len(view.shape)]):
        size = view.shape[axis]
        if size == 1 and begin == 0 and (end is None or end >= 1):
            continue
        stop = size if end is None else min(end, size)
        if begin > 0 or stop < size:
            view = view.slice(axis, begin, stop - begin, 1)
    return view


class Tile:
    """A tile, or part of one."""

    __array_ufunc__ = None

    def __init__(self, recorder: Recorder, access: NkiView) -> None:
        self.recorder, self._access = recorder, access

    @property
    def access(self) -> NkiView:
        return self._access

    @property
    def tile_id(self) -> int:
        return self.access.tile

    @property
    def memory(self) -> str:
        return self.access.memory

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.access.shape)

    @property
    def dtype(self) -> Any:
        return dtype_of(self.type_name)

    @property
    def type_name(self) -> str:
        return self.access.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return volume(self.shape)

    @property
    def itemsize(self) -> int:
        from tessera.nki._dtypes import element_bytes

        return element_bytes(self.type_name)

    def __len__(self) -> int:
        return self.shape[0]

    def _here(self, make: Callable[[], NkiView]) -> Tile:
        try:
            return Tile(self.recorder, make())
        except Error as error:
            raise located(error, self.recorder.locate()) from None

    def __getitem__(self, index: Any) -> Tile:
        items = list(index) if isinstance(index, (tuple, list)) else [index]
        if any(isinstance(item, (Index, Tile)) and not _is_scalar(item) for item in items):
            try:
                expanded = _expanded(index, len(self.shape))
            except Error as error:
                raise located(error, self.recorder.locate()) from None
            # What is sliced besides is a grid as well, in the order of the dimensions that are left.
            if any(isinstance(item, Tile) for item in expanded) or any(
                isinstance(item, Index) and item.table is not None for item in expanded
            ):
                return Gathered(self, expanded)
            return Gridded(self, expanded)
        try:
            expanded = _expanded(index, len(self.shape))
            beyond = _grids_beyond(expanded, self.shape, self.access.name)
        except Error as error:
            raise located(error, self.recorder.locate()) from None
        if beyond is not None:
            items, why = beyond
            return Gridded(self, items, why)
        return self._here(lambda: _sliced(self.access, expanded))

    def cut(self, box: Box) -> NkiView:
        return _cut_view(self.access, box)

    def broadcast_to(self, shape: Sequence[int]) -> Tile:
        from tessera.nki import language

        return language.broadcast_to(self, shape=shape)

    def reshape(self, *sizes: Any, shape: Sequence[int] | None = None) -> Tile:
        if shape is None:
            shape = list(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], (int, np.integer)) else list(sizes)
        elif sizes:
            raise InvalidArgument("reshape takes its sizes or shape=, not both")
        wanted = [int(n) for n in shape]
        if wanted.count(-1) == 1:
            wanted[wanted.index(-1)] = self.size // max(1, -volume(wanted))
        return self._here(lambda: fit(self.access, wanted))

    def expand_dims(self, axis: int) -> Tile:
        return self._here(lambda: self.access.with_axis(axis % (self.ndim + 1)))

    def permute(self, dims: Sequence[int]) -> Tile:
        return self._here(lambda: self.access.permuted([int(d) for d in dims]))

    def ap(self, pattern: Sequence[Sequence[int]], offset: int = 0, dtype: Any = None) -> Tile:
        """An access pattern: [step, count] for each dimension, in elements; partitions first on chip."""
        if dtype is not None and type_name(dtype) != self.type_name:
            raise InvalidArgument(f"ap: bits of {self.type_name} as {type_name(dtype)} are not simulated")
        return self._here(lambda: self.access.gathered(int(offset), [int(n) for _, n in pattern], [int(s) for s, _ in pattern]))

    def view(self, dtype: Any) -> Tile:
        if type_name(dtype) != self.type_name:
            raise InvalidArgument(f"view: bits of {self.type_name} as {type_name(dtype)} are not simulated")
        return self

    def astype(self, dtype: Any) -> Tile:
        from tessera.nki import language

        return language.copy(self, dtype=dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        store_into(self[index], value)

    def __iadd__(self, other: Any) -> Tile:
        if isinstance(other, Product) and other.goes_to(self):
            other.into(self, "where_written")
            return self
        return self._in_place("add", other)

    def __isub__(self, other: Any) -> Tile:
        return self._in_place("subtract", other)

    def __imul__(self, other: Any) -> Tile:
        return self._in_place("multiply", other)

    def __itruediv__(self, other: Any) -> Tile:
        return self._in_place("divide", other)

    def _in_place(self, op: str, other: Any) -> Tile:
        from tessera.nki import language

        store_into(self, getattr(language, op)(self, other, dtype=self.dtype))
        return self

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.shape[0]))

    def number(self) -> float:
        """Of a tile of one element, while values are computed."""
        if self.size != 1:
            raise InvalidArgument(f"a tile of {list(self.shape)} is not one number")
        if not self.recorder.values:
            raise InvalidArgument("a run that is only timed has no numbers to go by: use nki.simulate_kernel or nki.baremetal")
        return float(self.recorder.kernel.array(self.access).reshape(-1)[0])

    def __int__(self) -> int:
        return int(self.number())

    def __index__(self) -> int:
        return int(self.number())

    def __float__(self) -> float:
        return self.number()

    def __bool__(self) -> bool:
        return bool(self.number())

    __hash__ = object.__hash__


def _operator(name: str, swapped: bool = False) -> Callable[[Tile, Any], Any]:
    def apply(self: Tile, other: Any) -> Any:
        from tessera.nki import language

        function = getattr(language, name)
        return function(other, self) if swapped else function(self, other)

    return apply


for _name, _function in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "power",
    "mod": "mod",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}.items():
    setattr(Tile, f"__{_name}__", _operator(_function))
    setattr(Tile, f"__r{_name}__", _operator(_function, True))
for _name, _function in {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}.items():
    setattr(Tile, f"__{_name}__", _operator(_function))
Tile.__neg__ = lambda self: _operator("multiply")(self, -1.0)  # type: ignore[attr-defined]
Tile.__invert__ = lambda self: _operator("bitwise_xor")(self, -1)  # type: ignore[attr-defined]


def _is_scalar(item: Any) -> bool:
    return isinstance(item, Tile) and item.recorder.values and item.size == 1


def _with_grids(items: list[Any], shape: Sequence[int]) -> list[Any]:
    """Slices beside index grids become grids: dimensions of their own behind those of the grids."""
    slices = [dim for dim, item in enumerate(items) if isinstance(item, slice)]
    if not slices:
        return items
    if any(items[dim] != slice(None) and not isinstance(items[dim], slice) for dim in slices):
        raise InvalidArgument("slices and index grids cannot be mixed: use nl.mgrid for every dimension")
    ranks = [len(item.shape) for item in items if isinstance(item, (Index, Tile))]
    if max(ranks) > 1 and any(shape[dim] != 1 for dim in slices):
        raise InvalidArgument("slices and index grids cannot be mixed: use nl.mgrid for every dimension")
    out, more = list(items), len(slices)
    for dim, item in enumerate(items):
        if isinstance(item, Index):
            out[dim] = item[(slice(None),) * len(item.shape) + (None,) * more]
    for at, dim in enumerate(slices):
        begin, end, step = items[dim].indices(shape[dim])
        sizes, steps = [1] * more, [0] * more
        sizes[at], steps[at] = len(range(begin, end, step)), step
        out[dim] = Index(sizes, steps, begin)
    return out


class Gridded(Tile):
    """Part of a tile by index grids. It may go beyond the tile where a mask says that nothing is read there."""

    def __init__(self, base: Tile, items: list[Any], why: str = "") -> None:
        self.recorder, self.base = base.recorder, base
        self.location = self.recorder.locate()
        self.wrong: Error | None = None
        try:
            self.items = _with_grids(items, base.shape)
        except Error as error:
            raise located(error, self.location) from None
        try:
            self._access = _by_pattern(base.access, self.items)
        except Error as error:
            self.wrong = located(type(error)(why) if why else error, self.location)

    @property
    def access(self) -> NkiView:
        if self.wrong is not None:
            raise self.wrong
        return self._access

    @property
    def tile_id(self) -> int:
        return self.base.tile_id

    @property
    def memory(self) -> str:
        return self.base.memory

    @property
    def shape(self) -> tuple[int, ...]:
        if self.wrong is None:
            return tuple(self._access.shape)
        grids = [item for item in self.items if isinstance(item, Index)]
        rank = max(len(grid.sizes) for grid in grids)
        return tuple(max(sizes) for sizes in zip(*(grid.padded(rank).sizes for grid in grids)))

    @property
    def type_name(self) -> str:
        return self.base.type_name

    def cut(self, box: Box) -> NkiView:
        """Within a box of its axes."""
        rank = len(self.shape)

        def part(item: Any) -> Any:
            if not isinstance(item, Index):
                return item
            grid = item.padded(rank)
            sizes, offset = list(grid.sizes), grid.offset
            for axis, (begin, end) in enumerate(box):
                if sizes[axis] > 1:
                    stop = sizes[axis] if end is None else min(end, sizes[axis])
                    offset += begin * grid.steps[axis]
                    sizes[axis] = stop - begin
            return Index(sizes, grid.steps, offset)

        return self._here(lambda: _by_pattern(self.base.access, [part(item) for item in self.items])).access

    def offsets(self) -> tuple[np.ndarray, np.ndarray]:
        return _offsets(self.base.access, self.items, self.shape)


def _offsets(view: NkiView, items: list[Any], shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Where each element lies, from the view's first on, and whether it is within the tile."""
    rank = len(shape)
    out, inside = np.zeros(shape, dtype=np.int64), np.ones(shape, dtype=bool)
    for dim, item in enumerate(items):
        if isinstance(item, Index):
            number = item.array(rank)
        elif isinstance(item, Tile):
            table = item.recorder.kernel.array(item.access).astype(np.int64)
            number = table.reshape([*table.shape, *[1] * (rank - table.ndim)] if table.ndim < rank else table.shape)
        else:
            number = np.full([1] * rank, int(item), dtype=np.int64)
        out = out + number * view.strides[dim]
        inside = inside & (number >= 0) & (number < view.shape[dim])
    return out, inside


class Gathered(Tile):
    """Part of a tile by indices that are no access pattern: tables, or numbers that other tiles hold."""

    def __init__(self, base: Tile, items: list[Any]) -> None:
        self.recorder, self.base = base.recorder, base
        self.location = self.recorder.locate()
        self.items = _with_grids(items, base.shape)
        self.indices = [item for item in self.items if isinstance(item, Tile)]
        shapes = [tuple(item.shape) for item in self.items if isinstance(item, (Index, Tile))]
        rank = max(len(shape) for shape in shapes)
        shapes = [
            (1,) * (rank - len(shape)) + shape if isinstance(item, Index) else shape + (1,) * (rank - len(shape))
            for shape, item in zip(shapes, [i for i in self.items if isinstance(i, (Index, Tile))])
        ]
        self._shape = np.broadcast_shapes(*shapes)

    @property
    def access(self) -> NkiView:
        raise located(
            InvalidArgument(f"'{self.base.access.name}' is indexed by a table, which only loads, stores and copies can do"),
            self.location,
        )

    @property
    def tile_id(self) -> int:
        return self.base.tile_id

    @property
    def memory(self) -> str:
        return self.base.memory

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._shape)

    @property
    def type_name(self) -> str:
        return self.base.type_name

    def offsets(self) -> tuple[np.ndarray, np.ndarray]:
        return _offsets(self.base.access, self.items, self._shape)


class Pending(Tile):
    """What an instruction gives. It is written where it is assigned to, or into a tile of its own when it is read.

    `run` is given the tile to write; `sources` are tiles that it reads.
    """

    converts = False  # whether a type that differs from the destination's is one to round to on the way
    has_own_type = False  # whether the kernel said which one
    is_masked = False

    def __init__(
        self,
        recorder: Recorder,
        run: Callable[[Tile], None],
        shape: Sequence[int],
        dtype: str,
        memory: str,
        sources: Sequence[Tile],
        name: str,
        masked_out: bool = False,
    ) -> None:
        self.recorder, self._run, self._sources = recorder, run, list(sources)
        self._shape, self._dtype, self._memory, self._name = [int(n) for n in shape], dtype, memory, name
        self.access_or_none: NkiView | None = None
        self.masked_out = masked_out
        self.location, self.turn = recorder.locate(), recorder.kernel.turn()
        if recorder.turn_override is not None:
            self.turn = recorder.turn_override
        self.reads = set() if masked_out else {source.tile_id for source in sources}
        recorder.count += 1
        self.order = recorder.count
        recorder.pending[self.order] = self

    def goes_to(self, tile: Tile) -> bool:
        """Whether it has still to be computed, and its engine can write there: the PE array writes PSUM alone."""
        return self.access_or_none is None and (self._memory != "psum" or tile.memory == "psum")

    def into(self, target: Tile) -> None:
        self.recorder.pending.pop(self.order, None)
        if self.masked_out:
            self.access_or_none = _of_base(target)
        else:
            recorder = self.recorder
            if recorder.pending:
                recorder.settle(target.tile_id)
            try:
                recorder.write(_of_base(target), self.location, lambda: self._run(target), self.turn)
            except Error as error:
                raise located(error, self.location) from None
            self.access_or_none = _of_base(target)
        self._sources = []
        self._run = _nothing

    @property
    def access(self) -> NkiView:
        if self.access_or_none is None:
            self.recorder.kernel.set_location(self.location)
            make = self.recorder.kernel.psum if self._memory == "psum" else self.recorder.kernel.sbuf
            self.into(Tile(self.recorder, make(self.recorder.name(self._name), self._dtype, self._shape)))
        assert self.access_or_none is not None
        return self.access_or_none

    @property
    def memory(self) -> str:
        return self._memory if self.access_or_none is None else self.access_or_none.memory

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._shape)

    @property
    def type_name(self) -> str:
        return self._dtype


def _nothing(_: Tile) -> None:
    return None


def _of_base(tile: Tile) -> NkiView:
    """Some access to the tile that is written, to know which one it is."""
    return tile.base.access if isinstance(tile, (Gridded, Gathered)) and getattr(tile, "wrong", True) else tile.access


class Product(Pending):
    """Of nc_matmul: it can be added to what PSUM holds."""

    how = "overwrite"

    def into(self, target: Tile, how: str = "overwrite") -> None:
        self.how = how
        super().into(target)


class LoopReduction(Pending):
    """Of nl.loop_reduce: the first turn puts its part, later ones combine theirs with what is there."""


def store_into(target: Tile, value: Any) -> None:
    """target[...] = value."""
    from tessera.nki import isa

    recorder = target.recorder
    if isinstance(value, Pending) and value.has_own_type and value.type_name not in (target.type_name, "float32"):
        # Numbers are rounded to the type that the kernel asks for, and then put.
        if value.is_masked and value.goes_to(target):
            _put_rounded(target, value)
            return
        if not value.masked_out:
            value.access  # noqa: B018
    if isinstance(value, Pending) and value.goes_to(target):
        if target.memory == "hbm":
            raise located(
                InvalidArgument("tensors in HBM are read by nl.load and written by nl.store (or nisa.dma_copy)"), recorder.locate()
            )
        value.into(target)
    elif isinstance(value, Tile):
        if isinstance(value, Pending) and value.masked_out:
            return
        if value.memory == "hbm" or target.memory == "hbm":
            raise located(
                InvalidArgument("tensors in HBM are read by nl.load and written by nl.store (or nisa.dma_copy)"), recorder.locate()
            )
        if isinstance(target, Gathered) or isinstance(value, Gathered):
            isa.tensor_copy(value, dst=target)
        elif not target.access.same(value.access):
            shape = target.shape
            source = value
            if volume(value.shape) != volume(shape):
                source = Tile(recorder, broadcast(_aligned(value.access, len(shape)), shape))
            isa.tensor_copy(source, dst=target)
    else:
        isa.memset(target, float(value))


def _put_rounded(target: Tile, value: Pending) -> None:
    """A mask leaves numbers as they are: those that the instruction changed are rounded."""
    from tessera.nki._dtypes import as_type

    recorder = target.recorder
    if not recorder.values:
        value.into(target)
        return
    array = recorder.kernel.array(target.access)
    before = array.copy()
    value.into(target)
    new = ~((array == before) | (np.isnan(array) & np.isnan(before)))
    array[new] = as_type(array, value.type_name).astype(np.float32)[new]
    recorder.kernel.wrote(target.access)


def _aligned(view: NkiView, rank: int) -> NkiView:
    """With as many dimensions: ones come behind the partitions."""
    while len(view.shape) < rank:
        view = view.with_axis(1)
    return view
