"""Weights of single modules, made ready for a card."""

from __future__ import annotations

from typing import Any

import numpy


def _numpy(values: Any) -> numpy.ndarray:
    """Weights of a module as float64, whatever library they are from."""
    for step in ("detach", "cpu"):
        if hasattr(values, step):
            values = getattr(values, step)()
    return numpy.asarray(values, dtype=numpy.float64)


def _like(values: numpy.ndarray, example: Any) -> Any:
    """In the type that `example` is of: an array, or a tensor of PyTorch."""
    if type(example).__module__.split(".")[0] == "torch":
        import torch

        return torch.from_numpy(values.astype(numpy.float32)).to(example.dtype)
    dtype = example.dtype if isinstance(example, numpy.ndarray) else numpy.float32
    return values.astype(dtype)


def fold_batch_norm2d_into_conv2d(conv: Any, bn: Any) -> tuple[Any, Any]:
    """Weight and bias of a convolution that does what `conv` followed by `bn` does.

    Both are modules of PyTorch or anything with their attributes (weight, bias; weight, bias, running_mean, running_var, eps,
    track_running_stats); results are of the weight's own type.
    """
    if not getattr(bn, "track_running_stats", True) or bn.running_mean is None or bn.running_var is None:
        raise RuntimeError("BatchNorm2d must have track_running_stats=True to be folded into Conv2d")
    weight = _numpy(conv.weight)
    mean, variance = _numpy(bn.running_mean), _numpy(bn.running_var)
    if mean.shape != (weight.shape[0],) or variance.shape != mean.shape:
        raise ValueError(
            f"a batch norm of {mean.shape} means and {variance.shape} variances does not fit a convolution of {weight.shape[0]} channels"
        )
    gamma = numpy.ones_like(mean) if getattr(bn, "weight", None) is None else _numpy(bn.weight)
    beta = numpy.zeros_like(mean) if getattr(bn, "bias", None) is None else _numpy(bn.bias)
    bias = numpy.zeros_like(mean) if getattr(conv, "bias", None) is None else _numpy(conv.bias).reshape(-1)
    scale = gamma / numpy.sqrt(variance + bn.eps)
    folded = weight * scale.reshape((-1,) + (1,) * (weight.ndim - 1))
    shifted = (bias - mean) * scale + beta
    return _like(folded, conv.weight), _like(shifted, conv.weight)


def _detached(values: Any) -> Any:
    return values.detach() if hasattr(values, "detach") else values


def preprocess_linear_weight(weight: Any, *, dtype: Any, layout: Any = None, weights_mesh_mapper: Any = None) -> Any:
    """The weight of a Linear as a tensor of inputs x outputs."""
    from tessera import ttnn

    turned = _detached(weight).T
    turned = turned.contiguous() if hasattr(turned, "contiguous") else numpy.ascontiguousarray(turned)
    return ttnn.from_torch(turned, dtype=dtype, layout=layout or ttnn.TILE_LAYOUT, mesh_mapper=weights_mesh_mapper)


def preprocess_linear_bias(bias: Any, *, dtype: Any, layout: Any = None, weights_mesh_mapper: Any = None) -> Any:
    """The bias of a Linear as one row."""
    from tessera import ttnn

    row = _detached(bias).reshape((1, -1))
    return ttnn.from_torch(row, dtype=dtype, layout=layout or ttnn.TILE_LAYOUT, mesh_mapper=weights_mesh_mapper)


def preprocess_layernorm_parameter(parameter: Any, *, dtype: Any, layout: Any = None) -> Any:
    """The weight or bias of a LayerNorm as one row."""
    from tessera import ttnn

    return ttnn.from_torch(_detached(parameter).reshape((1, -1)), dtype=dtype, layout=layout or ttnn.TILE_LAYOUT)


def preprocess_embedding_weight(weight: Any, *, dtype: Any) -> Any:
    """The table of an Embedding, row by row."""
    from tessera import ttnn

    return ttnn.from_torch(_detached(weight), dtype=dtype)


__all__ = [
    "fold_batch_norm2d_into_conv2d",
    "preprocess_embedding_weight",
    "preprocess_layernorm_parameter",
    "preprocess_linear_bias",
    "preprocess_linear_weight",
]
