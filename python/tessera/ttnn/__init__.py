"""The part of TTNN's Python API that Tessera has: tensors, memory configs, data movement and operators on cards in software.

Scripts written for ttnn run with `python -m tessera.compat script.py`, or after `import tessera.compat`.
"""

from __future__ import annotations

import sys

from tessera import _tessera as _ttnn
from tessera._tessera import (
    Arch,
    BcastOpDim,
    BcastOpMath,
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
    EmbeddingsType,
    EnableMemoryReports,
    GeluVariant,
    GetNumAvailableDevices,
    LayerNormDefaultProgramConfig,
    LayerNormShardedMultiCoreProgramConfig,
    Layout,
    LossReductionMode,
    MathFidelity,
    MatmulMultiCoreProgramConfig,
    MatmulMultiCoreReuseMultiCast1DProgramConfig,
    MatmulMultiCoreReuseMultiCastProgramConfig,
    MatmulMultiCoreReuseProgramConfig,
    MemoryConfig,
    MemoryView,
    MeshEvent,
    MeshTraceId,
    NdShardSpec,
    PaddingMode,
    SDPAProgramConfig,
    Shape,
    ShardDistributionStrategy,
    ShardOrientation,
    ShardShapeAlignment,
    ShardSpec,
    SoftmaxDefaultProgramConfig,
    SoftmaxShardedMultiCoreProgramConfig,
    StorageType,
    SubDevice,
    SubDeviceId,
    SubDeviceManagerId,
    Tensor,
    TensorMemoryLayout,
    TensorSpec,
    Tile,
    UnaryOpType,
    UnaryWithParam,
    WormholeComputeKernelConfig,
    allocate_tensor_on_device,
    allocate_tensor_on_host,
    avg_pool2d,
    bitcast,
    clear_transfers,
    clone,
    close_device,
    concat,
    conv2d,
    conv_transpose2d,
    copy_device_to_host_tensor,
    copy_host_to_device_tensor,
    corerange_to_cores,
    deallocate,
    default_machine,
    dump_device_memory_state,
    empty,
    fold,
    from_device,
    full,
    get_arch_name,
    get_dram_alignment,
    get_l1_alignment,
    get_max_worker_l1_unreserved_size,
    get_memory_view,
    global_avg_pool2d,
    init_device_compute_kernel_config,
    interleaved_to_sharded,
    linear,
    matmul,
    max_pool2d,
    move,
    num_cores_to_corerangeset,
    num_cores_to_corerangeset_in_subcoregrids,
    ones,
    open_device,
    pad,
    prepare_conv_bias,
    prepare_conv_weights,
    reallocate,
    reshape,
    reshard,
    set_default_machine,
    sharded_to_interleaved,
    slice,
    tilize,
    to_device,
    to_dtype,
    to_layout,
    to_memory_config,
    transfers,
    typecast,
    untilize,
    upsample,
    zeros,
)
from tessera.ttnn import (
    absent,
    adaptive_pools,
    comparison,
    complex_numbers,
    composed,
    device,
    distributed,
    dot_access,
    experimental,
    model_preprocessing,
    moreh,
    norm_configs,
    tensor_files,
    transformer,
    types,
)
from tessera.ttnn import queues as _queues
from tessera.ttnn.config import CONFIG, Config, manage_config
from tessera.ttnn.conv import conv1d, get_conv_output_dim
from tessera.ttnn.creation import arange, empty_like, full_like, ones_like, zeros_like
from tessera.ttnn.core import ShardStrategy, create_sharded_memory_config, create_sharded_memory_config_
from tessera.ttnn.device import (
    CloseDevices,
    CreateDevices,
    DispatchCoreAxis,
    DispatchCoreConfig,
    DispatchCoreType,
    GetDefaultDevice,
    GetNumPCIeDevices,
    GetPCIeDeviceID,
    SetDefaultDevice,
    get_device_ids,
    get_num_devices,
    get_num_pcie_devices,
    get_pcie_device_ids,
    manage_device,
)
from tessera.ttnn.facts import (
    SigmoidMode,
    ThrottleLevel,
    element_size,
    get_memory_config,
    grid_to_cores,
    has_storage_type_of,
    has_tile_padding,
    is_sharded,
    split_work_to_cores,
    tile_size,
)
from tessera.ttnn.group_norm import (
    create_group_norm_input_mask,
    create_group_norm_input_negative_mask,
    create_group_norm_weight_bias_rm,
    determine_expected_group_norm_sharded_config_and_grid_size,
    get_group_norm_cores_across_channel,
)
from tessera.ttnn.mesh import (
    ConcatMeshToTensor,
    MeshDevice,
    MeshShape,
    ReplicateTensorToMesh,
    ShardTensorToMesh,
    close_mesh_device,
    get_device_tensors,
    open_mesh_device,
)
from tessera.ttnn.queues import (
    begin_trace_capture,
    command_queue,
    end_trace_capture,
    event_synchronize,
    execute_trace,
    is_trace_capture_active,
    record_event,
    release_trace,
    synchronize_device,
    wait_for_event,
)
from tessera.ttnn.tensors import (
    as_tensor,
    from_numpy,
    from_torch,
    is_tensor_storage_on_device,
    to_numpy,
    to_torch,
    ttnn_dtype_to_torch_dtype,
)

