"""The TT-CNN builder: layers of a vision model, configured from PyTorch's and run on a card in software.

    config = Conv2dConfiguration.from_torch(layer, input_height=56, input_width=56, batch_size=1)
    y = TtConv2d(config, device)(x)

Programs that import models.tt_cnn.tt.builder find it under that name after `import tessera.compat`.
"""

from tessera.cnn.conv2d import Conv2dConfiguration, TtConv2d, to_compute_config, to_conv2d_config
from tessera.cnn.executor import (
    ModelExecutor,
    MultiCQModelOverlappedInputExecutor,
    MultiCQTracedModelOverlappedInputExecutor,
    MultiCQTracedModelPipelinedIOExecutor,
    TracedModelExecutor,
)
from tessera.cnn.max_pool2d import MaxPool2dConfiguration, TtMaxPool2d
from tessera.cnn.pipeline import (
    Pipeline,
    PipelineConfig,
    create_pipeline_from_config,
    get_memory_config_for_persistent_dram_tensor,
)
from tessera.cnn.strategies import (
    AutoShardedStrategyConfiguration,
    BlockShardedStrategyConfiguration,
    ChannelSliceStrategyConfiguration,
    HeightShardedStrategyConfiguration,
    HeightSliceStrategyConfiguration,
    L1FullSliceStrategyConfiguration,
    ShardedStrategyConfiguration,
    ShardingStrategy,
    SliceStrategy,
    SliceStrategyConfiguration,
    WidthShardedStrategyConfiguration,
    WidthSliceStrategyConfiguration,
    sharding_strategy_to_conv2d_config,
    to_slice_config,
)
from tessera.cnn.upsample import TtUpsample, UpsampleConfiguration

LayerConfiguration = Conv2dConfiguration | MaxPool2dConfiguration | UpsampleConfiguration

__all__ = [
    "AutoShardedStrategyConfiguration",
    "BlockShardedStrategyConfiguration",
    "ChannelSliceStrategyConfiguration",
    "Conv2dConfiguration",
    "HeightShardedStrategyConfiguration",
    "HeightSliceStrategyConfiguration",
    "L1FullSliceStrategyConfiguration",
    "LayerConfiguration",
    "MaxPool2dConfiguration",
    "ModelExecutor",
    "MultiCQModelOverlappedInputExecutor",
    "MultiCQTracedModelOverlappedInputExecutor",
    "MultiCQTracedModelPipelinedIOExecutor",
    "Pipeline",
    "PipelineConfig",
    "ShardedStrategyConfiguration",
    "ShardingStrategy",
    "SliceStrategy",
    "SliceStrategyConfiguration",
    "TracedModelExecutor",
    "TtConv2d",
    "TtMaxPool2d",
    "TtUpsample",
    "UpsampleConfiguration",
    "WidthShardedStrategyConfiguration",
    "WidthSliceStrategyConfiguration",
    "create_pipeline_from_config",
    "get_memory_config_for_persistent_dram_tensor",
    "sharding_strategy_to_conv2d_config",
    "to_compute_config",
    "to_conv2d_config",
    "to_slice_config",
]
