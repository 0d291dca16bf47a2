"""Convolutions of rows, and sizes of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera import _tessera
from tessera._tessera import Conv2dSliceConfig, DataType, Device, InvalidArgument, MemoryConfig, StorageType, Tensor


def get_conv_output_dim(input: int, window: int, stride: int = 1, pad: int = 0, dilation: int = 1) -> int:
    """How many places a window has along one dimension."""
    return (input + 2 * pad - dilation * (window - 1) - 1) // stride + 1


def _shaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The same elements under another shape, on the device or on the host."""
    if tensor.storage_type() == StorageType.DEVICE:
        return _tessera.reshape(tensor, list(shape))
    values = tensor.to_numpy().reshape(shape)
    return Tensor(values, tensor.dtype, None, tensor.layout, None, None, None, None, None)


def conv1d(
    *,
    input_tensor: Tensor,
    weight_tensor: Tensor,
    device: Device,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_length: int,
    kernel_size: int,
    stride: int = 1,
    padding: int | Sequence[int] = 0,
    dilation: int = 1,
    groups: int = 1,
    dtype: DataType | None = None,
    bias_tensor: Tensor | None = None,
    conv_config: Any = None,
    compute_config: Any = None,
    memory_config: MemoryConfig | None = None,
    slice_config: Any = None,
    return_output_dim: bool = False,
    return_weights_and_bias: bool = False,
) -> Any:
    """conv2d of rows, [batch, length, channels], with weights [out, in / groups, kernel]; padding is both sides' or (left, right)."""
    if slice_config is not None and slice_config.slice_type == Conv2dSliceConfig.SliceTypeEnum.DRAMSliceHeight:
        raise InvalidArgument("conv1d: there is one row only, which cannot be cut in height; slices of its width can be had")
    left, right = (padding, padding) if isinstance(padding, int) else padding
    rows = input_tensor if len(input_tensor.shape) == 4 else _shaped(input_tensor, (batch_size, 1, input_length, in_channels))
    weight = weight_tensor
    if len(weight.shape) == 3:
        weight = _shaped(weight, (weight.shape[0], weight.shape[1], 1, weight.shape[2]))
    y, (_, length), prepared = _tessera.conv2d(
        input_tensor=rows, weight_tensor=weight, device=device, in_channels=in_channels, out_channels=out_channels,
        batch_size=batch_size, input_height=1, input_width=input_length, kernel_size=(1, kernel_size), stride=(1, stride),
        padding=(0, 0, left, right), dilation=(1, dilation), groups=groups, dtype=dtype, bias_tensor=bias_tensor,
        conv_config=conv_config, compute_config=compute_config, memory_config=memory_config, slice_config=slice_config,
        return_output_dim=True, return_weights_and_bias=True,
    )  # fmt: skip
    if not return_output_dim and not return_weights_and_bias:
        return y
    return (y, *((length,) if return_output_dim else ()), *((prepared,) if return_weights_and_bias else ()))


__all__ = ["conv1d", "get_conv_output_dim"]