BlackholeComputeKernelConfig = DeviceComputeKernelConfig = WormholeComputeKernelConfig
Op2DSliceConfig = Conv2dSliceConfig
Conv1dConfig = Conv2dConfig
Conv2dL1Full = Op2DL1Full = Conv2dSliceConfig.SliceTypeEnum.L1Full
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
DEVICE_STORAGE_TYPE = StorageType.DEVICE
# Whoever goes through all types goes through those of TTNN.
DataType._member_names_.remove("FLOAT16")

DRAM_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.INTERLEAVED, BufferType.DRAM)
L1_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.INTERLEAVED, BufferType.L1)
# Wishes without shards, which operations fill in.
L1_HEIGHT_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)
L1_WIDTH_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1)
L1_BLOCK_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1)

__all__ = [
    "CONFIG",
    "Config",
    "manage_config",
    "dot_access",
    "Arch",
    "BcastOpDim",
    "BcastOpMath",
    "BlackholeComputeKernelConfig",
    "BufferType",
    "CloseDevice",
    "CloseDevices",
    "ConcatMeshToTensor",
    "Conv1dConfig",
    "Conv2dConfig",
    "Conv2dDRAMSliceHeight",
    "Conv2dDRAMSliceWidth",
    "Conv2dL1Full",
    "Conv2dL1FullSliceConfig",
    "Conv2dSliceConfig",
    "DEVICE_STORAGE_TYPE",
    "EmbeddingsType",
    "CoreCoord",
    "CoreGrid",
    "CoreRange",
    "CoreRangeSet",
    "CreateDevice",
    "CreateDevices",
    "DRAM_MEMORY_CONFIG",
    "DataType",
    "Device",
    "DeviceComputeKernelConfig",
    "DisableMemoryReports",
    "DispatchCoreAxis",
    "DispatchCoreConfig",
    "DispatchCoreType",
    "EnableMemoryReports",
    "GeluVariant",
    "GetDefaultDevice",
    "GetNumAvailableDevices",
    "GetNumPCIeDevices",
    "GetPCIeDeviceID",
    "L1_BLOCK_SHARDED_MEMORY_CONFIG",
    "L1_HEIGHT_SHARDED_MEMORY_CONFIG",
    "L1_MEMORY_CONFIG",
    "L1_WIDTH_SHARDED_MEMORY_CONFIG",
    "LayerNormDefaultProgramConfig",
    "LayerNormShardedMultiCoreProgramConfig",
    "Layout",
    "LossReductionMode",
    "MathFidelity",
    "MatmulMultiCoreProgramConfig",
    "MatmulMultiCoreReuseMultiCast1DProgramConfig",
    "MatmulMultiCoreReuseMultiCastProgramConfig",
    "MatmulMultiCoreReuseProgramConfig",
    "MemoryConfig",
    "MemoryView",
    "MeshDevice",
    "MeshEvent",
    "MeshShape",
    "MeshTraceId",
    "NdShardSpec",
    "Op2DDRAMSliceHeight",
    "Op2DDRAMSliceWidth",
    "Op2DL1Full",
    "Op2DL1FullSliceConfig",
    "Op2DSliceConfig",
    "PaddingMode",
    "ROW_MAJOR_LAYOUT",
    "ReplicateTensorToMesh",
    "SDPAProgramConfig",
    "SetDefaultDevice",
    "Shape",
    "ShardDistributionStrategy",
    "ShardOrientation",
    "ShardShapeAlignment",
    "ShardSpec",
    "ShardStrategy",
    "ShardTensorToMesh",
    "SigmoidMode",
    "SoftmaxDefaultProgramConfig",
    "SoftmaxShardedMultiCoreProgramConfig",
    "StorageType",
    "SubDevice",
    "SubDeviceId",
    "SubDeviceManagerId",
    "TILE_LAYOUT",
    "TILE_SIZE",
    "Tensor",
    "TensorMemoryLayout",
    "TensorSpec",
    "ThrottleLevel",
    "Tile",
    "UnaryOpType",
    "UnaryWithParam",
    "WormholeComputeKernelConfig",
    "allocate_tensor_on_device",
    "allocate_tensor_on_host",
    "arange",
    "as_tensor",
    "avg_pool2d",
    "begin_trace_capture",
    "bfloat16",
    "bfloat4_b",
    "bfloat8_b",
    "bitcast",
    "clear_transfers",
    "clone",
    "close_device",
    "close_mesh_device",
    "command_queue",
    "concat",
    "conv1d",
    "conv2d",
    "conv_transpose2d",
    "copy_device_to_host_tensor",
    "copy_host_to_device_tensor",
    "corerange_to_cores",
    "create_group_norm_input_mask",
    "create_group_norm_input_negative_mask",
    "create_group_norm_weight_bias_rm",
    "create_sharded_memory_config",
    "create_sharded_memory_config_",
    "deallocate",
    "default_machine",
    "determine_expected_group_norm_sharded_config_and_grid_size",
    "device",
    "dump_device_memory_state",
    "element_size",
    "empty",
    "empty_like",
    "end_trace_capture",
    "event_synchronize",
    "execute_trace",
    "experimental",
    "float16",
    "float32",
    "fold",
    "from_device",
    "from_numpy",
    "from_torch",
    "full",
    "full_like",
    "get_arch_name",
    "get_conv_output_dim",
    "get_device_ids",
    "get_device_tensors",
    "get_dram_alignment",
    "get_group_norm_cores_across_channel",
    "get_l1_alignment",
    "get_max_worker_l1_unreserved_size",
    "get_memory_config",
    "get_memory_view",
    "get_num_devices",
    "get_num_pcie_devices",
    "get_pcie_device_ids",
    "global_avg_pool2d",
    "grid_to_cores",
    "has_storage_type_of",
    "has_tile_padding",
    "init_device_compute_kernel_config",
    "int32",
    "interleaved_to_sharded",
    "is_sharded",
    "is_trace_capture_active",
    "is_tensor_storage_on_device",
    "linear",
    "manage_device",
    "matmul",
    "max_pool2d",
    "model_preprocessing",
    "move",
    "num_cores_to_corerangeset",
    "num_cores_to_corerangeset_in_subcoregrids",
    "ones",
    "ones_like",
    "open_device",
    "open_mesh_device",
    "pad",
    "prepare_conv_bias",
    "prepare_conv_weights",
    "reallocate",
    "record_event",
    "release_trace",
    "reshape",
    "reshard",
    "set_default_machine",
    "sharded_to_interleaved",
    "slice",
    "split_work_to_cores",
    "synchronize_device",
    "tile_size",
    "tilize",
    "to_device",
    "to_dtype",
    "to_layout",
    "to_memory_config",
    "to_numpy",
    "to_torch",
    "transfers",
    "transformer",
    "ttnn_dtype_to_torch_dtype",
    "typecast",
    "types",
    "uint16",
    "uint32",
    "uint8",
    "untilize",
    "upsample",
    "wait_for_event",
    "zeros",
    "zeros_like",
]

