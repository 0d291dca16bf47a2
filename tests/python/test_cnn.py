"""tessera.cnn: the TT-CNN builder."""

import dataclasses
import os
import pathlib
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from convolution import ROUNDING, convolve, relative_error, tolerance

import tessera
from tessera import cnn, ttnn

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = str(pathlib.Path(tessera.__file__).parents[1])


@pytest.fixture
def device():
    with ttnn.manage_device(l1_small_size=16384) as device:
        yield device


def random(*shape, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape, np.float32)
    return ttnn.from_numpy(values, ttnn.bfloat16).to_numpy()


def conv_layer(c, k, kernel=(3, 3), groups=1, bias=True, **attributes):
    """What torch.nn.Conv2d has, without PyTorch."""
    values = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "padding_mode": "zeros"} | attributes
    return SimpleNamespace(
        in_channels=c, out_channels=k, kernel_size=kernel, groups=groups, weight=random(k, c // groups, *kernel, seed=1), bias=random(k, seed=2) if bias else None, **values
    )  # fmt: skip


def expected_of(layer, x, **window):
    window = {"stride": layer.stride, "padding": layer.padding, "dilation": layer.dilation, "groups": layer.groups} | window
    return convolve(x, layer.weight, layer.bias, **window), window


def run(device, layer, x, **options):
    n, h, w, _ = x.shape
    exact = {"math_fidelity": ttnn.MathFidelity.HiFi4, "fp32_dest_acc_en": True}
    config = cnn.Conv2dConfiguration.from_torch(layer, h, w, n, **(exact | options))
    return cnn.TtConv2d(config, device)(ttnn.from_numpy(x, ttnn.bfloat16, device=device))


STRATEGIES = {
    "auto": cnn.AutoShardedStrategyConfiguration(),
    "height": cnn.HeightShardedStrategyConfiguration(act_block_h_override=32),
    "height on chosen cores": cnn.HeightShardedStrategyConfiguration(
        override_core_grid=cnn.HeightShardedStrategyConfiguration.get_core_grid_from_num_cores(7, 8, 8)
    ),
    "width": cnn.WidthShardedStrategyConfiguration(),
    "block": cnn.BlockShardedStrategyConfiguration(reshard_if_not_optimal=True),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_convolutions_compute_under_every_strategy(strategy, device):
    layer, x = conv_layer(64, 96), random(2, 14, 14, 64)
    y = run(device, layer, x, sharding_strategy=STRATEGIES[strategy], slice_strategy=cnn.L1FullSliceStrategyConfiguration())
    wanted, window = expected_of(layer, x)
    values = y.to_numpy().reshape(wanted.shape)
    assert np.all(np.abs(values - wanted) <= tolerance(x, layer.weight, wanted, bias=layer.bias, **window))
    layout = STRATEGIES[strategy].get_tensor_memory_layout()
    assert layout is None or y.memory_config().memory_layout == layout


def test_strategies_become_conv2d_configs():
    cores = cnn.ShardedStrategyConfiguration.get_core_grid_from_num_cores(12, grid_rows=7, grid_cols=8)
    assert cores == ttnn.CoreRangeSet(
        [ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(7, 0)), ttnn.CoreRange(ttnn.CoreCoord(0, 1), ttnn.CoreCoord(3, 1))]
    )
    with pytest.raises(ValueError, match="7 rows and 8 columns does not have 57 cores"):
        cnn.ShardedStrategyConfiguration.get_core_grid_from_num_cores(57, 7, 8)
    strategy = cnn.BlockShardedStrategyConfiguration(act_block_h_override=64, act_block_w_div=2, override_core_grid=cores, override_output_sharding_config=True)
    config = cnn.Conv2dConfiguration.with_random_weights(
        28, 30, 32, 64, 2, (3, 3), sharding_strategy=strategy, activation="relu", weights_dtype=ttnn.bfloat8_b, deallocate_activation=True
    )
    assert cnn.to_conv2d_config(config) == ttnn.Conv2dConfig(
        weights_dtype=ttnn.bfloat8_b,
        activation="relu",
        deallocate_activation=True,
        act_block_h_override=64,
        act_block_w_div=2,
        override_sharding_config=True,
        shard_layout=ttnn.TensorMemoryLayout.BLOCK_SHARDED,
        core_grid=cores,
        enable_weights_double_buffer=True,
        override_output_sharding_config=True,
    )
    with pytest.raises(ValueError, match="a sharding strategy is expected"):
        cnn.to_conv2d_config(dataclasses.replace(config, sharding_strategy="height"))


def test_configurations_are_checked_and_cannot_be_changed():
    config = cnn.Conv2dConfiguration.with_random_weights(28, 30, 32, 64, 2, (3, 5), groups=2, padding=(1, 2))
    assert tuple(config.weight.shape) == (64, 16, 3, 5)
    assert tuple(config.bias.shape) == (1, 1, 1, 64)
    assert config.math_fidelity == ttnn.MathFidelity.LoFi and config.enable_weights_double_buffer
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.groups = 1
    for message, changes in {
        r"weight has shape \(64, 16, 3, 5\), but this layer's is \(64, 32, 3, 5\)": {"groups": 1},
        r"bias has shape \(1, 1, 1, 64\), but this layer's is \(1, 1, 1, 32\)": {
            "out_channels": 32,
            "weight": ttnn.from_numpy(random(32, 16, 3, 5), ttnn.float32),
        },
        "weight is expected to be a ttnn.Tensor, not a ndarray": {"weight": random(64, 16, 3, 5)},
        "bias is expected to be a ttnn.Tensor, not a float": {"bias": 1.0},
        "3 groups do not divide 32": {"groups": 3},
        "channels of 2 groups cannot be sliced": {"slice_strategy": cnn.ChannelSliceStrategyConfiguration(2)},
        "32 channels cannot be cut into 3 equal slices": {"slice_strategy": cnn.ChannelSliceStrategyConfiguration(3)},
    }.items():
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(config, **changes)


def test_slices_become_slice_configs():
    assert cnn.to_slice_config(None) is None
    assert cnn.to_slice_config(cnn.L1FullSliceStrategyConfiguration()) == ttnn.Conv2dL1FullSliceConfig
    assert cnn.to_slice_config(cnn.ChannelSliceStrategyConfiguration(4)) == ttnn.Conv2dL1FullSliceConfig
    for strategy, kind in (
        (cnn.HeightSliceStrategyConfiguration, ttnn.Conv2dDRAMSliceHeight),
        (cnn.WidthSliceStrategyConfiguration, ttnn.Conv2dDRAMSliceWidth),
    ):
        assert cnn.to_slice_config(strategy()) == ttnn.Conv2dSliceConfig(slice_type=kind, num_slices=0)
        assert cnn.to_slice_config(strategy(num_slices=3)).num_slices == 3
    for wrong in (0, 1, -2):
        with pytest.raises(ValueError, match="num_slices > 1"):
            cnn.ChannelSliceStrategyConfiguration(wrong)
    with pytest.raises(ValueError, match="negative"):
        cnn.HeightSliceStrategyConfiguration(-1)


@pytest.mark.parametrize("slices", [cnn.HeightSliceStrategyConfiguration(3), cnn.WidthSliceStrategyConfiguration(2), None])
def test_slices_compute_what_the_whole_computes(slices, device):
    layer, x = conv_layer(32, 32), random(1, 20, 96, 32)
    y = run(device, layer, x, slice_strategy=slices)
    wanted, window = expected_of(layer, x)
    assert np.all(np.abs(y.to_numpy().reshape(wanted.shape) - wanted) <= tolerance(x, layer.weight, wanted, bias=layer.bias, **window))
    assert y.memory_config() == ttnn.DRAM_MEMORY_CONFIG


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", [None, "relu"])
def test_slices_of_channels_are_added_up_before_bias_and_activation(activation, bias, device):
    layer, x = conv_layer(64, 32, bias=bias), random(1, 12, 14, 64)
    config = cnn.Conv2dConfiguration.from_torch(
        layer, 12, 14, 1, slice_strategy=cnn.ChannelSliceStrategyConfiguration(4), activation=activation, fp32_dest_acc_en=True, math_fidelity=ttnn.MathFidelity.HiFi4
    )  # fmt: skip
    tt = cnn.TtConv2d(config, device)
    wanted, _ = expected_of(layer, x)
    wanted = np.maximum(wanted, 0) if activation else wanted
    for column in (False, True):
        given = ttnn.from_numpy(x.reshape(1, 1, -1, 64) if column else x, ttnn.bfloat16, device=device)
        values = tt(given).to_numpy().reshape(wanted.shape)
        # Each of the four parts, their sums and the sum with the bias are stored once.
        assert relative_error(values, wanted) < 8 * ROUNDING["BFLOAT16"]


def sent(device):
    return sum(record["op"] == "to_device" and record["detail"] == "weights" for record in ttnn.transfers(device))


def used(device):
    kinds = (ttnn.BufferType.DRAM, ttnn.BufferType.L1, ttnn.BufferType.L1_SMALL)
    return [ttnn.get_memory_view(device, kind).total_bytes_allocated_per_bank for kind in kinds]


def test_slices_of_channels_keep_their_weights_and_leave_nothing_behind_when_refused(device):
    layer, x = conv_layer(64, 32), random(1, 12, 14, 64)
    config = cnn.Conv2dConfiguration.from_torch(layer, 12, 14, 1, slice_strategy=cnn.ChannelSliceStrategyConfiguration(4))
    tt = cnn.TtConv2d(config, device)
    given = ttnn.from_numpy(x, ttnn.bfloat16, device=device)
    before, weights_before = used(device), sent(device)
    for wrong in (random(1, 12, 14, 60), random(1, 12, 13, 64)):
        other = ttnn.from_numpy(wrong, ttnn.bfloat16, device=device)
        with pytest.raises(RuntimeError):
            tt(other)
        other.deallocate(True)
        assert used(device) == before
    first = tt(given).to_numpy()
    assert sent(device) == weights_before + 4
    assert np.array_equal(tt(given).to_numpy(), first)
    assert sent(device) == weights_before + 4


def test_weights_are_prepared_once_for_each_place_of_the_input(device):
    layer, x = conv_layer(32, 64), random(1, 16, 16, 32)
    tt = cnn.TtConv2d(cnn.Conv2dConfiguration.from_torch(layer, 16, 16, 1), device)
    in_dram = ttnn.from_numpy(x, ttnn.bfloat16, device=device)
    first = tt(in_dram)
    assert tt.weight.storage_type() == ttnn.StorageType.DEVICE
    assert sent(device) == 1
    np.testing.assert_array_equal(tt(in_dram).to_numpy(), first.to_numpy())
    assert sent(device) == 1
    tiled = ttnn.from_numpy(x.reshape(1, 1, -1, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=ttnn.L1_MEMORY_CONFIG)
    again = tt(tiled).to_numpy()  # in other shards: sums are rounded in another order
    assert relative_error(again, first.to_numpy()) < 0.05
    assert sent(device) == 2
    np.testing.assert_array_equal(tt(in_dram).to_numpy(), first.to_numpy())


def test_layers_run_on_a_device_without_l1_small():
    with ttnn.manage_device() as device:
        layer, x = conv_layer(16, 32), random(1, 24, 24, 16)
        wanted, _ = expected_of(layer, x)
        assert relative_error(run(device, layer, x).to_numpy().reshape(wanted.shape), wanted) < 2 * ROUNDING["BFLOAT16"]


def test_from_torch_takes_anything_with_its_attributes():
    from_torch = cnn.Conv2dConfiguration.from_torch
    config = from_torch(conv_layer(8, 16, (3, 3), stride=2, padding=1, dilation=1), 10, 12, 3)
    assert (config.stride, config.padding, config.kernel_size, config.batch_size) == ((2, 2), (1, 1), (3, 3), 3)
    assert from_torch(conv_layer(8, 16, padding="valid"), 10, 12, 3).padding == (0, 0)
    assert from_torch(conv_layer(8, 16, (3, 5), padding="same", dilation=(2, 1)), 10, 12, 3).padding == (2, 2)
    assert from_torch(conv_layer(8, 16, (2, 3), padding="same"), 10, 12, 3).padding == (0, 1, 1, 1)
    assert from_torch(conv_layer(8, 16, padding_mode="replicate"), 10, 12, 3).padding_mode == ttnn.PaddingMode.Replicate
    with pytest.raises(ValueError, match="padding_mode is 'circular'"):
        from_torch(conv_layer(8, 16, padding_mode="circular"), 10, 12, 3)
    assert from_torch(conv_layer(8, 16, bias=False), 10, 12, 3).bias is None

    noted = SimpleNamespace(
        input_height=10, input_width=12, in_channels=8, out_channels=16, batch_size=1, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=1, dilation=(1, 1), dtype=ttnn.bfloat8_b
    )  # fmt: skip
    weight = ttnn.from_numpy(random(16, 8, 3, 3), ttnn.float32)
    assert cnn.Conv2dConfiguration.from_model_args(noted, weight, fp32_dest_acc_en=True).output_dtype == ttnn.bfloat8_b

    pool = cnn.MaxPool2dConfiguration.from_torch(SimpleNamespace(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=True), 10, 12, 1, 8)
    assert (pool.kernel_size, pool.stride, pool.padding, pool.ceil_mode, pool.channels) == ((3, 3), (2, 2), (1, 1), True, 8)
    pool = cnn.MaxPool2dConfiguration.from_torch(SimpleNamespace(kernel_size=(2, 3), stride=None, padding=0, dilation=1), 10, 12, 1, 8)
    assert pool.stride == (2, 3)
    with pytest.raises(ValueError, match="return_indices"):
        cnn.MaxPool2dConfiguration.from_torch(SimpleNamespace(kernel_size=3, stride=2, padding=1, dilation=1, return_indices=True), 10, 12, 1, 8)
    with pytest.raises(ValueError, match="only channel slicing"):
        cnn.MaxPool2dConfiguration(10, 12, 8, 1, (2, 2), slice_strategy=cnn.HeightSliceStrategyConfiguration())

    up = cnn.UpsampleConfiguration.from_torch(SimpleNamespace(scale_factor=2.0, size=None, mode="nearest", align_corners=None), 10, 12, 1, 8)
    assert up.scale_factor == (2.0, 2.0)
    up = cnn.UpsampleConfiguration.from_torch(SimpleNamespace(scale_factor=None, size=(30, 24), mode="bilinear", align_corners=False), 10, 12, 1, 8)
    assert (up.scale_factor, up.mode) == ((3.0, 2.0), "bilinear")
    with pytest.raises(ValueError, match="align_corners"):
        cnn.UpsampleConfiguration.from_torch(SimpleNamespace(scale_factor=2, size=None, mode="bilinear", align_corners=True), 10, 12, 1, 8)
    with pytest.raises(ValueError, match="'cubic', but it is one of nearest, bilinear"):
        cnn.UpsampleConfiguration(10, 12, 8, 1, 2, mode="cubic")


def test_from_torch_takes_torch_layers(device):
    torch = pytest.importorskip("torch")
    layer = torch.nn.Conv2d(16, 32, kernel_size=3, padding="same", dilation=2, groups=2)
    x = random(1, 20, 24, 16)
    y = run(device, layer, x)
    with torch.no_grad():
        wanted = layer(torch.from_numpy(x.transpose(0, 3, 1, 2))).numpy().transpose(0, 2, 3, 1)
    assert relative_error(y.to_numpy().reshape(wanted.shape), wanted) < 4 * ROUNDING["BFLOAT16"]
    pool = cnn.MaxPool2dConfiguration.from_torch(torch.nn.MaxPool2d(3, 2, 1), 20, 24, 1, 16)
    assert (pool.kernel_size, pool.stride, pool.padding) == ((3, 3), (2, 2), (1, 1))
    assert cnn.UpsampleConfiguration.from_torch(torch.nn.Upsample(scale_factor=2), 20, 24, 1, 16).scale_factor == (2.0, 2.0)


def pooled(x, kernel, stride, padding):
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)), constant_values=-np.inf)
    h, w = ((x.shape[d] - kernel) // stride + 1 for d in (1, 2))
    windows = [x[:, i : i + (h - 1) * stride + 1 : stride, j : j + (w - 1) * stride + 1 : stride] for i in range(kernel) for j in range(kernel)]
    return np.max(windows, axis=0)


@pytest.mark.parametrize("slices", [None, cnn.ChannelSliceStrategyConfiguration(2)])
def test_pools_take_maxima(slices, device):
    x = random(2, 14, 16, 64)
    config = cnn.MaxPool2dConfiguration(14, 16, 64, 2, (3, 3), stride=(2, 2), padding=(1, 1), slice_strategy=slices)
    y = cnn.TtMaxPool2d(config, device)(ttnn.from_numpy(x.reshape(1, 1, -1, 64), ttnn.bfloat16, device=device))
    wanted = pooled(x, 3, 2, 1)
    np.testing.assert_array_equal(y.to_numpy().reshape(wanted.shape), wanted)


@pytest.mark.parametrize("slices", [None, cnn.ChannelSliceStrategyConfiguration(2)])
@pytest.mark.parametrize("column", [False, True])
def test_upsampling_repeats_pixels(column, slices, device):
    x = random(1, 6, 8, 32)
    config = cnn.UpsampleConfiguration(6, 8, 32, 1, (2, 3), slice_strategy=slices)
    y = cnn.TtUpsample(config, device)(ttnn.from_numpy(x.reshape(1, 1, -1, 32) if column else x, ttnn.bfloat16, device=device))
    wanted = x.repeat(2, axis=1).repeat(3, axis=2)
    np.testing.assert_array_equal(y.to_numpy().reshape(wanted.shape), wanted)


@pytest.mark.parametrize(
    "code",
    [
        "from models.tt_cnn.tt.builder import TtConv2d; assert TtConv2d is tessera.cnn.TtConv2d",
        "import models.tt_cnn.tt.builder; assert models.tt_cnn.tt.builder.TtConv2d is tessera.cnn.TtConv2d",
        "import models.tt_cnn.tt.builder as builder; assert builder is tessera.cnn",
        "from models.tt_cnn.tt import builder; assert builder is tessera.cnn",
    ],
)
@pytest.mark.parametrize("neighbour", [None, "folder", "package"])
def test_the_builder_is_found_under_its_name(code, neighbour, tmp_path):
    """Also beside a folder or a package of that name."""
    if neighbour:
        (tmp_path / "models").mkdir()
    if neighbour == "package":
        (tmp_path / "models" / "__init__.py").write_text("mine = 1")
    after = "; import models; assert models.mine == 1" if neighbour == "package" else ""
    program = f"import tessera.compat; {code.replace('assert', 'import tessera.cnn; assert', 1)}{after}"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=os.environ | {"PYTHONPATH": PACKAGE}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_child_processes_find_the_builder(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import subprocess, sys\n"
        "code = 'from models.tt_cnn.tt.builder import TtConv2d; import ttnn; print(TtConv2d.__module__, ttnn.__name__)'\n"
        "sys.exit(subprocess.run([sys.executable, '-c', code]).returncode)\n"
    )
    done = subprocess.run([sys.executable, "-m", "tessera.compat", script], env=os.environ | {"PYTHONPATH": PACKAGE}, capture_output=True, text=True, check=False)
    assert done.stdout == "tessera.cnn.conv2d tessera.ttnn\n", done.stderr


@pytest.mark.parametrize("card", ["wormhole_n150", "blackhole_p150"])
def test_the_example_runs(card):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "small_network_on_a_card.py", "--device", card],
        env=os.environ | {"PYTHONPATH": PACKAGE}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert card in done.stdout
    assert float(done.stdout.split()[-1]) > 0.99  # correlation with double precision
