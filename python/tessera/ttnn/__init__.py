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
    allocate_tensor_on_device,
    clear_transfers,
    clone,
    close_device,
    concat,
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
    interleaved_to_sharded,
    move,
    num_cores_to_corerangeset,
    num_cores_to_corerangeset_in_subcoregrids,
    ones,
    open_device,
    pad,
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
from tessera.ttnn.core import ShardStrategy, create_sharded_memory_config, create_sharded_memory_config_
from tessera.ttnn.device import MeshDevice, manage_device
from tessera.ttnn.tensors import as_tensor, from_numpy, from_torch, is_tensor_storage_on_device, to_numpy, to_torch

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
    "BufferType",
    "CloseDevice",
    "Conv2dConfig",
    "CoreCoord",
    "CoreGrid",
    "CoreRange",
    "CoreRangeSet",
    "CreateDevice",
    "DRAM_MEMORY_CONFIG",
    "DataType",
    "Device",
    "DisableMemoryReports",
    "EnableMemoryReports",
    "GetNumAvailableDevices",
    "L1_BLOCK_SHARDED_MEMORY_CONFIG",
    "L1_HEIGHT_SHARDED_MEMORY_CONFIG",
    "L1_MEMORY_CONFIG",
    "L1_WIDTH_SHARDED_MEMORY_CONFIG",
    "Layout",
    "MemoryConfig",
    "MemoryView",
    "MeshDevice",
    "NdShardSpec",
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
    "allocate_tensor_on_device",
    "as_tensor",
    "bfloat16",
    "bfloat4_b",
    "bfloat8_b",
    "clear_transfers",
    "clone",
    "close_device",
    "concat",
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
    "get_dram_alignment",
    "get_l1_alignment",
    "get_max_worker_l1_unreserved_size",
    "get_memory_view",
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
