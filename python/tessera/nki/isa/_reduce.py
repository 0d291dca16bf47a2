"""Reductions over free dimensions and over partitions, and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki import _ops
from tessera.nki._index import resolved
from tessera.nki._instruction import given, is_nothing, named_location, reduction, with_dst
from tessera.nki._recorder import current
from tessera.nki._tile import Pending, Tile, fit
from tessera.nki.isa._passes import check_dtype, result_type


@with_dst(0)
def tensor_reduce(
    op: Any,
    data: Tile,
    axis: int | Sequence[int],
    *,
    mask: Any = None,
    dtype: Any = None,
    negate: bool = False,
    keepdims: bool = False,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    check_dtype("tensor_reduce", dtype)
    kernel, word = current().kernel, _ops.op_name(op)
    if word not in _ops.REDUCTIONS:
        raise InvalidArgument(f"tensor_reduce: nothing is reduced by {word}; there are {', '.join(_ops.REDUCTIONS)}")
    axes = [axis] if isinstance(axis, (int, np.integer)) else list(axis)
    sign = np.float32(-1 if negate else 1)
    in_core = word in _ops.CORE_REDUCTIONS and not negate
    return reduction(
        "tensor_reduce",
        data,
        axes,
        lambda x, over, table: sign * _ops.reduced(word, x, over, table),
        keepdims=keepdims,
        dtype=result_type(dtype, dst, data),
        mask=mask,
        fast=(lambda to, x, count: kernel.tensor_reduce(to, x, word, count)) if in_core else None,
        dst=dst,
        name=name,
    )


def _whole(
    op: str, engine: str, data: Tile, shape: Sequence[int], meaning: Any, mask: Any, dtype: str, dst: Tile | None, name: str | None
) -> Any:
    """An instruction whose result has a shape of its own; a mask cuts the operand."""
    recorder, chosen = current(), resolved(mask)
    named_location(name)

    def run(target: Tile) -> None:
        source, to = data.access if chosen is None else None, fit(target.access, shape)
        if chosen is not None:
            box = chosen.box(data.ndim)
            if box is None:
                raise InvalidArgument(f"{op}: a mask is a box")
            if is_nothing(box, data.shape):
                return
            source = data.cut(box)
            if source.shape[0] != data.shape[0] and to.shape[0] == data.shape[0]:
                to = to.slice(0, box[0][0], source.shape[0], 1)
        recorder.kernel.pass_(op, engine, [to], [source], 1)
        if recorder.values:
            with np.errstate(all="ignore"):
                recorder.kernel.array(to)[...] = meaning(recorder.kernel.array(source))
            recorder.kernel.wrote(to)

    return given(dst, Pending(recorder, run, shape, dtype, "sbuf", [data], op, chosen is False))


@with_dst(0)
def tensor_partition_reduce(
    op: Any, data: Tile, *, mask: Any = None, dtype: Any = None, dst: Tile | None = None, name: str | None = None
) -> Any:
    """Over partitions, on GpSimd: [p, f...] to [1, f...]."""
    check_dtype("tensor_partition_reduce", dtype)
    word = _ops.op_name(op)
    return _whole(
        "tensor_partition_reduce",
        "gpsimd",
        data,
        [1, *data.shape[1:]],
        lambda x: _ops.reduced(word, x, (0,)).reshape([1, *x.shape[1:]]),
        mask,
        result_type(dtype, dst, data),
        dst,
        name,
    )


@with_dst(1)
def bn_stats(data: Tile, *, mask: Any = None, dtype: Any = None, dst: Tile | None = None, name: str | None = None) -> Any:
    """Of the even and of the odd elements of each partition: count, mean, and variance times count."""
    check_dtype("bn_stats", dtype)
    if data.ndim != 2 or data.shape[1] > 512:
        raise InvalidArgument(f"bn_stats takes [p, up to 512], not {list(data.shape)}")

    def meaning(x: np.ndarray) -> np.ndarray:
        out = np.zeros((x.shape[0], 6), dtype=np.float64)
        for half in range(2):
            part = x[:, half::2].astype(np.float64)
            count = part.shape[1]
            if count == 0:
                continue
            out[:, 3 * half : 3 * half + 3] = np.stack([np.full(len(part), count), part.mean(1), part.var(1) * count], 1)
        return out

    return _whole("bn_stats", "vector", data, [data.shape[0], 6], meaning, mask, result_type(dtype, dst, data), dst, name)


@with_dst(1)
def bn_aggr(data: Tile, *, mask: Any = None, dtype: Any = None, dst: Tile | None = None, name: str | None = None) -> Any:
    """Mean and variance of each partition, from triples of count, mean, and variance times count."""
    check_dtype("bn_aggr", dtype)
    if len(data.shape) < 2 or int(np.prod(data.shape[1:])) % 3:
        raise InvalidArgument(f"bn_aggr takes triples in each partition, not {list(data.shape)}")

    def meaning(x: np.ndarray) -> np.ndarray:
        triples = x.reshape(x.shape[0], -1, 3).astype(np.float64)
        count, means, spread = triples[:, :, 0], triples[:, :, 1], triples[:, :, 2]
        total = count.sum(1)
        mean = (count * means).sum(1) / total
        variance = (spread + count * (means - mean[:, None]) ** 2).sum(1) / total
        return np.stack([mean, variance], 1)

    return _whole("bn_aggr", "vector", data, [data.shape[0], 2], meaning, mask, result_type(dtype, dst, data), dst, name)
