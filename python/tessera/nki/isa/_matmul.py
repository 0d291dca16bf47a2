"""Instructions of the PE array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera._tessera import InvalidArgument
from tessera.nki._calls import public, refuse
from tessera.nki._dtypes import type_name
from tessera.nki._index import resolved, volume
from tessera.nki._instruction import given, is_nothing, named_location, sizes_within, with_dst
from tessera.nki._recorder import current
from tessera.nki._tile import Pending, Product, Tile, fit
from tessera.nki.isa.constants import Engine, engine_name, matmul_perf_mode, unknown_engine


def _check_onezero(tile: Tile, which: str) -> None:
    if not tile.recorder.values:
        return
    numbers = tile.recorder.kernel.array(tile.access)
    if not ((numbers == 0) | (numbers == 1)).all():
        raise InvalidArgument(f"nc_matmul: is_{which}_onezero, but '{tile.access.name}' has other numbers than 0 and 1")


@public
def nc_matmul(
    *tiles: Tile,
    stationary: Tile | None = None,
    moving: Tile | None = None,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    tile_position: Sequence[int] = (),
    tile_size: Sequence[int] = (),
    perf_mode: Any = matmul_perf_mode.none,
    mask: Any = None,
    dst: Tile | None = None,
    accumulate: bool | None = None,
    name: str | None = None,
) -> Any:
    """(stationary, moving) gives a product; (dst, stationary, moving) puts it there. Without `accumulate` the first
    product that goes to a place of PSUM overwrites it and later ones are added."""
    operands = [*tiles, *(each for each in (stationary, moving) if each is not None)]
    if len(operands) == 3 and dst is None:
        dst, *operands = operands
    if len(operands) != 2 or not all(isinstance(each, Tile) for each in operands):
        raise InvalidArgument(f"nc_matmul takes a stationary and a moving operand, not {len(operands)} tiles")
    named_location(name)
    refuse("nc_matmul", tile_position=(tuple(tile_position), ()), tile_size=(tuple(tile_size), ()))
    mode = getattr(perf_mode, "value", perf_mode) or "none"
    if mode not in ("none", "double_row", "double_row_gen3"):
        raise InvalidArgument(f"nc_matmul: perf_mode={perf_mode!r} is not simulated; there are none and double_row")
    recorder, mask, (left, right) = current(), resolved(mask), operands
    kernel = recorder.kernel
    double = mode != "none"
    if double and (left.ndim < 3 or right.ndim < 3 or left.shape[1] != 2 or right.shape[1] != 2):
        raise InvalidArgument(
            f"nc_matmul: double rows are [k, 2, m] and [k, 2, n], not {list(left.shape)} and {list(right.shape)}"
        )
    if mask is not False:
        for tile, flag, which in ((left, is_stationary_onezero, "stationary"), (right, is_moving_onezero, "moving")):
            if flag:
                _check_onezero(tile, which)
        if is_transpose and type_name(left.dtype) != type_name(right.dtype):
            raise InvalidArgument("nc_matmul: is_transpose moves numbers as they are, so both operands have one type")
    columns = list(right.shape[2:] if double else right.shape[1:])
    shape = [volume(left.shape[2:] if double else left.shape[1:]), *columns]

    def run(target: Tile) -> None:
        to = fit(target.access, shape)
        if mask is not None:
            box = mask.box(len(shape))
            if box is None:
                raise InvalidArgument("nc_matmul: a mask is a box of the result")
            if is_nothing(box, shape):
                return
            if sizes_within(box, shape) != shape:
                raise InvalidArgument("nc_matmul: a mask over part of the result is not simulated: cut the operands")
        if not double:
            kernel.nc_matmul(to, left.access, right.access, product.how)
            return
        for row in range(2):
            how = product.how if row == 0 else "add"
            kernel.nc_matmul(to, left.access.at(1, row), right.access.at(1, row), how)

    product = Product(recorder, run, shape, "float32", "psum", [left, right], "product", mask is False)
    if dst is None:
        if accumulate:
            raise InvalidArgument("nc_matmul: accumulate needs dst: what is added to?")
        return product
    product.into(dst, "automatic" if accumulate is None else "add" if accumulate else "overwrite")
    return dst


@with_dst(1)
def nc_transpose(
    data: Tile,
    *,
    mask: Any = None,
    dtype: Any = None,
    engine: Engine = unknown_engine,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """[p, f...] to [f, p]."""
    named_location(name)
    recorder, mask = current(), resolved(mask)
    kernel = recorder.kernel
    columns = volume(data.shape[1:])
    small = data.shape[0] <= 32 and columns <= 32
    unit = engine_name(engine, "vector" if mask is not False and data.memory == "psum" and small else "tensor")
    shape = [columns, data.shape[0]]
    if mask is not None and mask is not False and data.ndim != 2:
        raise InvalidArgument("nc_transpose: a mask is over two dimensions")

    def run(target: Tile) -> None:
        to, source = fit(target.access, shape), data.access if mask is None else None
        if mask is not None:
            box = mask.box(2)
            if box is None:
                raise InvalidArgument("nc_transpose: a mask is a box")
            if is_nothing(box, data.shape):
                return
            source, to = data.cut(box), Tile(recorder, to).cut(box[::-1])
        kernel.nc_transpose(to, source, unit)

    memory = "psum" if unit == "tensor" else "sbuf"
    return given(dst, Pending(recorder, run, shape, type_name(dtype or data.dtype), memory, [data], "turned", mask is False))
