"""nki.compiler: where tiles are put, and what the compiler is told.

What is told about schedules is checked and has no effect: the simulator's own schedule is what a compiler may arrange.
Only without its middle end are the turns of a sequential_range as free as those of an unrolled loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki._calls import public
from tessera.nki._dtypes import element_bytes, type_name
from tessera.nki._recorder import current
from tessera.nki._tile import Tile


def _decorator(name: str) -> Callable[..., Any]:
    def decorate(func: Any = None, *, log_level: int | None = None) -> Any:
        if log_level is not None and not isinstance(log_level, int):
            raise InvalidArgument(f"{name}: log_level is a number")
        return (lambda given: given) if func is None else func

    decorate.__name__ = decorate.__qualname__ = name
    decorate.__doc__ = "Marks a kernel for a compiler that is not here; the kernel stays what it is."
    return public(decorate)


@public
def skip_middle_end_transformations(func: Any = None, *, log_level: int | None = None) -> Any:
    """A kernel whose loops the compiler leaves as they are."""
    if log_level is not None and not isinstance(log_level, int):
        raise InvalidArgument("skip_middle_end_transformations: log_level is a number")

    def mark(given: Any) -> Any:
        getattr(given, "function", given).skips_middle_end = True
        return given

    return mark if func is None else mark(func)


enable_stack_allocator = _decorator("enable_stack_allocator")
force_auto_alloc = _decorator("force_auto_alloc")


class no_reorder:  # noqa: N801
    """Instructions in here, or of a loop with this directive, are meant to stay in order; those that depend on each
    other do so anyway."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class multi_buffer:  # noqa: N801
    """A directive of loops: so many buffers."""

    def __init__(self, count: int) -> None:
        if int(count) < 1:
            raise InvalidArgument(f"multi_buffer({count})")
        self.count = int(count)