# What a trace may hold and a mesh may run.
_OPERATORS = (
    "allocate_tensor_on_device allocate_tensor_on_host avg_pool2d clone concat conv2d conv_transpose2d "
    "copy_device_to_host_tensor copy_host_to_device_tensor deallocate fold from_device global_avg_pool2d "
    "interleaved_to_sharded linear matmul max_pool2d bitcast move pad prepare_conv_bias prepare_conv_weights reallocate "
    "reshape reshard sharded_to_interleaved slice tilize to_device to_dtype to_layout to_memory_config typecast "
    "untilize upsample"
).split()
# Operators whose binding is in python/src/ops say so themselves.
_names = [_name for _name in _ttnn.card_operators if "." not in _name]
for _name in _names:
    globals()[_name] = getattr(_ttnn, _name)
__all__ += _names
_OPERATORS += _names
# Those of a module below this one: ttnn.transformer, ttnn.experimental.
for _name in _ttnn.card_operators:
    if "." in _name:
        _below, _short = _name.split(".")
        _value = _queues.recorded(getattr(_ttnn, "_" + _name.replace(".", "_")))
        _value.__name__ = _value.__qualname__ = _short
        setattr(globals()[_below], _short, _value)
        globals()[_below].__all__.append(_short)
for _module in (adaptive_pools, complex_numbers, composed, moreh):
    for _name in _module.__all__:
        globals()[_name] = getattr(_module, _name)
    __all__ += _module.__all__
    _OPERATORS += _module.__all__
for _module in (comparison, distributed, norm_configs, tensor_files):
    for _name in _module.__all__:
        globals()[_name] = getattr(_module, _name)
    __all__ += _module.__all__
_OPERATORS += ["conv1d", "empty_like", "full_like", "ones_like", "zeros_like"]
for _name in _OPERATORS:
    globals()[_name] = _queues.recorded(globals()[_name])

# Two names of one operator.
divide, div_ = div, divide_  # noqa: F821
mul, mul_, sub, sub_ = multiply, multiply_, subtract, subtract_  # noqa: F821
__all__ += ["div_", "divide", "mul", "mul_", "sub", "sub_"]
__all__ = list(dict.fromkeys(__all__))  # some are the library's, and a function here on top of it

# Tracebacks and help() name what people import, not where it is compiled.
for _name in __all__:
    _value = globals()[_name]
    if isinstance(_value, type) and _value.__module__ == _ttnn.__name__:
        _value.__module__ = __name__
del _below, _module, _name, _names, _short, _value

# Names that are not there are refused with what they would do.
sys.modules[__name__].__class__ = absent.ModuleWithoutSome
