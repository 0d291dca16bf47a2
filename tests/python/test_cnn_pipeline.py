"""tessera.cnn: pipelines and their executors."""

import importlib

import numpy as np
import pytest

import tessera.compat  # models.tt_cnn.tt.pipeline
from tessera import cnn, ttnn

HEIGHT, WIDTH = 768, 32
CONFIGS = [
    (cnn.PipelineConfig(use_trace=False), cnn.ModelExecutor),
    (cnn.PipelineConfig(), cnn.TracedModelExecutor),
    (cnn.PipelineConfig(use_trace=False, num_command_queues=2), cnn.MultiCQModelOverlappedInputExecutor),
    (cnn.PipelineConfig(num_command_queues=2), cnn.MultiCQTracedModelOverlappedInputExecutor),
    (cnn.PipelineConfig(True, 2, True), cnn.MultiCQTracedModelPipelinedIOExecutor),
]


def model(x):
    y = ttnn.relu(x)
    return ttnn.add(y, y)


def values(seed):
    return ttnn.from_numpy(
        np.random.default_rng(seed).standard_normal((1, 1, HEIGHT, WIDTH), np.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT
    )


def memory_configs(device):
    dram = cnn.get_memory_config_for_persistent_dram_tensor(
        (1, 1, HEIGHT, WIDTH), ttnn.TensorMemoryLayout.HEIGHT_SHARDED, device.dram_grid_size()
    )
    l1 = ttnn.create_sharded_memory_config((1, 1, HEIGHT, WIDTH), ttnn.CoreGrid(y=3, x=8), ttnn.ShardStrategy.HEIGHT)
    return dram, l1


def run(config, device, seeds, preallocated=False):
    dram, l1 = memory_configs(device)
    pipeline = cnn.create_pipeline_from_config(config, model, device, dram, l1, dram)
    pipeline.compile(values(99))
    if preallocated:
        pipeline.preallocate_output_tensors_on_host(len(seeds))
    start = ttnn.device.simulated_time(device)
    outputs = pipeline.enqueue([values(seed) for seed in seeds]).pop_all()
    elapsed = ttnn.device.simulated_time(device) - start
    pipeline.cleanup()
    return [output.to_numpy() for output in outputs], elapsed, pipeline


@pytest.fixture
def device():
    with ttnn.manage_device(num_command_queues=2, trace_region_size=1 << 20) as device:
        yield device


@pytest.mark.parametrize("config, executor", CONFIGS)
@pytest.mark.parametrize("preallocated", [False, True])
def test_every_executor_gives_each_input_its_output(device, config, executor, preallocated):
    outputs, elapsed, pipeline = run(config, device, range(4), preallocated)
    assert type(pipeline.executor) is executor
    for seed, output in enumerate(outputs):
        np.testing.assert_array_equal(output, 2 * np.maximum(values(seed).to_numpy(), 0))
    assert elapsed > 0
    assert ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank == 0


def test_a_trace_saves_time(device):
    plain, traced = (run(config, device, range(8))[1] for config, _ in CONFIGS[:2])
    assert traced < plain


def test_configs_that_make_no_sense_are_refused(device):
    dram, l1 = memory_configs(device)
    for config, text in (
        (cnn.PipelineConfig(num_command_queues=3), "num_command_queues is 3"),
        (cnn.PipelineConfig(True, 1, True), "needs use_trace and num_command_queues=2"),
        (cnn.PipelineConfig(True, 2, True), "dram_output_memory_config"),
    ):
        with pytest.raises(ValueError, match=text):
            cnn.create_pipeline_from_config(config, model, device, dram, l1)
    pipeline = cnn.create_pipeline_from_config(cnn.PipelineConfig(True, 2, True), model, device, dram, l1, dram)
    pipeline.compile(values(0))
    with pytest.raises(ValueError, match="two inputs or more, not 1"):
        pipeline.enqueue([values(0)])
    with pytest.raises(ValueError, match="must be on the host"):
        pipeline.enqueue([ttnn.to_device(values(0), device)] * 2)
    pipeline.cleanup()


def test_persistent_tensors_take_as_many_banks_as_divide_them(device):
    grid = device.dram_grid_size()
    for height, banks in ((768, 12), (7 * 32, 8), (11 * 13, 11)):
        config = cnn.get_memory_config_for_persistent_dram_tensor(
            (1, 1, height, 16), ttnn.TensorMemoryLayout.HEIGHT_SHARDED, grid
        )
        assert config.shard_spec.num_cores() == banks
        assert list(config.shard_spec.shape) == [height // banks, 16]


def test_pipelines_are_found_under_the_vendors_name():
    assert tessera.compat
    module = importlib.import_module("models.tt_cnn.tt.pipeline")
    assert module.PipelineConfig is cnn.PipelineConfig
    assert importlib.import_module("models.tt_cnn.tt.executor").ModelExecutor is cnn.ModelExecutor
