"""Instructions of the DMA engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera._tessera import InvalidArgument
from tessera.nki import _dma, _ops
from tessera.nki._calls import public
from tessera.nki._dtypes import type_name
from tessera.nki._instruction import given, named_location, with_dst
from tessera.nki._recorder import current
from tessera.nki._tile import Pending, Tile, _of_base
from tessera.nki.isa.constants import Engine, dge_mode, dma_engine, gpsimd_engine, oob_mode, scalar_engine, unknown_engine


@public
def dma_copy(
    dst: Tile,
    src: Tile,
    *,
    mask: Any = None,
    dst_rmw_op: Any = None,
    oob_mode: oob_mode = oob_mode.error,
    dge_mode: dge_mode = dge_mode.unknown,
    engine: Engine = unknown_engine,
    name: str | None = None,
) -> None:
    """dst = src, converted; with `dst_rmw_op` dst = op(dst, src)."""
    from tessera.nki.isa import constants

    named_location(name)
    if not isinstance(dge_mode, constants.dge_mode):
        raise InvalidArgument(f"dma_copy: {dge_mode!r} is no nisa.dge_mode")
    if engine not in (unknown_engine, dma_engine, gpsimd_engine, scalar_engine, constants.vector_engine, constants.tensor_engine):
        raise InvalidArgument(f"dma_copy: {engine!r} issues no copies")
    if not isinstance(dst, Tile) or not isinstance(src, Tile):
        raise InvalidArgument("dma_copy goes from a tile or tensor to another one")
    recorder, location = current(), current().locate()
    op = None if dst_rmw_op is None else _ops.op_name(dst_rmw_op)
    skip = oob_mode is constants.oob_mode.skip
    recorder.write(_of_base(dst), location, lambda: _dma.transfer(dst, src, mask, op, skip))


@with_dst(1)
def dma_transpose(
    src: Tile,
    *,
    axes: Sequence[int] | None = None,
    mask: Any = None,
    dtype: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """Turns a tensor on its way: [a, b] to [b, a], three dimensions to (2, 1, 0), four to (3, 1, 2, 0)."""
    named_location(name)
    rank = src.ndim
    order = list(axes) if axes is not None else {2: [1, 0], 3: [2, 1, 0], 4: [3, 1, 2, 0]}.get(rank)
    if order is None or sorted(order) != list(range(rank)):
        raise InvalidArgument(f"dma_transpose: axes {axes} of a tensor of {rank} dimensions")
    shape = [src.shape[d] for d in order]
    result = Pending(
        current(),
        lambda to: _dma.transfer(to, Tile(src.recorder, src.access.permuted(order)), mask),
        shape,
        type_name(dtype or src.dtype),
        "sbuf",
        [src],
        "turned",
        mask is False,
    )
    return given(dst, result)
