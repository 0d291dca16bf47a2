"""Operators of TTNN that are a few others, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera import _tessera as t
from tessera._tessera import CoreRangeSet, DataType, InvalidArgument, Layout, MemoryConfig, Shape, Tensor

_Config = MemoryConfig | None

# --- copies and views ---


def copy(input_a: Tensor, input_b: Tensor) -> Tensor:
    """Writes the first tensor over the second one."""
    if input_a.dtype != input_b.dtype or input_a.layout != input_b.layout:
        raise InvalidArgument(
            f"copy: {input_a.dtype} in {input_a.layout} cannot be written over {input_b.dtype} in {input_b.layout}"
        )
    return t.identity(input_a, output_tensor=input_b)


def assign(
    input_tensor: Tensor,
    input_b: Tensor | None = None,
    *,
    memory_config: _Config = None,
    dtype: DataType | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """A copy elsewhere, of another dtype if one is given; or over a given tensor."""
    if input_b is not None:
        return copy(input_tensor, input_b)
    if memory_config is None:
        raise TypeError("assign(): memory_config, or a second tensor, must be given")
    if dtype is not None and dtype != input_tensor.dtype:
        if output_tensor is not None:
            raise InvalidArgument("assign: another dtype and a given output tensor do not go together")
        return t.to_memory_config(t.typecast(input_tensor, dtype), memory_config)
    if output_tensor is not None:
        return copy(input_tensor, output_tensor)
    return t.clone(input_tensor, memory_config=memory_config)


def view(input_tensor: Tensor, shape: Shape | Sequence[int]) -> Tensor:
    """reshape that shares the memory: refused where it would have to move elements."""
    y = t.reshape(input_tensor, shape if isinstance(shape, Shape) else list(shape))
    if y.is_allocated() and y.buffer_address() != input_tensor.buffer_address():
        t.deallocate(y)
        raise InvalidArgument(f"view: {input_tensor.shape} cannot be seen as {list(shape)} where it lies; use reshape")
    return y


def reshape_on_device(input_tensor: Tensor, W: int, Z: int, Y: int, X: int, *, memory_config: _Config = None) -> Tensor:
    return t.reshape(input_tensor, [W, Z, Y, X], memory_config=memory_config)


def logical_not_(input_tensor: Tensor, *, memory_config: _Config = None) -> Tensor:
    if memory_config is not None and memory_config != input_tensor.memory_config():
        raise InvalidArgument("logical_not_: the result stays where the tensor is")
    return t.logical_not(input_tensor, output_tensor=input_tensor)


def plus_one(input_tensor: Tensor, sub_core_grids: CoreRangeSet | None = None, skip_negative_entries: bool = False) -> Tensor:
    """Adds 1 to integers where they are; on demand not to those below 0."""
    if input_tensor.dtype not in (DataType.INT32, DataType.UINT32):
        raise InvalidArgument(f"plus_one: only INT32 and UINT32 are taken, not {input_tensor.dtype}")
    how = {} if sub_core_grids is None else {"sub_core_grids": sub_core_grids}
    step = t.ge(input_tensor, 0, **how) if skip_negative_entries else 1
    if input_tensor.layout == Layout.TILE:
        return t.add_(input_tensor, step, **how)
    return copy(t.add(input_tensor, step, **how), input_tensor)


def matmul_batched_weights(input_tensor_a: Tensor, input_tensors_b: Sequence[Tensor], **how: Any) -> list[Tensor]:
    """The products of one tensor with each of several; keywords are those of matmul."""
    return [t.matmul(input_tensor_a, each, **how) for each in input_tensors_b]


def repeat_bw(
    grad_tensor: Tensor, input_tensor: Tensor, shape: Shape | Sequence[int], *, memory_config: _Config = None
) -> list[Tensor]:
    """The gradient of what was repeated so many times along each dimension: the sum over its repetitions."""
    counts, extents = list(shape), list(input_tensor.shape)
    if len(counts) != len(extents) or any(n * e != g for n, e, g in zip(counts, extents, grad_tensor.shape)):
        raise InvalidArgument(f"repeat_bw: {extents} repeated {counts} times is not {list(grad_tensor.shape)}")
    y = grad_tensor
    for dim, count in enumerate(counts):
        if count == 1:
            continue
        parts = t.split(y, extents[dim], dim)
        y = parts[0]
        for part in parts[1:]:
            y = t.add(y, part)
    return [y if memory_config is None else t.to_memory_config(y, memory_config)]


def embedding_bw(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    output_gradient_tensor: Tensor,
    *,
    dtype: DataType | None = None,
    memory_config: _Config = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """The gradient of an embedding's table, [1, 1, rows, columns]: for each row the sum over where its index stands."""
    rows, columns = weight_tensor.shape[-2], weight_tensor.shape[-1]
    gradient = output_gradient_tensor
    count = 1
    for extent in input_tensor.shape:
        count *= extent
    if list(gradient.shape) != [1, 1, count, columns]:
        raise InvalidArgument(
            f"embedding_bw: the gradient must be [1, 1, {count}, {columns}], it is {list(gradient.shape)}"
        )
    if input_tensor.shape[-1] % 32 != 0:
        raise InvalidArgument(f"embedding_bw: {input_tensor.shape[-1]} indices in a row are no whole tiles of 32")
    if input_tensor.dtype != DataType.UINT32:
        input_tensor = t.typecast(input_tensor, DataType.UINT32)
    if gradient.dtype in (DataType.BFLOAT8_B, DataType.BFLOAT4_B):  # rows have no blocks
        dtype = gradient.dtype if dtype is None else dtype
        gradient = t.typecast(gradient, DataType.BFLOAT16)
    index = t.repeat(t.reshape(t.to_layout(input_tensor, Layout.ROW_MAJOR), [count, 1]), [1, columns])
    nothing = t.zeros([rows, columns], gradient.dtype, Layout.ROW_MAJOR, gradient.device())
    given = t.to_layout(t.reshape(gradient, [count, columns]), Layout.ROW_MAJOR)
    y = t.to_layout(t.scatter_add(nothing, 0, index, given), Layout.TILE, memory_config=memory_config)
    y = t.reshape(y, [1, 1, rows, columns])
    if dtype is not None and dtype != y.dtype:
        y = t.typecast(y, dtype)
    return y if output_tensor is None else copy(y, output_tensor)


