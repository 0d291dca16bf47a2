"""The part of TTNN's Python API that Tessera has: tensors, memory configs and data movement on cards in software.

Scripts written for ttnn run with `python -m tessera.compat script.py`, or after `import tessera.compat`.
"""

from __future__ import annotations

from tessera import _tessera as _ttnn
from tessera._tessera import (
    Arch,
    BufferType,
    CloseDevice,
    Conv2dConfig,
    Conv2dSliceConfig,
    CoreCoord,
    CoreGrid,
    CoreRange,
    CoreRangeSet,
    CreateDevice,
    DataType,
    Device,
    DisableMemoryReports,
    EnableMemoryReports,
    GetNumAvailableDevices,
    Layout,
    MathFidelity,
    MemoryConfig,
    MemoryView,
    NdShardSpec,
    PaddingMode,
    Shape,
    ShardDistributionStrategy,
    ShardOrientation,
    ShardShapeAlignment,
    ShardSpec,
    StorageType,
    Tensor,
    TensorMemoryLayout,
    TensorSpec,
    Tile,
    WormholeComputeKernelConfig,
    allocate_tensor_on_device,
    clear_transfers,
    clone,
    close_device,
    concat,
    conv2d,
    conv_transpose2d,
    copy_host_to_device_tensor,
    corerange_to_cores,
    deallocate,
    default_machine,
    dump_device_memory_state,
    empty,
    from_device,
    full,
    get_arch_name,
    get_dram_alignment,
    get_l1_alignment,
    get_max_worker_l1_unreserved_size,
    get_memory_view,
    init_device_compute_kernel_config,
    interleaved_to_sharded,
    move,
    num_cores_to_corerangeset,
    num_cores_to_corerangeset_in_subcoregrids,
    ones,
    open_device,
    pad,
    prepare_conv_bias,
    prepare_conv_weights,
    reallocate,
    relu,
    reshape,
    reshard,
    set_default_machine,
    sharded_to_interleaved,
    slice,
    synchronize_device,
    tilize,
    to_device,
    to_dtype,
    to_layout,
    to_memory_config,
    transfers,
    typecast,
    untilize,
    zeros,
)
from tessera.ttnn import device
from tessera.ttnn.conv import get_conv_output_dim
from tessera.ttnn.core import ShardStrategy, create_sharded_memory_config, create_sharded_memory_config_
from tessera.ttnn.device import MeshDevice, manage_device
from tessera.ttnn.tensors import as_tensor, from_numpy, from_torch, is_tensor_storage_on_device, to_numpy, to_torch

BlackholeComputeKernelConfig = DeviceComputeKernelConfig = WormholeComputeKernelConfig
Op2DSliceConfig = Conv2dSliceConfig
Conv2dL1Full = Conv2dSliceConfig.SliceTypeEnum.L1Full
Conv2dDRAMSliceHeight = Op2DDRAMSliceHeight = Conv2dSliceConfig.SliceTypeEnum.DRAMSliceHeight
Conv2dDRAMSliceWidth = Op2DDRAMSliceWidth = Conv2dSliceConfig.SliceTypeEnum.DRAMSliceWidth
Conv2dL1FullSliceConfig = Op2DL1FullSliceConfig = Conv2dSliceConfig(slice_type=Conv2dL1Full)

bfloat16 = DataType.BFLOAT16
float32 = DataType.FLOAT32
float16 = DataType.FLOAT16  # an addition of ours
bfloat8_b = DataType.BFLOAT8_B
bfloat4_b = DataType.BFLOAT4_B
uint8 = DataType.UINT8
uint16 = DataType.UINT16
uint32 = DataType.UINT32
int32 = DataType.INT32

ROW_MAJOR_LAYOUT = Layout.ROW_MAJOR
TILE_LAYOUT = Layout.TILE
TILE_SIZE = 32

