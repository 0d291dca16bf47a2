import numpy as np
import pytest

import tessera
from tessera import ttnn


@pytest.fixture(autouse=True)
def default_machine():
    yield
    ttnn.set_default_machine("wormhole_n150")


@pytest.mark.parametrize(("name", "grid", "arch"), [("wormhole_n150", (8, 8), "WORMHOLE_B0"), ("blackhole_p150", (13, 10), "BLACKHOLE")])
def test_which_card(name, grid, arch):
    ttnn.set_default_machine(name)
    with ttnn.manage_device() as device:
        assert device.machine == ttnn.default_machine() == name
        assert str(device.arch()) == f"Arch.{arch}"
        assert (device.core_grid.x, device.core_grid.y) == grid
        assert ttnn.get_arch_name() == arch.lower()
        assert ttnn.device.is_blackhole(device) == (arch == "BLACKHOLE")


def test_only_cards_with_banks():
    for name in ("nvidia_h200", "no_such_machine"):
        with pytest.raises(tessera.Error, match=name):
            ttnn.set_default_machine(name)
    assert ttnn.open_device(device_id=0).machine == "wormhole_n150"


def test_chips_of_a_board():
    with pytest.raises(tessera.InvalidArgument, match="device_id 1"):
        ttnn.open_device(device_id=1)
    ttnn.set_default_machine("wormhole_n300")
    assert ttnn.open_device(device_id=1).id() == 1
    assert ttnn.GetNumAvailableDevices() == 2


def test_a_closed_device_is_refused():
    device = ttnn.open_device(device_id=0)
    x = ttnn.from_numpy(np.zeros((32, 32), np.float32), device=device)
    ttnn.close_device(device)
    ttnn.close_device(device)
    assert not device.is_open()
    assert not x.is_allocated()
    for use in (lambda: x.to_numpy(), lambda: ttnn.relu(x), lambda: ttnn.get_memory_view(device, ttnn.BufferType.L1), lambda: ttnn.synchronize_device(device)):
        with pytest.raises(tessera.InvalidArgument, match="closed"):
            use()


def test_tensors_keep_their_device():
    x = ttnn.from_numpy(np.ones((2, 2), np.float32), device=ttnn.open_device(device_id=0))
    assert x.device().is_open()
    assert x.to_list() == [[1.0, 1.0], [1.0, 1.0]]
    assert ttnn.from_numpy(np.ones(1)).device() is None


def test_deallocate_buffers():
    with ttnn.manage_device() as device:
        x = ttnn.from_numpy(np.ones((64, 64), np.float32), device=device, memory_config=ttnn.L1_MEMORY_CONFIG)
        ttnn.device.DeallocateBuffers(device)
        assert not x.is_allocated()
        assert ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_allocated_per_bank == 0


def test_reports_go_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("TT_METAL_LOGS_PATH", str(tmp_path))
    with ttnn.manage_device() as device:
        ttnn.dump_device_memory_state(device, prefix="a_")
        ttnn.device.dump_device_memory_state(device)
        with pytest.raises(tessera.InvalidArgument, match="/"):
            ttnn.dump_device_memory_state(device, prefix="../a")
    names = sorted(path.name for path in (tmp_path / "generated" / "reports").iterdir())
    assert names == sorted(p + n for p in ("", "a_") for n in ("l1_usage_summary.csv", "memory_usage_summary.csv", "detailed_memory_usage.csv"))


def test_conv2d_config_checks_its_fields():
    config = ttnn.Conv2dConfig(act_block_h_override=64, weights_dtype=ttnn.bfloat8_b)
    assert (config.reallocate_halo_output, config.act_block_w_div, config.shard_layout) == (True, 1, None)
    for wrong in (33, -32):
        with pytest.raises(ValueError, match="must be a multiple of 32"):
            config.act_block_h_override = wrong
    assert config.act_block_h_override == 64
    with pytest.raises(RuntimeError, match="exclude each other"):
        ttnn.Conv2dConfig(override_sharding_config=True, reshard_if_not_optimal=True)
    with pytest.raises(TypeError):
        ttnn.Conv2dConfig(no_such_field=1)
    assert ttnn.Conv2dConfig() == ttnn.Conv2dConfig() != config