# --- gates ---


def clamped_silu_glu(gate: Tensor, up: Tensor, limit: float, *, memory_config: _Config = None) -> Tensor:
    """silu of the gate, at most `limit`, times the other half between -limit and limit."""
    open_ = t.silu(t.clamp(gate, None, float(limit), memory_config=memory_config), memory_config=memory_config)
    return t.multiply(open_, t.clamp(up, -float(limit), float(limit), memory_config=memory_config), memory_config=memory_config)


def snake_beta(
    input_tensor: Tensor, alpha: Tensor, beta: Tensor, *, memory_config: _Config = None, output_tensor: Tensor | None = None
) -> Tensor:
    """x + sin(alpha x)^2 / beta, with one alpha and beta for each column or element, in one program."""
    for x in (input_tensor, alpha, beta):
        if x.dtype not in (DataType.BFLOAT16, DataType.FLOAT32) or x.dtype != input_tensor.dtype:
            raise InvalidArgument(
                f"snake_beta supports only one dtype, BFLOAT16 or FLOAT32, for all tensors, not {input_tensor.dtype} and {x.dtype}"
            )
        if x.layout != Layout.TILE:
            raise InvalidArgument("snake_beta: all tensors must be in Tile Layout")
    if alpha.shape[-1] != input_tensor.shape[-1] and tuple(alpha.shape) == tuple(beta.shape):
        if alpha.shape[-1] == 1:
            raise InvalidArgument(f"snake_beta requires input.W == alpha.W, got {input_tensor.shape[-1]} vs {alpha.shape[-1]}")
    return t.snake_beta(input_tensor, alpha, beta, memory_config=memory_config, output_tensor=output_tensor)


