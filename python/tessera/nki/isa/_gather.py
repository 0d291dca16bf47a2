"""Instructions that look up and rank elements of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki._calls import public
from tessera.nki._dtypes import type_name
from tessera.nki._index import resolved
from tessera.nki._instruction import given, named_location, with_dst
from tessera.nki._recorder import current
from tessera.nki._tile import Pending, Tile, fit
from tessera.nki.isa._passes import check_dtype, result_type

_CORE_PARTITIONS = 16  # of GpSimd: a processor has so many


def _whole(op: str, engine: str, sources: list[Tile], shape: Sequence[int], meaning: Any, mask: Any, dtype: str, dst: Tile | None, name: str | None) -> Any:
    """An instruction with a shape of its own. A mask leaves it in or out."""
    recorder, chosen = current(), resolved(mask)
    named_location(name)
    if chosen is not None and chosen is not False:
        if not chosen.array().all():
            raise InvalidArgument(f"{op}: a mask over part of the result is not simulated")
        chosen = None

    def run(target: Tile) -> None:
        to, views = fit(target.access, shape), [each.access for each in sources]
        recorder.kernel.pass_(op, engine, [to], views, 1)
        if recorder.values:
            recorder.kernel.array(to)[...] = np.asarray(meaning(*(recorder.kernel.array(each) for each in views))).reshape(to.shape)
            recorder.kernel.wrote(to)

    return given(dst, Pending(recorder, run, shape, dtype, "sbuf", sources, op, chosen is False))


@with_dst(2)
def local_gather(
    src_buffer: Tile,
    index: Tile,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
    *,
    mask: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """Elements of each partition by the indices of its group of 16 partitions, which lie partition by partition."""
    per, groups = int(num_elem_per_idx), -(-src_buffer.shape[0] // _CORE_PARTITIONS)
    most = index.shape[1] * _CORE_PARTITIONS
    count = most if num_valid_indices is None else int(num_valid_indices)
    if not 1 <= count <= most:
        raise InvalidArgument(f"local_gather: {count} indices of {most}")

    def meaning(x: np.ndarray, places: np.ndarray) -> np.ndarray:
        rows = x.reshape(x.shape[0], -1)
        out = np.zeros((rows.shape[0], count, per), dtype=np.float32)
        for group in range(groups):
            part = slice(group * _CORE_PARTITIONS, (group + 1) * _CORE_PARTITIONS)
            chosen = places[part].astype(np.int64).flatten(order="F")[:count]
            if (chosen < 0).any() or ((chosen + 1) * per > rows.shape[1]).any():
                raise InvalidArgument(f"local_gather: an index lies outside of {rows.shape[1]} elements")
            out[part] = rows[part].reshape(rows[part].shape[0], -1, per)[:, chosen]
        return out

    shape = [src_buffer.shape[0], count * per] if per == 1 else [src_buffer.shape[0], count, per]
    return _whole("local_gather", "gpsimd", [src_buffer, index], shape, meaning, mask, src_buffer.type_name, dst, name)


@with_dst(1)
def max8(src: Tile, *, mask: Any = None, dtype: Any = None, dst: Tile | None = None, name: str | None = None) -> Any:
    """The eight largest of each partition, largest first."""
    check_dtype("max8", dtype)
    if int(np.prod(src.shape[1:])) < 8:
        raise InvalidArgument(f"max8 takes 8 elements of a partition and more, not {list(src.shape)}")
    return _whole(
        "max8",
        "vector",
        [src],
        [src.shape[0], 8],
        lambda x: -np.sort(-x.reshape(x.shape[0], -1), axis=1)[:, :8],
        mask,
        result_type(dtype, dst, src),
        dst,
        name,
    )


def _places_of(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    out = np.full(wanted.shape, -1, dtype=np.int64)
    for p in range(rows.shape[0]):
        used: set[int] = set()
        for i, value in enumerate(wanted[p]):
            for place in np.flatnonzero(rows[p] == value):
                if int(place) not in used:
                    out[p, i] = place
                    used.add(int(place))
                    break
    return out


@with_dst(2)
def nc_find_index8(
    data: Tile, vals: Tile, *, mask: Any = None, dtype: Any = "uint32", dst: Tile | None = None, name: str | None = None
) -> Any:
    """Where each of eight numbers lies in its partition."""

    def meaning(x: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        places = _places_of(x.reshape(x.shape[0], -1), wanted.reshape(wanted.shape[0], -1))
        if (places < 0).any():
            raise InvalidArgument("nc_find_index8: a number is not in its partition")
        return places

    return _whole("nc_find_index8", "vector", [data, vals], [data.shape[0], 8], meaning, mask, type_name(dtype), dst, name)


@with_dst(2)
def nc_match_replace8(
    data: Tile,
    vals: Tile,
    imm: float,
    *,
    dst_idx: Tile | None = None,
    mask: Any = None,
    dtype: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """`imm` in place of the first appearance of each of eight numbers; `dst_idx` is told where those were."""
    check_dtype("nc_match_replace8", dtype)
    recorder = current()

    def meaning(x: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        rows = x.reshape(x.shape[0], -1).copy()
        places = _places_of(rows, wanted.reshape(wanted.shape[0], -1))
        for p in range(rows.shape[0]):
            rows[p, places[p][places[p] >= 0]] = imm
        if dst_idx is not None:
            recorder.kernel.array(fit(dst_idx.access, list(places.shape)))[...] = places
            recorder.kernel.wrote(dst_idx.access)
        return rows

    if dst_idx is not None:
        recorder.kernel.pass_("nc_match_replace8", "vector", [dst_idx.access], [data.access], 1)
    result = _whole(
        "nc_match_replace8", "vector", [data, vals], list(data.shape), meaning, mask, result_type(dtype, dst, data), dst, name
    )
    if dst is None and dst_idx is not None:
        result.access  # noqa: B018
    return result


@public
def nc_stream_shuffle(src: Tile, dst: Tile, shuffle_mask: Sequence[int], *, dtype: Any = None, mask: Any = None) -> Tile:
    """Partitions of each group of 32 change places: partition i of dst is shuffle_mask[i] of src; 255 leaves it."""
    check_dtype("nc_stream_shuffle", dtype)
    order = [int(i) for i in shuffle_mask]
    if len(order) != 32 or any(not (0 <= i < 32 or i == 255) for i in order):
        raise InvalidArgument("nc_stream_shuffle: shuffle_mask is 32 partitions (or 255) of 32")
    recorder = current()

    def meaning(x: np.ndarray) -> np.ndarray:
        out = recorder.kernel.array(fit(dst.access, list(src.shape))).copy()
        for start in range(0, x.shape[0], 32):
            for i, other in enumerate(order):
                if other != 255 and start + i < out.shape[0] and start + other < x.shape[0]:
                    out[start + i] = x[start + other]
        return out

    return _whole("nc_stream_shuffle", "vector", [src], list(src.shape), meaning, mask, dst.type_name, dst, None)
