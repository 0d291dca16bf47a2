"""Traces, events, command queues, simulated time and meshes."""

import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

import tessera
import tessera.compat
from tessera import ttnn

SHAPE = (1, 1, 64, 64)


@pytest.fixture
def device():
    with ttnn.manage_device(num_command_queues=2, trace_region_size=1 << 20) as device:
        yield device


def host(first):
    values = (first - np.arange(64 * 64) % 7).reshape(SHAPE).astype(np.float32)
    return ttnn.from_numpy(values, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)


def model(x):
    x = ttnn.relu(x)
    x = ttnn.add(x, x)
    return ttnn.relu(x)


def capture(device):
    x = ttnn.to_device(host(1), device)
    model(x)
    trace = ttnn.begin_trace_capture(device, cq_id=0)
    y = model(x)
    ttnn.end_trace_capture(device, trace, cq_id=0)
    return x, y, trace


def test_a_replay_computes_from_what_the_input_holds_now(device):
    x, y, trace = capture(device)
    for first in (5, -3, 100):
        ttnn.copy_host_to_device_tensor(host(first), x)
        ttnn.execute_trace(device, trace, cq_id=0, blocking=False)
        expected = 2 * np.maximum(host(first).to_numpy(), 0)
        np.testing.assert_array_equal(y.to_numpy(), expected)
    ttnn.release_trace(device, trace)


def test_a_capture_frees_intermediates_as_a_run_does(device):
    x = ttnn.to_device(host(1), device)
    model(x)
    used = ttnn.get_memory_view(device, ttnn.BufferType.DRAM).total_bytes_allocated_per_bank
    trace = ttnn.begin_trace_capture(device, cq_id=0)
    y = model(x)
    one_more = ttnn.get_memory_view(device, ttnn.BufferType.DRAM).total_bytes_allocated_per_bank
    ttnn.end_trace_capture(device, trace, cq_id=0)
    ttnn.deallocate(y)
    assert 0 < one_more - used <= ttnn.get_memory_view(device, ttnn.BufferType.DRAM).total_bytes_per_bank // 1000


def test_only_warm_operators_belong_into_a_trace(device):
    x = ttnn.to_device(host(1), device)
    trace = ttnn.begin_trace_capture(device, cq_id=0)
    with pytest.raises(tessera.Error, match="not in the cache"):
        ttnn.relu(x)
    for forbidden, text in (
        (lambda: ttnn.to_device(host(1), device), "to_device during the capture"),
        (lambda: ttnn.from_device(x), "no reads or writes"),
        (lambda: ttnn.copy_host_to_device_tensor(host(1), x), "no reads or writes"),
        (lambda: ttnn.record_event(device, 0), "record_event during the capture"),
        (lambda: ttnn.synchronize_device(device), "synchronize_device during the capture"),
        (lambda: ttnn.begin_trace_capture(device, cq_id=1), "is being captured"),
    ):
        with pytest.raises(tessera.Error, match=text):
            forbidden()
    ttnn.end_trace_capture(device, trace, cq_id=0)
    with pytest.raises(tessera.Error, match="not being captured"):
        ttnn.end_trace_capture(device, trace, cq_id=0)


def test_a_region_that_is_too_small_says_what_it_takes():
    with ttnn.manage_device(trace_region_size=4096) as device:
        x = ttnn.to_device(host(1), device)
        model(x)
        trace = ttnn.begin_trace_capture(device, cq_id=0)
        model(x)
        with pytest.raises(tessera.Error, match="trace_region_size is 4096 B") as caught:
            ttnn.end_trace_capture(device, trace, cq_id=0)
        assert "open the device with trace_region_size=" in caught.value.hint
        ttnn.synchronize_device(device)


def test_a_trace_does_not_run_over_memory_of_others(device):
    x, y, trace = capture(device)
    squatter = ttnn.to_device(host(1), device)
    with pytest.raises(tessera.Error, match="has been allocated since"):
        ttnn.execute_trace(device, trace, cq_id=0)
    ttnn.deallocate(squatter)
    ttnn.execute_trace(device, trace, cq_id=0)
    ttnn.deallocate(x)
    with pytest.raises(tessera.Error, match="no longer is"):
        ttnn.execute_trace(device, trace, cq_id=0)


def test_events_order_queues_and_must_have_been_recorded(device):
    event = ttnn.record_event(device, 1)
    ttnn.wait_for_event(0, event)
    ttnn.event_synchronize(event)
    with pytest.raises(tessera.Error, match="which nobody recorded"):
        ttnn.wait_for_event(0, None)
    with pytest.raises(tessera.Error, match="no command queue 2"):
        ttnn.record_event(device, 2)
    with ttnn.manage_device() as one_queue, pytest.raises(tessera.Error, match="num_command_queues=2"):
        ttnn.to_device(host(1), one_queue, cq_id=1)