DRAM_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.INTERLEAVED, BufferType.DRAM)
L1_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.INTERLEAVED, BufferType.L1)
# Wishes without shards, which operations fill in.
L1_HEIGHT_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)
L1_WIDTH_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1)
L1_BLOCK_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1)

__all__ = [
    "Arch",
    "BlackholeComputeKernelConfig",
    "BufferType",
    "CloseDevice",
    "Conv2dConfig",
    "Conv2dDRAMSliceHeight",
    "Conv2dDRAMSliceWidth",
    "Conv2dL1Full",
    "Conv2dL1FullSliceConfig",
    "Conv2dSliceConfig",
    "CoreCoord",
    "CoreGrid",
    "CoreRange",
    "CoreRangeSet",
    "CreateDevice",
    "DRAM_MEMORY_CONFIG",
    "DataType",
    "Device",
    "DeviceComputeKernelConfig",
    "DisableMemoryReports",
    "EnableMemoryReports",
    "GetNumAvailableDevices",
    "L1_BLOCK_SHARDED_MEMORY_CONFIG",
    "L1_HEIGHT_SHARDED_MEMORY_CONFIG",
    "L1_MEMORY_CONFIG",
    "L1_WIDTH_SHARDED_MEMORY_CONFIG",
    "Layout",
    "MathFidelity",
    "MemoryConfig",
    "MemoryView",
    "MeshDevice",
    "NdShardSpec",
    "Op2DDRAMSliceHeight",
    "Op2DDRAMSliceWidth",
    "Op2DL1FullSliceConfig",
    "Op2DSliceConfig",
    "PaddingMode",
    "ROW_MAJOR_LAYOUT",
    "Shape",
    "ShardDistributionStrategy",
    "ShardOrientation",
    "ShardShapeAlignment",
    "ShardSpec",
    "ShardStrategy",
    "StorageType",
    "TILE_LAYOUT",
    "TILE_SIZE",
    "Tensor",
    "TensorMemoryLayout",
    "TensorSpec",
    "Tile",
    "WormholeComputeKernelConfig",
    "allocate_tensor_on_device",
    "as_tensor",
    "bfloat16",
    "bfloat4_b",
    "bfloat8_b",
    "clear_transfers",
    "clone",
    "close_device",
    "concat",
    "conv2d",
    "conv_transpose2d",
    "copy_host_to_device_tensor",
    "corerange_to_cores",
    "create_sharded_memory_config",
    "create_sharded_memory_config_",
    "deallocate",
    "default_machine",
    "device",
    "dump_device_memory_state",
    "empty",
    "float16",
    "float32",
    "from_device",
    "from_numpy",
    "from_torch",
    "full",
    "get_arch_name",
    "get_conv_output_dim",
    "get_dram_alignment",
    "get_l1_alignment",
    "get_max_worker_l1_unreserved_size",
    "get_memory_view",
    "init_device_compute_kernel_config",
    "int32",
    "interleaved_to_sharded",
    "is_tensor_storage_on_device",
    "manage_device",
    "move",
    "num_cores_to_corerangeset",
    "num_cores_to_corerangeset_in_subcoregrids",
    "ones",
    "open_device",
    "pad",
    "prepare_conv_bias",
    "prepare_conv_weights",
    "reallocate",
    "relu",
    "reshape",
    "reshard",
    "set_default_machine",
    "sharded_to_interleaved",
    "slice",
    "synchronize_device",
    "tilize",
    "to_device",
    "to_dtype",
    "to_layout",
    "to_memory_config",
    "to_numpy",
    "to_torch",
    "transfers",
    "typecast",
    "uint16",
    "uint32",
    "uint8",
    "untilize",
    "zeros",
]

# Tracebacks and help() name what people import, not where it is compiled.
for _name in __all__:
    _value = globals()[_name]
    if isinstance(_value, type) and _value.__module__ == _ttnn.__name__:
        _value.__module__ = __name__
del _name, _value
