"""Sizes of convolutions."""

from __future__ import annotations


def get_conv_output_dim(input: int, window: int, stride: int = 1, pad: int = 0, dilation: int = 1) -> int:
    """How many places a window has along one dimension."""
    return (input + 2 * pad - dilation * (window - 1) - 1) // stride + 1
