import numpy as np
import pytest

import tessera
from tessera import ttnn

TILE, ROWS = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT


@pytest.fixture
def device():
    with ttnn.manage_device() as device:
        yield device


def counting(*shape):
    """Different values, all of them exact in float32."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def on(device, array, layout=TILE, config=None):
    return ttnn.from_numpy(array, ttnn.float32, layout=layout, device=device, memory_config=config)


def used(device, kind=ttnn.BufferType.L1):
    return ttnn.get_memory_view(device, kind).total_bytes_allocated_per_bank


def sharded(kind, shape, columns, rows, orientation="ROW_MAJOR"):
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(columns - 1, rows - 1))])
    spec = ttnn.ShardSpec(cores, shape, getattr(ttnn.ShardOrientation, orientation))
    return ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, kind + "_SHARDED"), ttnn.BufferType.L1, spec)


PLACES = {
    "dram": ttnn.DRAM_MEMORY_CONFIG,
    "l1": ttnn.L1_MEMORY_CONFIG,
    "height": sharded("HEIGHT", [32, 128], 4, 1),
    "width": sharded("WIDTH", [128, 32], 2, 2),
    "block": sharded("BLOCK", [64, 32], 4, 2),
    "block, columns first": sharded("BLOCK", [32, 64], 4, 2, "COL_MAJOR"),
}


@pytest.mark.parametrize("layout", [TILE, ROWS])
@pytest.mark.parametrize("target", PLACES)
@pytest.mark.parametrize("source", PLACES)
def test_values_survive_every_move(source, target, layout, device):
    a = counting(1, 1, 128, 128)
    x = on(device, a, layout, PLACES[source])
    y = ttnn.to_memory_config(x, PLACES[target])
    assert y.memory_config() == PLACES[target]
    np.testing.assert_array_equal(y.to_numpy(), a)
    np.testing.assert_array_equal(x.to_numpy(), a)


@pytest.mark.parametrize("layout", [TILE, ROWS])
def test_shapes(layout, device):
    a, b = counting(2, 3, 50, 70), -counting(2, 3, 50, 70)
    x, y = on(device, a, layout), on(device, b, layout)
    for dim in range(4):
        np.testing.assert_array_equal(ttnn.concat([x, y], dim).to_numpy(), np.concatenate([a, b], dim))
    np.testing.assert_array_equal(ttnn.slice(x, [0, 1, 5, 7], [2, 3, 50, 69], [1, 1, 3, 2]).to_numpy(), a[:, 1:, 5:50:3, 7:69:2])
    np.testing.assert_array_equal(ttnn.pad(x, [(0, 2), (0, 5)], 9.0).to_numpy(), np.pad(a, [(0, 0), (0, 0), (0, 2), (0, 5)], constant_values=9.0))
    np.testing.assert_array_equal(ttnn.reshape(x, [6, -1, 35]).to_numpy(), a.reshape(6, -1, 35))
    np.testing.assert_array_equal(x.reshape([3, 2, 50, 70]).to_numpy(), a.reshape(3, 2, 50, 70))
    np.testing.assert_array_equal(ttnn.relu(y).to_numpy(), np.maximum(b, 0))


@pytest.mark.parametrize("layout", [TILE, ROWS])
@pytest.mark.parametrize("index", [0, -1, (1, 2), (slice(None), 1), (..., 3), (0, slice(1, 3), slice(5, 40, 7)), (..., slice(-9, None)), (1, 2, 49, 69)])
def test_indexing_is_numpy_indexing(index, layout, device):
    a = counting(2, 3, 50, 70)
    got = on(device, a, layout)[index]
    assert list(got.shape) == list(a[index].shape)
    np.testing.assert_array_equal(got.to_numpy(), a[index])


def test_indexing_out_of_range(device):
    x = on(device, counting(2, 3))
    with pytest.raises(IndexError):
        x[2]
    with pytest.raises(tessera.InvalidArgument, match="3 indices"):
        x[0, 0, 0]


def test_layouts_and_types(device):
    a = counting(1, 1, 64, 64)
    x = on(device, a)
    rows = ttnn.untilize(x)
    assert rows.layout == ROWS
    assert ttnn.tilize(rows).layout == TILE
    np.testing.assert_array_equal(ttnn.typecast(x, ttnn.uint32).to_numpy(), a.astype(np.uint32))
    with pytest.raises(tessera.InvalidArgument, match="TILE"):
        ttnn.tilize(x)
    with pytest.raises(tessera.InvalidArgument, match="ROW_MAJOR"):
        ttnn.untilize(rows)
    with pytest.raises(tessera.InvalidArgument, match="width 70"):
        ttnn.tilize(on(device, counting(64, 70), ROWS))
    with pytest.raises(tessera.InvalidArgument, match="height 50"):
        ttnn.tilize(on(device, counting(50, 64), ROWS))
    with pytest.raises(tessera.Error, match="filled up with 0"):
        ttnn.to_layout(rows, TILE, pad_value=1.0)


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: ttnn.relu(x),
        lambda x: ttnn.to_memory_config(x, ttnn.L1_MEMORY_CONFIG),
        lambda x: ttnn.concat([x, x]),
        lambda x: ttnn.slice(x, [0, 0], [1, 1]),
        lambda x: x.buffer_address(),
        lambda x: ttnn.permute(x, [1, 0]),
    ],
)
def test_device_operations_refuse_host_tensors(operation):
    with pytest.raises(tessera.InvalidArgument, match="in host memory"):
        operation(ttnn.from_numpy(counting(2, 2)))


def test_a_refusal_changes_nothing(device):
    x = on(device, counting(128, 128), TILE, ttnn.L1_MEMORY_CONFIG)
    before = used(device), used(device, ttnn.BufferType.DRAM)
    for config in (sharded("HEIGHT", [32, 64], 4, 1), sharded("HEIGHT", [32, 128], 1, 1), sharded("HEIGHT", [32, 128], 12, 1)):
        with pytest.raises(tessera.Error):
            ttnn.to_memory_config(x, config)
    with pytest.raises(tessera.Error, match="Out of Memory"):
        ttnn.allocate_tensor_on_device([1, 1, 65536, 8192], ttnn.float32, TILE, device, ttnn.L1_MEMORY_CONFIG)
    assert (used(device), used(device, ttnn.BufferType.DRAM)) == before
    np.testing.assert_array_equal(x.to_numpy(), counting(128, 128))


def test_memory_comes_back_with_the_last_name(device):
    x = on(device, counting(64, 64), TILE, ttnn.L1_MEMORY_CONFIG)
    view = ttnn.reshape(x, [1, 64, 64])
    assert view.buffer_address() == x.buffer_address()
    ttnn.deallocate(x, False)
    assert x.is_allocated()  # the view shares it
    del x
    assert used(device) > 0
    del view
    assert used(device) == 0


def test_move_closes_a_hole(device):
    first = on(device, counting(128, 128), TILE, ttnn.L1_MEMORY_CONFIG)
    x = on(device, counting(128, 128) + 1, TILE, ttnn.L1_MEMORY_CONFIG)
    top = first.buffer_address()
    ttnn.deallocate(first)
    y = ttnn.move(x)
    assert y.buffer_address() == top
    assert not x.is_allocated()
    np.testing.assert_array_equal(y.to_numpy(), counting(128, 128) + 1)
    with pytest.raises(tessera.InvalidArgument, match="deallocated"):
        ttnn.relu(x)
    assert "deallocated" in repr(x)


def test_making_tensors(device):
    assert ttnn.ones([2, 3]).to_list() == [[1.0] * 3] * 2
    assert ttnn.zeros([2], ttnn.int32, TILE, device).to_list() == [0, 0]
    assert ttnn.full([1, 2], 3.5, ttnn.float32, ROWS, device, ttnn.L1_MEMORY_CONFIG).to_list() == [[3.5, 3.5]]
    empty = ttnn.empty([64, 64], ttnn.bfloat16, TILE, device)
    ttnn.copy_host_to_device_tensor(ttnn.ones([64, 64], ttnn.bfloat16, TILE), empty)
    assert empty[0, 0].item() == 1.0
    with pytest.raises(tessera.InvalidArgument, match=r"\[32, 64\]"):
        ttnn.copy_host_to_device_tensor(ttnn.ones([32, 64], ttnn.bfloat16, TILE), empty)


def test_transfers_are_counted(device):
    x = on(device, counting(128, 128), TILE, PLACES["height"])
    ttnn.clear_transfers(device)
    ttnn.reshard(x, PLACES["width"])
    (record,) = ttnn.transfers(device)
    assert record["op"] == "reshard"
    assert record["total_bytes"] == 128 * 128 * 4
    (transfer,) = record["transfers"]
    assert (transfer["from"], transfer["to"], transfer["bytes"]) == ("l1", "l1", 128 * 128 * 4)
    # Four cores hold four row bands before and four column bands after: a quarter stays where it is, if the cores are the same.
    assert 0 < transfer["local_bytes"] < transfer["bytes"]
    ttnn.clear_transfers(device)
    assert ttnn.transfers(device) == []


def test_none_is_neither_a_tensor_nor_a_device(device):
    x = ttnn.from_numpy(counting(2, 2))
    for call in (
        lambda: ttnn.concat([None, None]),
        lambda: ttnn.relu(None),
        lambda: ttnn.to_device(x, None),
        lambda: x.to(None),
        lambda: ttnn.allocate_tensor_on_device(x.spec, None),
        lambda: ttnn.allocate_tensor_on_device([2, 2], ttnn.float32, TILE, None),
        lambda: ttnn.get_memory_view(None, ttnn.BufferType.L1),
        lambda: ttnn.close_device(None),
        lambda: ttnn.transfers(None),
        lambda: ttnn.dump_device_memory_state(None),
        lambda: ttnn.to_memory_config(on(device, counting(2, 2)), None),
    ):
        with pytest.raises(TypeError):
            call()
