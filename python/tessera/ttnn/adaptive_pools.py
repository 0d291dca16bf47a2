"""Pools whose windows follow from the size of their result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera import _tessera
from tessera._tessera import InvalidArgument, MemoryConfig, Tensor, TensorMemoryLayout


def _windows(op: str, extent: int, count: int) -> tuple[int, int, int, int]:
    """Kernel, stride and padding before and behind: windows at the ends may reach over the edge, those between are alike."""
    if count < 1:
        raise InvalidArgument(f"{op}: a result of extent {count} is not possible")
    starts = [i * extent // count for i in range(count)]
    sizes = [-(-(i + 1) * extent // count) - starts[i] for i in range(count)]
    kernel = max(sizes)
    before, behind = kernel - sizes[0], kernel - sizes[-1] if count > 1 else 0
    places = [-before, *starts[1:]]
    steps = {b - a for a, b in zip(places, places[1:], strict=False)}
    if len(steps) > 1 or any(size != kernel for size in sizes[1:-1]):
        raise InvalidArgument(f"{op}: windows of {extent} pixels for {count} results are not alike: {sizes}, at {starts}")
    return kernel, steps.pop() if steps else 1, before, behind


def _pooled(op: str, pool: Any, x: Tensor, height: int, width: int, size: Sequence[int], **how: Any) -> Tensor:
    if len(size) != 2:
        raise InvalidArgument(f"{op}: output_size is a height and a width, not {list(size)}")
    kernel_h, stride_h, top, bottom = _windows(op, height, size[0])
    kernel_w, stride_w, left, right = _windows(op, width, size[1])
    return pool(
        input_tensor=x, input_h=height, input_w=width, kernel_size=[kernel_h, kernel_w], stride=[stride_h, stride_w],
        padding=[top, bottom, left, right], **how,
    )  # fmt: skip


def adaptive_avg_pool2d(
    input_tensor: Tensor,
    batch_size: int,
    input_h: int,
    input_w: int,
    channels: int,
    output_size: Sequence[int],
    *,
    memory_config: MemoryConfig | None = None,
    dram_slice_config: Any = None,
    applied_shard_scheme: TensorMemoryLayout | None = None,
    compute_kernel_config: Any = None,
    deallocate_input: bool = False,
    reallocate_output: bool = True,
) -> Tensor:
    """The mean of each of so many windows; pixels beyond the edge do not count."""
    return _pooled(
        "adaptive_avg_pool2d", _tessera.avg_pool2d, input_tensor, input_h, input_w, output_size, batch_size=batch_size,
        channels=channels, count_include_pad=False, memory_config=memory_config, dram_slice_config=dram_slice_config,
        applied_shard_scheme=applied_shard_scheme, compute_kernel_config=compute_kernel_config,
        deallocate_input=deallocate_input, reallocate_halo_output=reallocate_output,
    )  # fmt: skip


def adaptive_max_pool2d(
    input_tensor: Tensor,
    batch_size: int,
    input_h: int,
    input_w: int,
    channels: int,
    output_size: Sequence[int],
    *,
    memory_config: MemoryConfig | None = None,
    dram_slice_config: Any = None,
    applied_shard_scheme: TensorMemoryLayout | None = None,
    deallocate_input: bool = False,
    reallocate_output: bool = True,
) -> Tensor:
    """The largest of each of so many windows."""
    return _pooled(
        "adaptive_max_pool2d", _tessera.max_pool2d, input_tensor, input_h, input_w, output_size, batch_size=batch_size,
        channels=channels, dilation=[1, 1], memory_config=memory_config, dram_slice_config=dram_slice_config,
        applied_shard_scheme=applied_shard_scheme, deallocate_input=deallocate_input, reallocate_halo_output=reallocate_output,
    )  # fmt: skip


__all__ = ["adaptive_avg_pool2d", "adaptive_max_pool2d"]
