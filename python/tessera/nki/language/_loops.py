"""Loops, index grids and the programs of a launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki import _ops
from tessera.nki._calls import public
from tessera.nki._index import Index
from tessera.nki._recorder import current
from tessera.nki._tile import LoopReduction, Tile, store_into


class LoopIndex(int):
    """The number of a loop's turn, which knows whether it is the first one."""

    first = False

    @staticmethod
    def of(number: int, first: bool) -> LoopIndex:
        out = LoopIndex(number)
        out.first = first
        return out


def _directives(name: str, directives: Any) -> None:
    """Buffers are as many as memory has room for, so what a directive asks for is there at least."""
    from tessera.nki.compiler import multi_buffer, no_reorder

    for each in directives if isinstance(directives, (list, tuple)) else [directives]:
        if each is not None and not isinstance(each, (multi_buffer, no_reorder)):
            raise InvalidArgument(f"{name}: {each!r} is no directive: there are nki.compiler.multi_buffer and no_reorder")


class affine_range:  # noqa: N801
    """A loop whose turns have no order: what one writes, no other may read or write, but for sums in PSUM."""

    def __init__(self, *args: Any, multi_buffer: int | None = None, directives: Any = None, precise_schedule: Any = None) -> None:
        if multi_buffer is not None and int(multi_buffer) < 1:
            raise InvalidArgument(f"affine_range: multi_buffer={multi_buffer}")
        if precise_schedule is not None and not hasattr(precise_schedule, "__iter__"):
            raise InvalidArgument("affine_range: precise_schedule is a list of instructions")
        _directives("affine_range", directives)
        self.numbers = range(*(int(a) for a in args))

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[int]:
        recorder = current()
        recorder.kernel.set_location(recorder.locate())
        recorder.kernel.begin_affine_range()
        try:
            for at, number in enumerate(self.numbers):
                recorder.kernel.next_turn()
                yield LoopIndex.of(number, at == 0)
        finally:
            recorder.kernel.end_affine_range()


class static_range:  # noqa: N801
    """A loop that is unrolled: its turns are written one after the other, and overlap as data and memory let them."""

    def __init__(self, *args: Any, directives: Any = None) -> None:
        _directives(type(self).__name__, directives)
        self.numbers = range(*(int(a) for a in args))

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[int]:
        return (LoopIndex.of(number, at == 0) for at, number in enumerate(self.numbers))


class sequential_range(static_range):  # noqa: N801
    """A loop whose turns come one after the other. The compiler's middle end keeps them in order on every engine; without
    it (nki.compiler.skip_middle_end_transformations) they are what an unrolled loop is."""

    def __iter__(self) -> Iterator[int]:
        recorder = current()
        if not recorder.middle_end:
            yield from super().__iter__()
            return
        recorder.kernel.begin_sequential_range()
        try:
            for index in super().__iter__():
                recorder.kernel.next_sequential_turn()
                yield index
        finally:
            recorder.kernel.end_sequential_range()


@public
def loop_reduce(
    x: Tile, op: Any, loop_indices: Sequence[int], *, dtype: Any = None, mask: Any = None, name: str | None = None
) -> Any:
    """What the turns of loops give together. It is written by assignment: the first turn puts its part, later ones
    combine theirs with what is there."""
    from tessera.nki import isa

    recorder, word = current(), _ops.op_name(op)
    if not loop_indices or not all(isinstance(each, LoopIndex) for each in loop_indices):
        raise InvalidArgument("loop_reduce: loop_indices are variables of loops")
    first = all(getattr(each, "first", False) for each in loop_indices)
    from tessera.nki._dtypes import type_name
    from tessera.nki._index import resolved

    def run(target: Tile) -> None:
        # Turns of such a loop do meet here.
        recorder.turn_override = 0
        try:
            if first:
                store_into(target, isa.tensor_copy(x, mask=mask))
            else:
                store_into(target, isa.tensor_tensor(target, x, word, mask=mask, dtype=target.dtype))
        finally:
            recorder.turn_override = None

    return LoopReduction(
        recorder, run, x.shape, type_name(dtype or x.dtype), "sbuf", [x], name or "reduced", resolved(mask) is False
    )


def ds(start: Any, size: Any) -> slice:
    return slice(int(start), int(start) + int(size))


def arange(*args: Any) -> Index:
    numbers = range(*(int(a) for a in args))
    return Index([len(numbers)], [numbers.step], numbers.start)


class Grid(tuple[Index, ...]):
    """The indices of nl.mgrid; those of two to five axes are also called p, x, y, z, w."""

    def __getattr__(self, name: str) -> Index:
        at = "pxyzw".find(name)
        if len(name) != 1 or not 0 <= at < len(self):
            raise AttributeError(f"an index grid of {len(self)} axes has no '{name}'")
        return self[at]


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


mgrid = _Grid()


class nc:  # noqa: N801
    """So many cores, for a dimension of a launch grid."""

    def __init__(self, cores: int) -> None:
        self.cores = int(cores)


class spmd_dim:  # noqa: N801
    """A dimension of a launch grid, made of others: numbers of programs, and nl.nc(n) for those on n cores."""

    def __init__(self, *parts: Any) -> None:
        self.parts = [(each.cores, True) if isinstance(each, nc) else (int(each), False) for each in parts]
        if not parts or any(n < 1 for n, _ in self.parts):
            raise InvalidArgument(f"spmd_dim{tuple(n for n, _ in self.parts)} has no programs")
        self.size = int(np.prod([n for n, _ in self.parts], dtype=np.int64))
        self.cores = int(np.prod([n for n, on_cores in self.parts if on_cores], dtype=np.int64))

    def core(self, index: int) -> int:
        """Of the program at that place of the dimension."""
        core, place, scale = 0, index, 1
        for size, on_cores in reversed(self.parts):
            if on_cores:
                core += place % size * scale
                scale *= size
            place //= size
        return core


@public
def program_id(axis: int = 0) -> int:
    program = current().program
    if not 0 <= int(axis) < len(program.at):
        raise InvalidArgument(f"program_id: axis {axis} of a grid of {len(program.at)} dimensions")
    return program.at[int(axis)]


@public
def num_programs(axes: Any = None) -> int:
    program = current().program
    chosen = range(len(program.sizes)) if axes is None else [axes] if isinstance(axes, (int, np.integer)) else axes
    if any(not 0 <= int(a) < len(program.sizes) for a in chosen):
        raise InvalidArgument(f"num_programs: axes {axes} of a grid of {len(program.sizes)} dimensions")
    return int(np.prod([program.sizes[int(a)] for a in chosen], dtype=np.int64)) if chosen else 1


@public
def program_ndim() -> int:
    return len(current().program.sizes)
