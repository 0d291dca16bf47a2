"""A model, its inputs in, its outputs out.

    pipeline = create_pipeline_from_config(PipelineConfig(use_trace=True, num_command_queues=2), model, device,
                                           dram_input_memory_config, l1_input_memory_config)
    pipeline.compile(host_input)
    outputs = pipeline.enqueue(host_inputs).pop_all()
    pipeline.cleanup()

Programs that import models.tt_cnn.tt.pipeline find it under that name after `import tessera.compat`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tessera import ttnn
from tessera.cnn.executor import (
    Executor,
    ModelExecutor,
    MultiCQModelOverlappedInputExecutor,
    MultiCQTracedModelOverlappedInputExecutor,
    MultiCQTracedModelPipelinedIOExecutor,
    TracedModelExecutor,
)


@dataclass
class PipelineConfig:
    use_trace: bool = True
    num_command_queues: int = 1
    all_transfers_on_separate_command_queue: bool = False


def _allocate(schema: Any, device: Any) -> Any:
    if isinstance(schema, list):
        return [_allocate(each, device) for each in schema]
    shape, dtype, layout = schema
    return ttnn.allocate_tensor_on_host(shape, dtype, layout, device)


class Pipeline:
    """Runs an executor over lists of inputs."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.output_tensors: list[Any] = []
        self.preallocated_output_tensors = False

    def compile(self, host_input: Any) -> Pipeline:
        self.executor.compile(host_input)
        return self

    def preallocate_output_tensors_on_host(self, number_of_tensors_to_allocate: int) -> Pipeline:
        """Host memory for that many outputs, so that enqueue need not allocate any."""
        schema = self.executor.get_output_schema()
        self.output_tensors = [_allocate(schema, self.executor.device) for _ in range(number_of_tensors_to_allocate)]
        self.preallocated_output_tensors = True
        return self

    def _read_into(self, output: Any, host: Any) -> None:
        if isinstance(output, (list, tuple)):
            for each, to in zip(output, host, strict=True):
                self._read_into(each, to)
        else:
            ttnn.copy_device_to_host_tensor(output, host, blocking=False, cq_id=self.executor.get_read_cq())

    def _read(self, output: Any) -> Any:
        if isinstance(output, (list, tuple)):
            return [self._read(each) for each in output]
        return output.cpu(blocking=False, cq_id=self.executor.get_read_cq())

    def enqueue(self, host_inputs: Sequence[Any]) -> Pipeline:
        inputs = list(host_inputs)
        if any(each.storage_type() != ttnn.StorageType.HOST for each in inputs):
            raise ValueError("the inputs of a pipeline must be on the host")
        if self.preallocated_output_tensors:
            if len(inputs) > len(self.output_tensors):
                raise ValueError(f"{len(inputs)} inputs, but room for {len(self.output_tensors)} outputs was preallocated")
            for output, host in zip(self.executor.execute(inputs), self.output_tensors, strict=False):
                self._read_into(output, host)
        else:
            self.output_tensors = [self._read(output) for output in self.executor.execute(inputs)]
        return self

    def pop_all(self) -> list[Any]:
        ttnn.synchronize_device(self.executor.device)
        return self.output_tensors

    def cleanup(self) -> None:
        self.executor.cleanup()


def create_pipeline_from_config(
    config: PipelineConfig,
    model: Callable[..., Any],
    device: Any,
    dram_input_memory_config: Any,
    l1_input_memory_config: Any,
    dram_output_memory_config: Any = None,
) -> Pipeline:
    """The executor that the config asks for."""
    if config.num_command_queues not in (1, 2):
        raise ValueError(f"num_command_queues is {config.num_command_queues}, a card has 1 or 2")
    if config.all_transfers_on_separate_command_queue:
        if not config.use_trace or config.num_command_queues != 2:
            raise ValueError("all_transfers_on_separate_command_queue needs use_trace and num_command_queues=2")
        if dram_output_memory_config is None:
            raise ValueError("all_transfers_on_separate_command_queue needs a dram_output_memory_config")
        return Pipeline(
            MultiCQTracedModelPipelinedIOExecutor(
                model, device, dram_input_memory_config, l1_input_memory_config, dram_output_memory_config
            )
        )
    if config.num_command_queues == 1 and not config.use_trace:
        return Pipeline(ModelExecutor(model, device, l1_input_memory_config))
    kinds = {
        (True, 1): TracedModelExecutor,
        (False, 2): MultiCQModelOverlappedInputExecutor,
        (True, 2): MultiCQTracedModelOverlappedInputExecutor,
    }
    kind = kinds[bool(config.use_trace), config.num_command_queues]
    return Pipeline(kind(model, device, dram_input_memory_config, l1_input_memory_config))


def get_memory_config_for_persistent_dram_tensor(shape: Any, shard_strategy: Any, dram_grid_size: Any) -> Any:
    """Shards in DRAM of equal size, in as many banks as there is a number for that divides the extent evenly."""
    extents = [int(extent) for extent in shape]
    height, width = 1, extents[-1]
    for extent in extents[:-1]:
        height *= extent
    if shard_strategy == ttnn.TensorMemoryLayout.HEIGHT_SHARDED:
        extent = height
    elif shard_strategy == ttnn.TensorMemoryLayout.WIDTH_SHARDED:
        extent = width
    else:
        raise ValueError(f"a persistent tensor in DRAM is height or width sharded, not {shard_strategy}")
    banks = max(n for n in range(1, dram_grid_size.x * dram_grid_size.y + 1) if extent % n == 0)
    part = extent // banks
    shard = [part, width] if shard_strategy == ttnn.TensorMemoryLayout.HEIGHT_SHARDED else [height, part]
    grid = ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(banks - 1, 0))})
    spec = ttnn.ShardSpec(grid, shard, ttnn.ShardOrientation.ROW_MAJOR)
    return ttnn.MemoryConfig(shard_strategy, ttnn.BufferType.DRAM, spec)
