"""The instructions, under the module that some kernels import them from."""

from tessera.nki.isa._activation import activation, activation_reduce, tensor_scalar_reduce
from tessera.nki.isa._dma import dma_copy, dma_transpose
from tessera.nki.isa._gather import local_gather, max8, nc_find_index8, nc_match_replace8, nc_stream_shuffle
from tessera.nki.isa._matmul import nc_matmul, nc_transpose
from tessera.nki.isa._passes import (
    memset,
    reciprocal,
    scalar_tensor_tensor,
    tensor_copy,
    tensor_copy_dynamic_dst,
    tensor_copy_dynamic_src,
    tensor_scalar,
    tensor_tensor,
)
from tessera.nki.isa._reduce import bn_aggr, bn_stats, tensor_partition_reduce, tensor_reduce
from tessera.nki.isa._scan import tensor_tensor_scan
from tessera.nki.isa._select import affine_select, dropout, iota, range_select, select_reduce, tensor_copy_predicated

__all__ = [
    "activation",
    "activation_reduce",
    "affine_select",
    "bn_aggr",
    "bn_stats",
    "dma_copy",
    "dma_transpose",
    "dropout",
    "iota",
    "local_gather",
    "max8",
    "memset",
    "nc_find_index8",
    "nc_match_replace8",
    "nc_matmul",
    "nc_stream_shuffle",
    "nc_transpose",
    "range_select",
    "reciprocal",
    "scalar_tensor_tensor",
    "select_reduce",
    "tensor_copy",
    "tensor_copy_dynamic_dst",
    "tensor_copy_dynamic_src",
    "tensor_copy_predicated",
    "tensor_partition_reduce",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_scalar_reduce",
    "tensor_tensor",
    "tensor_tensor_scan",
]
