"""Convolutions: Conv2dConfiguration says which, TtConv2d runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tessera import ttnn
from tessera._tessera import _conv2d_by_channels
from tessera.cnn import torch_layers
from tessera.cnn.strategies import (
    AutoShardedStrategyConfiguration,
    ShardedStrategyConfiguration,
    SliceStrategy,
    channel_slices,
    sharding_strategy_to_conv2d_config,
    to_slice_config,
)


@dataclass(frozen=True)
class Conv2dConfiguration:
    input_height: int
    input_width: int
    in_channels: int
    out_channels: int
    batch_size: int
    kernel_size: tuple[int, int]
    weight: ttnn.Tensor
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] | tuple[int, int, int, int] = (0, 0)
    groups: int = 1
    dilation: tuple[int, int] = (1, 1)
    activation: Any = None
    bias: ttnn.Tensor | None = None

    activation_dtype: ttnn.DataType = ttnn.bfloat16  # that the input is meant to have; nothing converts it
    weights_dtype: ttnn.DataType = ttnn.bfloat16
    output_dtype: ttnn.DataType = ttnn.bfloat16
    output_layout: ttnn.Layout = ttnn.TILE_LAYOUT

    sharding_strategy: ShardedStrategyConfiguration = AutoShardedStrategyConfiguration()
    slice_strategy: SliceStrategy | None = None

    math_fidelity: ttnn.MathFidelity = ttnn.MathFidelity.LoFi
    fp32_dest_acc_en: bool = False
    packer_l1_acc: bool = False

    enable_act_double_buffer: bool = False
    enable_weights_double_buffer: bool = True

    deallocate_activation: bool = False
    reallocate_halo_output: bool = True

    config_tensors_in_dram: bool = False
    padding_mode: ttnn.PaddingMode = ttnn.PaddingMode.Zeros

    def __post_init__(self) -> None:
        self.validate_weights()
        if channel_slices(self.slice_strategy, self.in_channels, "Conv2d") > 1 and self.groups != 1:
            raise ValueError(f"Conv2d: channels of {self.groups} groups cannot be sliced")

    def validate_weights(self) -> None:
        """Refuses weights and biases that are not those of such a layer."""
        for name, tensor in (("weight", self.weight), ("bias", self.bias)):
            if not isinstance(tensor, ttnn.Tensor) and not (name == "bias" and tensor is None):
                raise ValueError(f"Conv2d: {name} is expected to be a ttnn.Tensor, not a {type(tensor).__name__}")
        if self.groups < 1 or self.in_channels % self.groups != 0:
            raise ValueError(f"Conv2d: {self.groups} groups do not divide {self.in_channels} input channels")
        expected = (self.out_channels, self.in_channels // self.groups, *torch_layers.pair(self.kernel_size))
        if tuple(self.weight.shape) != expected:
            raise ValueError(f"Conv2d: weight has shape {tuple(self.weight.shape)}, but this layer's is {expected}")
        row = (1, 1, 1, self.out_channels)
        if self.bias is not None and tuple(self.bias.shape) != row:
            raise ValueError(f"Conv2d: bias has shape {tuple(self.bias.shape)}, but this layer's is {row}")

    @classmethod
    def convert_torch_weight_and_bias_to_ttnn(
        cls, weight: Any, bias: Any = None, mesh_mapper: None = None
    ) -> tuple[ttnn.Tensor, ttnn.Tensor | None]:
        return torch_layers.weight_and_bias(weight, bias)

    @classmethod
    def with_random_weights(
        cls,
        input_height: int,
        input_width: int,
        in_channels: int,
        out_channels: int,
        batch_size: int,
        kernel_size: tuple[int, int],
        **options: Any,
    ) -> Conv2dConfiguration:
        """Weights and biases drawn from a normal distribution, different ones each time."""
        random = np.random.default_rng()
        shape = (out_channels, in_channels // options.get("groups", 1), *torch_layers.pair(kernel_size))
        weight, bias = torch_layers.weight_and_bias(
            random.standard_normal(shape, np.float32), random.standard_normal(out_channels, np.float32)
        )
        return cls(
            input_height, input_width, in_channels, out_channels, batch_size, kernel_size, weight, bias=bias, **options
        )

    @classmethod
    def from_torch(
        cls,
        torch_layer: Any,
        input_height: int,
        input_width: int,
        batch_size: int,
        mesh_mapper: None = None,
        **options: Any,
    ) -> Conv2dConfiguration:
        """Of a torch.nn.Conv2d, or of anything with its attributes."""
        weight, bias = torch_layers.weight_and_bias(torch_layer.weight, torch_layer.bias)
        described: dict[str, Any] = {
            "stride": torch_layers.pair(torch_layer.stride),
            "padding": torch_layers.padding(torch_layer),
            "padding_mode": torch_layers.padding_mode(torch_layer),
            "dilation": torch_layers.pair(torch_layer.dilation),
            "groups": torch_layer.groups,
        }
        return cls(
            input_height=input_height,
            input_width=input_width,
            in_channels=torch_layer.in_channels,
            out_channels=torch_layer.out_channels,
            batch_size=batch_size,
            kernel_size=torch_layers.pair(torch_layer.kernel_size),
            weight=weight,
            bias=bias,
            **(described | options),
        )

    @classmethod
    def from_model_args(
        cls, conv2d_args: Any, weights: ttnn.Tensor, bias: ttnn.Tensor | None = None, **options: Any
    ) -> Conv2dConfiguration:
        """Of arguments that preprocessing has noted down, such as ttnn.model_preprocessing.Conv2dArgs."""
        names = ("input_height", "input_width", "in_channels", "out_channels", "batch_size", "kernel_size", "stride", "padding", "groups", "dilation")  # fmt: skip
        noted = {name: getattr(conv2d_args, name) for name in names}
        return cls(weight=weights, bias=bias, **(noted | {"output_dtype": conv2d_args.dtype} | options))


# Fields of a configuration that Conv2dConfig has under the same name.
_SAME_NAME = (
    "weights_dtype",
    "activation",
    "output_layout",
    "deallocate_activation",
    "reallocate_halo_output",
    "enable_act_double_buffer",
    "enable_weights_double_buffer",
    "config_tensors_in_dram",
    "padding_mode",
)


def to_conv2d_config(configuration: Conv2dConfiguration) -> ttnn.Conv2dConfig:
    same: dict[str, Any] = {name: getattr(configuration, name) for name in _SAME_NAME}
    return ttnn.Conv2dConfig(**same, **sharding_strategy_to_conv2d_config(configuration.sharding_strategy))


def to_compute_config(configuration: Conv2dConfiguration, device: ttnn.Device) -> ttnn.WormholeComputeKernelConfig:
    return ttnn.init_device_compute_kernel_config(
        device.arch(),
        math_fidelity=configuration.math_fidelity,
        fp32_dest_acc_en=configuration.fp32_dest_acc_en,
        packer_l1_acc=configuration.packer_l1_acc,
    )


class TtConv2d:
    """A convolution on a device. Weights are prepared by the first call and kept for inputs that lie as that one did."""

    def __init__(self, configuration: Conv2dConfiguration, device: ttnn.Device) -> None:
        self.configuration = configuration
        self.device = device
        self.conv2d_config = to_conv2d_config(configuration)
        if ttnn.get_memory_view(device, ttnn.BufferType.L1_SMALL).total_bytes_per_bank == 0:
            self.conv2d_config.config_tensors_in_dram = True  # nowhere else to put them
        self.compute_config = to_compute_config(configuration, device)
        self.slice_config = to_slice_config(configuration.slice_strategy)
        self.num_slices = channel_slices(configuration.slice_strategy, configuration.in_channels, "Conv2d")
        self.weight, self.bias = configuration.weight, configuration.bias
        self._prepared_for: Any = None
        self.weight_slices: list[ttnn.Tensor] = []  # prepared

    def get_conv2d_kwargs(self) -> dict[str, Any]:
        c = self.configuration
        return {
            "device": self.device,
            "in_channels": c.in_channels,
            "out_channels": c.out_channels,
            "batch_size": c.batch_size,
            "input_height": c.input_height,
            "input_width": c.input_width,
            "kernel_size": torch_layers.pair(c.kernel_size),
            "stride": c.stride,
            "padding": c.padding,
            "dilation": c.dilation,
            "groups": c.groups,
            "dtype": c.output_dtype,
            "conv_config": self.conv2d_config,
            "compute_config": self.compute_config,
            "slice_config": self.slice_config,
        }

    def __call__(self, x: ttnn.Tensor) -> ttnn.Tensor:
        self._forget_unless_prepared_for(x)
        if self.num_slices > 1:
            return self._run_slices(x)
        output: ttnn.Tensor
        output, (self.weight, self.bias) = ttnn.conv2d(
            input_tensor=x,
            weight_tensor=self.weight,
            bias_tensor=self.bias,
            return_weights_and_bias=True,
            **self.get_conv2d_kwargs(),
        )
        return output

    def _forget_unless_prepared_for(self, x: ttnn.Tensor) -> None:
        """How weights are prepared depends on where the input lies and how."""
        place = (x.dtype, x.layout, x.memory_config())
        if place == self._prepared_for:
            return
        self._prepared_for = place
        self.weight_slices = []
        self.weight, self.bias = self.configuration.weight, self.configuration.bias

    def _run_slices(self, x: ttnn.Tensor) -> ttnn.Tensor:
        output, self.weight_slices, self.bias = _conv2d_by_channels(
            x, self.weight, self.num_slices, self.weight_slices, self.bias, **self.get_conv2d_kwargs()
        )
        return output
