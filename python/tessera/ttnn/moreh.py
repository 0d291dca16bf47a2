"""Operators of training that TTNN names moreh_*: sums, means, norms, products and softmax, and their gradients.

Each is made of the operators that a forward pass has. A given output is written over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera import _tessera as t
from tessera._tessera import DataType, Device, InvalidArgument, Layout, MemoryConfig, Shape, Tensor
from tessera.ttnn.composed import copy
from tessera.ttnn.creation import arange, full_like

_Config = MemoryConfig | None
_Dims = int | Sequence[int] | None


def _into(y: Tensor, output: Tensor | None) -> Tensor:
    return y if output is None else copy(y, output)


def _dims(dim: _Dims, rank: int) -> list[int]:
    dims = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    return [d + rank if d < 0 else d for d in dims]


def _kept(gradient: Tensor, shape: Sequence[int], dim: _Dims) -> Tensor:
    """A gradient of a reduction, with the reduced dimensions as 1."""
    dims = _dims(dim, len(shape))
    return t.reshape(gradient, [1 if d in dims else n for d, n in enumerate(shape)])


def _count(shape: Sequence[int], dim: _Dims) -> int:
    count = 1
    for d in _dims(dim, len(shape)):
        count *= shape[d]
    return count


# --- reductions ---


def moreh_sum(
    input: Tensor, dim: _Dims = None, *, keepdim: bool = False, output: Tensor | None = None, memory_config: _Config = None,
    compute_kernel_config: Any = None,
) -> Tensor:  # fmt: skip
    return _into(t.sum(input, dim, keepdim, memory_config=memory_config, compute_kernel_config=compute_kernel_config), output)


def moreh_mean(
    input: Tensor, *, dim: _Dims = None, keepdim: bool = False, divisor: int | None = None, output: Tensor | None = None,
    memory_config: _Config = None, compute_kernel_config: Any = None,
) -> Tensor:  # fmt: skip
    """The sum over how many there are, or over another divisor."""
    how = {"memory_config": memory_config, "compute_kernel_config": compute_kernel_config}
    if divisor is None:
        return _into(t.mean(input, dim, keepdim, **how), output)
    return _into(t.sum(input, dim, keepdim, scalar=1.0 / divisor, **how), output)


def moreh_abs_pow(
    input: Tensor, p: float, *, output: Tensor | None = None, memory_config: _Config = None
) -> Tensor:
    return t.pow(t.abs(input, memory_config=memory_config), float(p), memory_config=memory_config, output_tensor=output)


def moreh_norm(
    input: Tensor, p: float, *, dim: _Dims = None, keepdim: bool = False, output: Tensor | None = None,
    memory_config: _Config = None, compute_kernel_config: Any = None,
) -> Tensor:  # fmt: skip
    """(sum of |x|^p)^(1/p); the largest |x| for an infinite p, the smallest for -infinity, how many are not 0 for p = 0."""
    how = {"memory_config": memory_config, "compute_kernel_config": compute_kernel_config}
    if p in (float("inf"), float("-inf")):
        pick = t.max if p > 0 else t.min
        return _into(pick(t.abs(input), dim, keepdim, **how), output)
    if p == 0:
        return _into(t.sum(t.nez(input), dim, keepdim, **how), output)
    powers = t.sum(moreh_abs_pow(input, p), dim, keepdim, **how)
    return t.pow(powers, 1.0 / p, memory_config=memory_config, output_tensor=output)


def moreh_cumsum(input: Tensor, dim: int, *, output: Tensor | None = None, memory_config: _Config = None) -> Tensor:
    return t.cumsum(input, dim, out=output, memory_config=memory_config)


def moreh_cumsum_backward(
    output_grad: Tensor, dim: int, *, input_grad: Tensor | None = None, memory_config: _Config = None
) -> Tensor:
    return t.cumsum(output_grad, dim, reverse_order=True, out=input_grad, memory_config=memory_config)


def moreh_sum_backward(
    output_grad: Tensor, *, input: Tensor | None = None, dim: _Dims = None, keepdim: bool = False,
    input_grad: Tensor | None = None, memory_config: _Config = None,
) -> Tensor:  # fmt: skip
    """The gradient of a sum at every element that went into it; the shape is that of the input or of the gradient that is given."""
    like = input if input is not None else input_grad
    if like is None:
        raise InvalidArgument("moreh_sum_backward: the input, or a tensor for its gradient, must be given")
    gradient = output_grad if keepdim else _kept(output_grad, like.shape, dim)
    return _into(t.expand(gradient, list(like.shape), memory_config=memory_config), input_grad)


def moreh_mean_backward(
    output_grad: Tensor, *, dim: _Dims = None, keepdim: bool = False, input_grad_shape: Shape | Sequence[int] | None = None,
    input_grad: Tensor | None = None, memory_config: _Config = None,
) -> Tensor:  # fmt: skip
    shape = input_grad_shape if input_grad_shape is not None else None if input_grad is None else input_grad.shape
    if shape is None:
        raise InvalidArgument("moreh_mean_backward: the shape of the input, or a tensor for its gradient, must be given")
    gradient = output_grad if keepdim else _kept(output_grad, shape, dim)
    scaled = t.multiply(gradient, 1.0 / _count(shape, dim))
    return _into(t.expand(scaled, list(shape), memory_config=memory_config), input_grad)


# --- softmax ---


def _softmax(op: str, x: Tensor, dim: int, output: Tensor | None, config: _Config, compute: Any) -> Tensor:
    if op == "softmin":
        x = t.neg(x)
    y = t.softmax(x, dim, memory_config=config, compute_kernel_config=compute)
    return _into(t.log(y, memory_config=config) if op == "logsoftmax" else y, output)


def moreh_softmax(
    input_tensor: Tensor, dim: int, *, output_tensor: Tensor | None = None, memory_config: _Config = None,
    compute_kernel_config: Any = None,
) -> Tensor:  # fmt: skip
    return _softmax("softmax", input_tensor, dim, output_tensor, memory_config, compute_kernel_config)


def moreh_softmin(
    input_tensor: Tensor, dim: int, *, output_tensor: Tensor | None = None, memory_config: _Config = None,
    compute_kernel_config: Any = None,
) -> Tensor:  # fmt: skip
    return _softmax("softmin", input_tensor, dim, output_tensor, memory_config, compute_kernel_config)


def moreh_logsoftmax(
    input_tensor: Tensor, dim: int, *, output_tensor: Tensor | None = None, memory_config: _Config = None,
    compute_kernel_config: Any = None,
) -> Tensor:  # fmt: skip
    return _softmax("logsoftmax", input_tensor, dim, output_tensor, memory_config, compute_kernel_config)


def moreh_softmax_backward(
    output_tensor: Tensor, output_grad_tensor: Tensor, dim: int, *, input_grad_tensor: Tensor | None = None, memory_config: _Config = None
) -> Tensor:
    """y (g - sum of y g)."""
    weighted = t.sum(t.multiply(output_tensor, output_grad_tensor), dim, True)
    less = t.subtract(output_grad_tensor, weighted)
    return t.multiply(output_tensor, less, memory_config=memory_config, output_tensor=input_grad_tensor)


def moreh_softmin_backward(
    output_tensor: Tensor, output_grad_tensor: Tensor, dim: int, *, input_grad_tensor: Tensor | None = None, memory_config: _Config = None
) -> Tensor:
    y = moreh_softmax_backward(output_tensor, output_grad_tensor, dim)
    return t.neg(y, memory_config=memory_config, output_tensor=input_grad_tensor)


def moreh_logsoftmax_backward(
    output_tensor: Tensor, output_grad_tensor: Tensor, dim: int, *, input_grad_tensor: Tensor | None = None, memory_config: _Config = None
) -> Tensor:
    """g - exp(y) sum of g."""
    less = t.multiply(t.exp(output_tensor), t.sum(output_grad_tensor, dim, True))
    return t.subtract(output_grad_tensor, less, memory_config=memory_config, output_tensor=input_grad_tensor)


# --- products ---


def moreh_matmul(
    input: Tensor, other: Tensor, *, transpose_input: bool = False, transpose_other: bool = False, output: Tensor | None = None,
    bias: Tensor | None = None, memory_config: _Config = None, compute_kernel_config: Any = None,
) -> Tensor:  # fmt: skip
    how = {"transpose_a": transpose_input, "transpose_b": transpose_other, "memory_config": memory_config, "compute_kernel_config": compute_kernel_config}
    y = t.matmul(input, other, **how) if bias is None else t.linear(input, other, bias=bias, **how)
    return _into(y, output)


def moreh_bmm(
    input: Tensor, mat2: Tensor, *, output: Tensor | None = None, memory_config: _Config = None, compute_kernel_config: Any = None
) -> Tensor:
    if len(input.shape) != 3 or len(mat2.shape) != 3:
        raise InvalidArgument(f"moreh_bmm: both tensors must have 3 dimensions, they are {input.shape} and {mat2.shape}")
    return moreh_matmul(input, mat2, output=output, memory_config=memory_config, compute_kernel_config=compute_kernel_config)


def moreh_linear(
    input: Tensor, weight: Tensor, *, bias: Tensor | None = None, output: Tensor | None = None, memory_config: _Config = None,
    compute_kernel_config: Any = None,
) -> Tensor:  # fmt: skip
    """x weight^T + bias."""
    return moreh_matmul(
        input, weight, transpose_other=True, bias=bias, output=output, memory_config=memory_config, compute_kernel_config=compute_kernel_config
    )


def moreh_dot(
    input_tensor_a: Tensor, input_tensor_b: Tensor, *, output: Tensor | None = None, memory_config: _Config = None, compute_kernel_config: Any = None
) -> Tensor:
    """The sum of the products of two rows."""
    return moreh_matmul(
        input_tensor_a, input_tensor_b, transpose_other=True, output=output, memory_config=memory_config,
        compute_kernel_config=compute_kernel_config,
    )  # fmt: skip


def moreh_dot_backward(
    output_grad: Tensor, input: Tensor, other: Tensor, *, input_grad: Tensor | None = None, other_grad: Tensor | None = None,
    memory_config: _Config = None,
) -> list[Tensor | None]:  # fmt: skip
    """Of those rows whose gradients are to be written."""
    given = ((input_grad, other), (other_grad, input))
    return [None if to is None else t.multiply(x, output_grad, memory_config=memory_config, output_tensor=to) for to, x in given]


def moreh_matmul_backward(
    output_grad: Tensor, input_a: Tensor, input_b: Tensor, *, are_required_outputs: Sequence[bool] = (True, True),
    input_a_grad: Tensor | None = None, input_b_grad: Tensor | None = None, memory_config: _Config = None,
    compute_kernel_config: Any = None,
) -> list[Tensor | None]:  # fmt: skip
    """g b^T and a^T g, of tensors with the same batches."""
    if tuple(input_a.shape)[:-2] != tuple(input_b.shape)[:-2]:
        raise InvalidArgument(f"moreh_matmul_backward: batches of {input_a.shape} and {input_b.shape} differ, that is not supported")
    how = {"memory_config": memory_config, "compute_kernel_config": compute_kernel_config}
    of_a, of_b = are_required_outputs
    return [
        moreh_matmul(output_grad, input_b, transpose_other=True, output=input_a_grad, **how) if of_a else None,
        moreh_matmul(input_a, output_grad, transpose_input=True, output=input_b_grad, **how) if of_b else None,
    ]


def moreh_bmm_backward(
    output_grad: Tensor, input: Tensor, mat2: Tensor, *, are_required_outputs: Sequence[bool] = (True, True),
    input_grad: Tensor | None = None, mat2_grad: Tensor | None = None, compute_kernel_config: Any = None,
) -> list[Tensor | None]:  # fmt: skip
    return moreh_matmul_backward(
        output_grad, input, mat2, are_required_outputs=are_required_outputs, input_a_grad=input_grad, input_b_grad=mat2_grad,
        compute_kernel_config=compute_kernel_config,
    )  # fmt: skip


# --- full of a number, and counting ---


def moreh_full(
    shape: Sequence[int], fill_value: float, device: Device, *, dtype: DataType = DataType.BFLOAT16, layout: Layout = Layout.TILE,
    memory_config: _Config = None,
) -> Tensor:  # fmt: skip
    return t.full(list(shape), fill_value, dtype, layout, device, memory_config)


def moreh_full_like(
    input: Tensor, fill_value: float, dtype: DataType | None = None, layout: Layout | None = None, memory_config: _Config = None
) -> Tensor:
    return full_like(input, fill_value, dtype, layout, memory_config=memory_config)


def moreh_arange(
    start: float, end: float, step: float, device: Device, *, output: Tensor | None = None, untilize_out: bool = False,
    dtype: DataType = DataType.BFLOAT16, memory_config: _Config = None,
) -> Tensor:  # fmt: skip
    """start, start + step, ... below end, as a row [1, n] of tiles; in ROW_MAJOR with untilize_out [n]."""
    layout = Layout.ROW_MAJOR if untilize_out else Layout.TILE
    y = arange(start=start, end=end, step=step, dtype=dtype, device=device, memory_config=memory_config, layout=layout)  # type: ignore[arg-type]
    return _into(y if untilize_out else t.unsqueeze(y, 0), output)


__all__ = [name for name in dir() if name.startswith("moreh_")]