class Blocks:
    """A tile of blocks: dimensions in front of the partitions, each block in a place of its own or shared."""

    def __init__(self, sizes: Sequence[int], shape: Sequence[int], dtype: str, place: Callable[[tuple[int, ...]], Tile], at: tuple[int, ...] = ()) -> None:
        self._sizes, self._shape, self._dtype, self._place, self._at = list(sizes), list(shape), dtype, place, at

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._sizes[len(self._at) :] + self._shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        from tessera.nki._dtypes import dtype_of

        return dtype_of(self._dtype)

    def _split(self, index: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        items = index if isinstance(index, tuple) else (index,)
        needed = len(self._sizes) - len(self._at)
        at: list[int] = []
        for each in items[:needed]:
            if not isinstance(each, (int, np.integer)):
                raise InvalidArgument("blocks of a tile are indexed by numbers, one at a time")
            size = self._sizes[len(self._at) + len(at)]
            if not 0 <= int(each) < size:
                raise InvalidArgument(f"block {int(each)} of {size}")
            at.append(int(each))
        return self._at + tuple(at), tuple(items[needed:])

    def __getitem__(self, index: Any) -> Any:
        at, rest = self._split(index)
        if len(at) < len(self._sizes):
            return Blocks(self._sizes, self._shape, self._dtype, self._place, at)
        tile = self._place(at)
        return tile[rest] if rest else tile

    def __setitem__(self, index: Any, value: Any) -> None:
        at, rest = self._split(index)
        if len(at) < len(self._sizes):
            raise InvalidArgument("one block is written at a time")
        tile = self._place(at)
        tile[rest if rest else Ellipsis] = value

    def tiles(self) -> list[Tile]:
        free = [range(n) for n in self._sizes[len(self._at) :]]
        seen: dict[int, Tile] = {}
        for more in itertools.product(*free):
            tile = self._place(self._at + more)
            seen[id(tile)] = tile
        return list(seen.values())


class Allocation:
    """Where blocks of a tile go: a function of a block's indices and its sizes to (partition, byte)."""

    def __init__(self, memory: str, place: Callable[[tuple[int, ...], int, int], tuple[int, int]] | None) -> None:
        self.memory, self.place = memory, place

    def allocate(self, shape: Any, dtype: Any, name: str) -> Any:
        from tessera.nki.language._memory import par_dim

        recorder, kind = current(), type_name(dtype)
        kernel = recorder.kernel
        sizes = [int(n) for n in shape]
        marked = next((i for i, n in enumerate(shape) if isinstance(n, par_dim)), 0)
        blocks, tile_shape = sizes[:marked], sizes[marked:]
        width = int(np.prod(tile_shape[1:], dtype=np.int64)) * element_bytes(kind)
        # Who has a place: blocks that share one are tiles of their own, one after the other.
        made: dict[tuple[int, int], tuple[tuple[int, ...], Tile]] = {}
        recorder.kernel.set_location(recorder.locate())
        label = recorder.name(name)

        def tile_at(at: tuple[int, ...]) -> Tile:
            key = (hash(at), -1) if self.place is None else self.place(at, tile_shape[0], width)
            if key not in made or made[key][0] != at:
                if self.place is None:
                    access = (kernel.psum if self.memory == "psum" else kernel.sbuf)(label, kind, tile_shape)
                else:
                    partition, address = key
                    access = kernel.placed(label, self.memory, kind, [partition + tile_shape[0], *tile_shape[1:]], address)
                    if partition:
                        access = access.slice(0, partition, tile_shape[0], 1)
                made[key] = at, Tile(recorder, access)
            return made[key][1]

        if not blocks:
            return tile_at(())
        return Blocks(blocks, tile_shape, kind, tile_at)


def _modulo(at: tuple[int, ...], counts: Sequence[int], what: str) -> int:
    """The place of a block among `counts` places: indices go round in each of the last dimensions."""
    given, place = list(counts), 0
    if any(n < 1 for n in given):
        raise InvalidArgument(f"{what}={tuple(given)}: there are no places")
    at = (0,) * (len(given) - len(at)) + at  # a tile without such blocks is at the first place
    for index, count in zip(at[len(at) - len(given) :], given):
        place = place * int(count) + index % int(count)
    return place


def _normalised(counts: Any) -> tuple[int, ...]:
    return (int(counts),) if isinstance(counts, (int, np.integer)) else tuple(int(n) for n in counts)


class _Memory:
    def __init__(self, memory: str) -> None:
        self.memory = memory

    def auto_alloc(self) -> Allocation:
        return Allocation(self.memory, None)


class _Sbuf(_Memory):
    def alloc(self, func: Callable[..., tuple[int, int]]) -> Allocation:
        """func(idx=, pdim_size=, fdim_size=) to (first partition, byte)."""
        return Allocation("sbuf", lambda at, p, width: tuple(int(n) for n in func(idx=at, pdim_size=p, fdim_size=width)))  # type: ignore[arg-type,return-value]

    def mod_alloc(
        self,
        *,
        base_addr: int,
        base_partition: int = 0,
        num_par_tiles: Sequence[int] = (),
        num_free_tiles: Sequence[int] = (),
    ) -> Allocation:
        """Blocks go round in num_par_tiles x num_free_tiles places."""
        num_par_tiles, num_free_tiles = _normalised(num_par_tiles), _normalised(num_free_tiles)

        def place(at: tuple[int, ...], partitions: int, width: int) -> tuple[int, int]:
            rows = _modulo(at[: len(at) - len(num_free_tiles)] if num_par_tiles else (), num_par_tiles, "num_par_tiles")
            return base_partition + rows * partitions, base_addr + _modulo(at, num_free_tiles, "num_free_tiles") * width

        return Allocation("sbuf", place)


class _Psum(_Memory):
    def alloc(self, func: Callable[..., tuple[int, int, int]]) -> Allocation:
        """func(idx=, pdim_size=, fdim_size=) to (bank, first partition, byte)."""

        def place(at: tuple[int, ...], partitions: int, width: int) -> tuple[int, int]:
            bank, partition, byte = (int(n) for n in func(idx=at, pdim_size=partitions, fdim_size=width))
            return partition, bank * current().limits["psum_bank_bytes"] + byte

        return Allocation("psum", place)

    def mod_alloc(
        self,
        *,
        base_bank: int,
        base_addr: int = 0,
        base_partition: int = 0,
        num_bank_tiles: Sequence[int] = (),
        num_par_tiles: Sequence[int] = (),
        num_free_tiles: Sequence[int] = (),
    ) -> Allocation:
        if num_par_tiles or num_free_tiles:
            raise InvalidArgument("psum.mod_alloc: num_par_tiles and num_free_tiles are not simulated: use num_bank_tiles")

        num_bank_tiles = _normalised(num_bank_tiles)

        def place(at: tuple[int, ...], partitions: int, width: int) -> tuple[int, int]:
            bank_bytes = current().limits["psum_bank_bytes"]
            bank = base_bank + _modulo(at, num_bank_tiles, "num_bank_tiles") * -(-width // bank_bytes)
            return base_partition, bank * bank_bytes + base_addr

        return Allocation("psum", place)


sbuf, psum = _Sbuf("sbuf"), _Psum("psum")


__all__ = ["enable_stack_allocator", "force_auto_alloc", "multi_buffer", "no_reorder", "psum", "sbuf", "skip_middle_end_transformations"]
