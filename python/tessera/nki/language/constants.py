"""Sizes and limits that kernels ask for."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera.nki._calls import public
from tessera.nki._dtypes import element_bytes, type_name
from tessera.nki._recorder import current, is_recording


class _TileSize:
    pmax = 128
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    psum_fmax = 512
    bn_stats_fmax = 512
    psum_min_align = 4
    sbuf_min_align = 1

    @property
    def total_available_sbuf_size(self) -> int:
        """Bytes of a partition."""
        return current().limits["sbuf_partition_bytes"] if is_recording() else 229_376


tile_size = _TileSize()


class fp32:  # noqa: N801
    min = float(np.finfo(np.float32).min)
    max = float(np.finfo(np.float32).max)


@public
def sizeinbytes(dtype: Any) -> int:
    return element_bytes(dtype)


class _Limits:
    def __init__(self, dtype: Any) -> None:
        word = type_name(dtype)
        largest = {
            "float32": float(np.finfo(np.float32).max),
            "bfloat16": float.fromhex("0x1.fep127"),
            "float16": 65504.0,
            "float8_e4m3": 240.0,
            "float8_e5m2": 57344.0,
        }
        if word not in largest:
            info = np.iinfo(word)
            self.max, self.min = float(info.max), float(info.min)
        else:
            self.max, self.min = largest[word], -largest[word]


@public
def finfo(dtype: Any) -> _Limits:
    return _Limits(dtype)
