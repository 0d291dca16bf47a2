"""Tensors in files: dump_tensor, load_tensor, as_tensor with a cache."""

from __future__ import annotations

import numpy as np
import pytest

import tessera
from tessera import ttnn


@pytest.fixture
def device():
    card = ttnn.open_device(device_id=0)
    yield card
    ttnn.close_device(card)


def some(shape=(64, 96)):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("dtype", [ttnn.float32, ttnn.bfloat16, ttnn.bfloat8_b, ttnn.bfloat4_b, ttnn.int32, ttnn.uint16])
def test_a_tensor_comes_back_as_it_was(tmp_path, dtype):
    x = ttnn.from_numpy(some() * 100, dtype, layout=ttnn.TILE_LAYOUT)
    ttnn.dump_tensor(tmp_path / "x.tensorbin", x)
    y = ttnn.load_tensor(tmp_path / "x.tensorbin")
    assert (y.dtype, y.layout, y.shape) == (x.dtype, x.layout, x.shape)
    assert (y.to_numpy() == x.to_numpy()).all()


def test_a_tensor_of_a_device_is_loaded_to_where_it_was(tmp_path, device):
    shards = ttnn.create_sharded_memory_config((64, 96), ttnn.CoreGrid(y=1, x=2), ttnn.ShardStrategy.HEIGHT)
    x = ttnn.from_numpy(some(), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=shards)
    ttnn.dump_tensor(tmp_path / "x.tensorbin", x, mode=ttnn.DumpTensorMode.LOCAL)
    y = ttnn.load_tensor(tmp_path / "x.tensorbin", device=device)
    assert y.memory_config() == x.memory_config()
    assert (y.to_numpy() == x.to_numpy()).all()
    assert ttnn.load_tensor(tmp_path / "x.tensorbin").storage_type() == ttnn.StorageType.HOST


def test_files_that_are_none_of_ours_are_refused(tmp_path):
    with pytest.raises(tessera.Error, match="must end in .tensorbin"):
        ttnn.dump_tensor(tmp_path / "x.bin", ttnn.zeros([1, 32]))
    with pytest.raises(tessera.Error, match="there is no file"):
        ttnn.load_tensor(tmp_path / "x.tensorbin")
    (tmp_path / "x.tensorbin").write_bytes(b"PK\3\4 and no more")
    with pytest.raises(tessera.Error, match="no file of dump_tensor"):
        ttnn.load_tensor(tmp_path / "x.tensorbin")


def test_as_tensor_reads_what_it_kept(tmp_path, device):
    calls = []

    def twice(array):
        calls.append(array)
        return array * 2

    for _ in range(2):
        y = ttnn.as_tensor(
            some(), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=ttnn.L1_MEMORY_CONFIG,
            cache_file_name=tmp_path / "weights" / "w", preprocess=twice,
        )  # fmt: skip
        assert y.memory_config() == ttnn.L1_MEMORY_CONFIG
        assert (y.to_numpy() == ttnn.from_numpy(some() * 2, ttnn.bfloat16).to_numpy()).all()
    assert len(calls) == 1
    assert [p.name for p in (tmp_path / "weights").iterdir()] == ["w_dtype_BFLOAT16_layout_TILE.tensorbin"]


def test_a_spec_says_all(device):
    spec = ttnn.TensorSpec((64, 96), ttnn.bfloat16, ttnn.TILE_LAYOUT, ttnn.BufferType.L1)
    x = ttnn.from_torch(some(), spec=spec, device=device)
    assert x.spec == spec
    with pytest.raises(tessera.Error, match="a spec says already"):
        ttnn.from_torch(some(), ttnn.bfloat16, spec=spec)
    with pytest.raises(tessera.Error, match=r"shape \[32, 96\] does not go with"):
        ttnn.from_torch(some((32, 96)), spec=spec)


def test_devices_by_number_and_by_default():
    devices = ttnn.CreateDevices([0])
    assert list(devices) == [0] and devices[0].is_open()
    before = ttnn.GetDefaultDevice()
    ttnn.SetDefaultDevice(devices[0])
    assert ttnn.GetDefaultDevice() is devices[0]
    ttnn.SetDefaultDevice(before)
    ttnn.CloseDevices(devices)
    assert not devices[0].is_open()
    assert ttnn.GetNumPCIeDevices() == 1 and ttnn.GetPCIeDeviceID(0) == 0
    assert ttnn.get_device_ids() == list(range(ttnn.get_num_devices()))


def test_dispatch_from_other_cores_leaves_another_grid():
    usual = ttnn.DispatchCoreConfig()
    assert (usual.type, usual.axis) == (ttnn.DispatchCoreType.WORKER, ttnn.DispatchCoreAxis.ROW)
    ttnn.close_device(ttnn.open_device(device_id=0, dispatch_core_config=usual))
    with pytest.raises(tessera.Error, match="leaves another grid than 8 x 8"):
        ttnn.open_device(device_id=0, dispatch_core_config=ttnn.DispatchCoreConfig(axis=ttnn.DispatchCoreAxis.COL))
    with pytest.raises(tessera.Error, match="COL axis is not supported for ETH"):
        ttnn.DispatchCoreConfig(ttnn.DispatchCoreType.ETH, ttnn.DispatchCoreAxis.COL)
    with pytest.raises(TypeError):
        ttnn.open_device(device_id=0, dispatch_core_config="ROW")