# --- integers by a scale and a zero point ---


def _fractions(op: str, x: Tensor) -> None:
    if x.dtype not in (DataType.BFLOAT16, DataType.FLOAT32, DataType.BFLOAT8_B):
        raise InvalidArgument(f"{op}: only floating numbers are taken, not {x.dtype}")


def _integers(op: str, x: Tensor) -> None:
    if x.dtype not in (DataType.INT32, DataType.UINT8):
        raise InvalidArgument(f"{op}: only INT32 and UINT8 are taken, not {x.dtype}")


def _scales(op: str, axis: int | None, *values: Any) -> None:
    if axis is not None or any(isinstance(v, Tensor) for v in values):
        raise InvalidArgument(f"{op}: one scale and one zero point for the whole tensor are supported, not one for each slice")


def quantize(
    input_tensor: Tensor,
    scale: float,
    zero_point: int,
    *,
    axis: int | None = None,
    dtype: DataType | None = None,
    memory_config: _Config = None,
) -> Tensor:
    """round(x / scale) + zero_point as int32."""
    _fractions("quantize", input_tensor)
    _scales("quantize", axis, scale, zero_point)
    wide = t.typecast(input_tensor, DataType.FLOAT32)
    steps = t.add(t.round(t.multiply(wide, 1.0 / scale)), float(zero_point), memory_config=memory_config)
    return t.typecast(steps, DataType.INT32 if dtype is None else dtype)


def dequantize(
    input_tensor: Tensor,
    scale: float,
    zero_point: int,
    *,
    axis: int | None = None,
    dtype: DataType | None = None,
    memory_config: _Config = None,
) -> Tensor:
    """(x - zero_point) scale, in bfloat16 unless another dtype is given."""
    _integers("dequantize", input_tensor)
    _scales("dequantize", axis, scale, zero_point)
    steps = t.subtract(t.typecast(input_tensor, DataType.FLOAT32), float(zero_point))
    y = t.multiply(steps, float(scale), memory_config=memory_config)
    return t.typecast(y, DataType.BFLOAT16 if dtype is None else dtype)


def requantize(
    input_tensor: Tensor,
    in_scale: float,
    in_zero_point: int,
    out_scale: float,
    out_zero_point: int,
    *,
    axis: int | None = None,
    dtype: DataType | None = None,
    memory_config: _Config = None,
) -> Tensor:
    """Integers of one scale and zero point as those of another."""
    _integers("requantize", input_tensor)
    _scales("requantize", axis, in_scale, in_zero_point, out_scale, out_zero_point)
    fractions = dequantize(input_tensor, in_scale, in_zero_point, dtype=DataType.FLOAT32)
    return quantize(fractions, out_scale, out_zero_point, dtype=dtype, memory_config=memory_config)


# --- gradients of several tensors ---


def assign_bw(grad_tensor: Tensor, input_tensor: Tensor, *, memory_config: _Config = None, input_a_grad: Tensor | None = None) -> list[Tensor]:
    if tuple(grad_tensor.shape) != tuple(input_tensor.shape):
        raise InvalidArgument(f"assign_bw: a gradient of shape {grad_tensor.shape} is none of {input_tensor.shape}")
    return [t.identity(grad_tensor, memory_config=memory_config, output_tensor=input_a_grad)]


def clamp_bw(
    grad_tensor: Tensor, input_tensor: Tensor, min: float | None = None, max: float | None = None, *, memory_config: _Config = None
) -> list[Tensor]:
    """The gradient where the input is between the bounds."""
    if min is None and max is None:
        raise InvalidArgument("clamp_bw: min or max must be given")
    y = grad_tensor
    if min is not None:
        y = t.multiply(y, t.ge(input_tensor, min), memory_config=memory_config)
    return [y if max is None else t.multiply(y, t.le(input_tensor, max), memory_config=memory_config)]