def test_a_replay_costs_the_host_less_than_calls(device):
    x, _, trace = capture(device)
    ttnn.synchronize_device(device)
    start = ttnn.device.simulated_time(device)
    ttnn.execute_trace(device, trace, cq_id=0, blocking=True)
    replayed = ttnn.device.simulated_time(device)
    model(x)
    ttnn.synchronize_device(device)
    called = ttnn.device.simulated_time(device)
    assert 0 < replayed - start < called - replayed
    assert 0 < ttnn.device.simulated_device_time(device) < called


def test_a_scripts_own_timer_can_show_simulated_time(device):
    x = ttnn.to_device(host(1), device)
    ttnn.synchronize_device(device)
    tessera.compat.use_simulated_time()
    try:
        start, started = time.perf_counter(), ttnn.device.simulated_time()
        assert time.perf_counter() == start  # nothing was asked of a device
        ttnn.relu(x)
        ttnn.synchronize_device(device)
        assert time.perf_counter() - start == pytest.approx(ttnn.device.simulated_time() - started)
        assert time.perf_counter() > start
    finally:
        tessera.compat.use_simulated_time(False)
    assert "perf_counter" in repr(time.perf_counter)


def test_scripts_run_with_simulated_time(tmp_path):
    script = tmp_path / "timed.py"
    script.write_text("import time\nstart = time.perf_counter()\ntime.sleep(0.01)\nprint(time.perf_counter() - start)\n")
    package = str(pathlib.Path(tessera.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "tessera.compat", "--simulated-time", str(script)],
        env={"PYTHONPATH": package, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) == 0


@pytest.fixture
def mesh():
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
    yield mesh
    ttnn.close_mesh_device(mesh)


def test_a_batch_is_split_over_chips_and_put_together_again(mesh):
    values = np.arange(4 * 32 * 32, dtype=np.float32).reshape(4, 1, 32, 32) % 200 - 100
    x = ttnn.from_numpy(
        values, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=ttnn.ShardTensorToMesh(mesh, dim=0)
    )
    assert list(x.shape) == [2, 1, 32, 32]
    assert len(ttnn.get_device_tensors(x)) == 2
    y = ttnn.relu(x)
    ttnn.synchronize_device(mesh)
    joined = ttnn.to_numpy(y, mesh_composer=ttnn.ConcatMeshToTensor(mesh, dim=0))
    np.testing.assert_array_equal(joined, np.maximum(values, 0))
    with pytest.raises(tessera.Error, match="mesh_composer"):
        ttnn.to_numpy(y)
    assert repr(mesh) == "MeshDevice(1x2 grid, 2 devices)"


def test_every_chip_gets_a_replica(mesh):
    x = ttnn.from_numpy(
        np.ones((1, 1, 32, 32), np.float32), ttnn.bfloat16, mesh_mapper=ttnn.ReplicateTensorToMesh(mesh)
    )
    assert [tuple(shard.shape) for shard in ttnn.get_device_tensors(x)] == [(1, 1, 32, 32)] * 2


def test_unequal_shards_are_refused_with_what_to_do(mesh):
    with pytest.raises(tessera.Error, match=r"does not divide into 2 equal shards \(it would be \[2, 1\]\)") as caught:
        ttnn.from_numpy(np.zeros((3, 1, 32, 32), np.float32), mesh_mapper=ttnn.ShardTensorToMesh(mesh, dim=0))
    assert "pad it to 4" in str(caught.value)
    with pytest.raises(tessera.Error, match="no dimension 7"):
        ttnn.from_numpy(np.zeros((2, 1, 32, 32), np.float32), mesh_mapper=ttnn.ShardTensorToMesh(mesh, dim=7))


def test_reshard_into_a_tensor_that_is_there():
    device = ttnn.open_device(device_id=0)
    try:
        values = np.arange(64 * 64, dtype=np.float32).reshape(1, 1, 64, 64) % 97
        wide = ttnn.create_sharded_memory_config((1, 1, 64, 64), ttnn.CoreGrid(y=1, x=2), ttnn.ShardStrategy.WIDTH)
        tall = ttnn.create_sharded_memory_config((1, 1, 64, 64), ttnn.CoreGrid(y=1, x=2), ttnn.ShardStrategy.HEIGHT)
        host = ttnn.from_numpy(values, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
        x, there = ttnn.to_device(host, device, wide), ttnn.to_device(host, device, tall)
        address = there.buffer_address()
        assert ttnn.reshard(x, tall, there).buffer_address() == address
        np.testing.assert_array_equal(there.to_numpy(), values)
        with pytest.raises(RuntimeError, match="the result would be"):
            ttnn.reshard(x, tall, x)
    finally:
        ttnn.close_device(device)
