"""Indices that nl.arange and nl.mgrid give, what arithmetic makes of them, and conditions on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument


class Index:
    """A number for each place of a grid: an offset and a step for each axis, or any table."""

    __array_ufunc__ = None

    def __init__(self, sizes: Sequence[int], steps: Sequence[int], offset: int = 0, table: np.ndarray | None = None) -> None:
        self.sizes, self.steps, self.offset, self.table = list(sizes), list(steps), int(offset), table

    @staticmethod
    def of(table: np.ndarray) -> Index:
        return Index(table.shape, [0] * table.ndim, 0, table)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sizes)

    def array(self, rank: int | None = None) -> np.ndarray:
        if self.table is not None:
            out = self.table
        else:
            out = np.full([1] * len(self.sizes), self.offset, dtype=np.int64)
            for axis, (size, step) in enumerate(zip(self.sizes, self.steps)):
                shape = [1] * len(self.sizes)
                shape[axis] = size
                out = out + np.arange(size, dtype=np.int64).reshape(shape) * step
        return out if rank is None else out.reshape([1] * (rank - out.ndim) + list(out.shape))

    def padded(self, rank: int) -> Index:
        more = rank - len(self.sizes)
        if more == 0:
            return self
        table = None if self.table is None else self.array(rank)
        return Index([1] * more + self.sizes, [0] * more + self.steps, self.offset, table)

    def span(self) -> tuple[int, int]:
        """The smallest and the largest number."""
        if self.table is not None:
            return int(self.table.min()), int(self.table.max())
        ends = [(n - 1) * s for n, s in zip(self.sizes, self.steps)]
        return self.offset + sum(min(e, 0) for e in ends), self.offset + sum(max(e, 0) for e in ends)

    def _with(self, other: Any, sign: int) -> Any:
        if isinstance(other, Index):
            rank = max(len(self.sizes), len(other.sizes))
            a, b = self.padded(rank), other.padded(rank)
            for m, n in zip(a.sizes, b.sizes):
                if m != n and 1 not in (m, n):
                    raise InvalidArgument(f"indices of {a.sizes} and {b.sizes} do not fit each other")
            if a.table is not None or b.table is not None:
                return Index.of(a.array() + sign * b.array())
            # An axis of size 1 takes no steps.
            steps = [(s if m > 1 else 0) + sign * (t if n > 1 else 0) for m, s, n, t in zip(a.sizes, a.steps, b.sizes, b.steps)]
            return Index([max(m, n) for m, n in zip(a.sizes, b.sizes)], steps, a.offset + sign * b.offset)
        if not is_number(other):
            return NotImplemented
        if self.table is not None:
            return Index.of(self.table + sign * int(other))
        return Index(self.sizes, self.steps, self.offset + sign * int(other))

    def __add__(self, other: Any) -> Any:
        return self._with(other, 1)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, -1)

    def __neg__(self) -> Index:
        return self * -1

    def __rsub__(self, other: Any) -> Any:
        return (self * -1) + other

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, Index):
            rank = max(len(self.sizes), len(factor.sizes))
            return Index.of(self.array(rank) * factor.array(rank))
        if not is_number(factor):
            return NotImplemented
        if self.table is not None:
            return Index.of(self.table * int(factor))
        return Index(self.sizes, [step * int(factor) for step in self.steps], self.offset * int(factor))

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, divisor: int) -> Index:
        return Index.of(self.array() // int(divisor))

    def __mod__(self, divisor: int) -> Index:
        return Index.of(self.array() % int(divisor))

    def __lt__(self, other: Any) -> Any:
        return Mask.at_least(other - self - 1)

    def __le__(self, other: Any) -> Any:
        return Mask.at_least(other - self)

    def __gt__(self, other: Any) -> Any:
        return Mask.at_least(self - other - 1)

    def __ge__(self, other: Any) -> Any:
        return Mask.at_least(self - other)

    def __eq__(self, other: Any) -> Any:  # type: ignore[override]
        return (self <= other) & (self >= other)

    def __ne__(self, other: Any) -> Any:  # type: ignore[override]
        return ~(self == other)

    __hash__ = object.__hash__

    def __getitem__(self, index: Any) -> Index:
        """[:, None] and the like put axes of size 1 beside those there are."""
        sizes, steps, at = [], [], 0
        for each in index if isinstance(index, tuple) else (index,):
            if each is None:
                sizes.append(1)
                steps.append(0)
            elif isinstance(each, slice) and each == slice(None) and at < len(self.sizes):
                sizes.append(self.sizes[at])
                steps.append(self.steps[at])
                at += 1
            else:
                raise InvalidArgument("an index is indexed by ':' and None only")
        sizes, steps = sizes + self.sizes[at:], steps + self.steps[at:]
        return Index(sizes, steps, self.offset, None if self.table is None else self.table.reshape(sizes))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, Index)


class Mask:
    """Conditions that hold where an access is made: `index >= 0` each, or any table of truth values."""

    __array_ufunc__ = None

    def __init__(self, conditions: list[Index] | None, table: np.ndarray | None = None) -> None:
        self.conditions, self.table = conditions, table

    @staticmethod
    def at_least(index: Any) -> Any:
        """Where an index is 0 or more; a plain number is so or not."""
        return Mask([index]) if isinstance(index, Index) else int(index) >= 0

    def array(self, rank: int | None = None) -> np.ndarray:
        if self.conditions is None:
            out = self.table
            assert out is not None
        else:
            most = max(len(each.sizes) for each in self.conditions)
            out = np.ones([1] * most, dtype=bool)
            for each in self.conditions:
                out = out & (each.array(most) >= 0)
        if rank is None:
            return out
        if out.ndim > rank:
            if any(n != 1 for n in out.shape[: out.ndim - rank]):
                raise InvalidArgument(f"a mask over {out.ndim} axes for an access of {rank}")
            return out.reshape(out.shape[out.ndim - rank :])
        return out.reshape([1] * (rank - out.ndim) + list(out.shape))

    def __and__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return self if other else False
        if not isinstance(other, Mask):
            return NotImplemented
        if self.conditions is not None and other.conditions is not None:
            return Mask(self.conditions + other.conditions)
        rank = max(self.array().ndim, other.array().ndim)
        return Mask(None, self.array(rank) & other.array(rank))

    def __or__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return True if other else self
        if not isinstance(other, Mask):
            return NotImplemented
        rank = max(self.array().ndim, other.array().ndim)
        return Mask(None, self.array(rank) | other.array(rank))

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Mask:
        return Mask(None, ~self.array())

    def box(self, rank: int) -> list[tuple[int, int | None]] | None:
        """[begin, end) of each axis where that is all there is to it; None: not a box. An end of None is the whole."""
        if self.conditions is None:
            return None
        out: list[tuple[int, int | None]] = [(0, None)] * rank
        for each in self.conditions:
            if len(each.sizes) > rank:
                if any(n != 1 for n in each.sizes[: len(each.sizes) - rank]):
                    raise InvalidArgument(f"a mask over {len(each.sizes)} axes for an access of {rank}")
                cut = len(each.sizes) - rank
                each = Index(each.sizes[cut:], each.steps[cut:], each.offset, None if each.table is None else each.array(rank))
            padded = each.padded(rank)
            low, high = padded.span()
            if low >= 0:
                continue
            if high < 0:
                return [(0, 0)] * rank
            active = [a for a in range(rank) if padded.sizes[a] > 1 and padded.steps[a] != 0]
            if padded.table is not None or len(active) != 1:
                return None
            axis, step = active[0], padded.steps[active[0]]
            begin, end = out[axis]
            if step < 0:
                count = padded.offset // -step + 1
                end = count if end is None else min(end, count)
            else:
                begin = max(begin, -(padded.offset // step))
            out[axis] = (begin, end)
        return out


def resolved(mask: Any) -> Any:
    """None, False or a Mask."""
    if mask is None or mask is True or (isinstance(mask, (bool, np.bool_)) and mask):
        return None
    if isinstance(mask, (bool, np.bool_)):
        return False
    if not isinstance(mask, Mask):
        raise InvalidArgument(f"a mask is a condition on indices, not {type(mask).__name__}")
    return mask


def volume(shape: Sequence[int]) -> int:
    return math.prod(int(n) for n in shape)