clip_bw = clamp_bw


def where_bw(
    grad_tensor: Tensor, input_tensor_a: Tensor, input_tensor_b: Tensor, input_tensor_c: Tensor, *, memory_config: _Config = None
) -> list[Tensor]:
    """Of the two tensors that `where` chose from."""
    for x in (input_tensor_b, input_tensor_c):
        if tuple(x.shape) != tuple(grad_tensor.shape):
            raise InvalidArgument(f"where_bw: a gradient of shape {grad_tensor.shape} is none of {x.shape}")
    return [
        t.where(input_tensor_a, grad_tensor, 0.0, memory_config=memory_config),
        t.where(input_tensor_a, 0.0, grad_tensor, memory_config=memory_config),
    ]


def concat_bw(
    grad_tensor: Tensor, input_tensor_a: Tensor, input_tensor_b: Tensor, dim: int = 0, *, memory_config: _Config = None
) -> list[Tensor]:
    return list(t.split(grad_tensor, [input_tensor_a.shape[dim], input_tensor_b.shape[dim]], dim, memory_config=memory_config))


def lerp_bw(
    grad_tensor: Tensor, input_tensor_a: Tensor, input_tensor_b: Tensor, input_tensor_c: Tensor, *, memory_config: _Config = None
) -> list[Tensor]:
    """Of start, end and weight of a + c (b - a)."""
    of_b = t.multiply(grad_tensor, input_tensor_c, memory_config=memory_config)
    for x in (input_tensor_a, input_tensor_b):
        if tuple(x.shape) != tuple(of_b.shape):
            raise InvalidArgument(f"lerp_bw: a gradient of shape {of_b.shape} is none of {x.shape}")
    of_c = t.multiply(grad_tensor, t.subtract(input_tensor_b, input_tensor_a), memory_config=memory_config)
    return [t.subtract(grad_tensor, of_b, memory_config=memory_config), of_b, of_c]


def addcmul_bw(
    grad_tensor: Tensor, input_tensor_a: Tensor, input_tensor_b: Tensor, input_tensor_c: Tensor, alpha: float, *, memory_config: _Config = None
) -> list[Tensor]:
    """Of a + alpha b c."""
    (of_a,) = assign_bw(grad_tensor, input_tensor_a, memory_config=memory_config)
    scaled = t.multiply(grad_tensor, float(alpha), memory_config=memory_config)
    return [of_a, *(t.multiply(scaled, x, memory_config=memory_config) for x in (input_tensor_c, input_tensor_b))]


def addcdiv_bw(
    grad_tensor: Tensor, input_tensor_a: Tensor, input_tensor_b: Tensor, input_tensor_c: Tensor, alpha: float, *, memory_config: _Config = None
) -> list[Tensor]:
    """Of a + alpha b / c."""
    (of_a,) = assign_bw(grad_tensor, input_tensor_a, memory_config=memory_config)
    of_b = t.div(t.multiply(grad_tensor, float(alpha), memory_config=memory_config), input_tensor_c, memory_config=memory_config)
    of_c = t.div(t.multiply(of_b, input_tensor_b, memory_config=memory_config), input_tensor_c, memory_config=memory_config)
    return [of_a, of_b, t.neg(of_c, memory_config=memory_config)]


__all__ = [
    "addcdiv_bw",
    "addcmul_bw",
    "assign",
    "assign_bw",
    "clamp_bw",
    "clamped_silu_glu",
    "clip_bw",
    "concat_bw",
    "copy",
    "dequantize",
    "embedding_bw",
    "lerp_bw",
    "logical_not_",
    "matmul_batched_weights",
    "plus_one",
    "quantize",
    "repeat_bw",
    "requantize",
    "reshape_on_device",
    "snake_beta",
    "view",
    "where_bw",
]
