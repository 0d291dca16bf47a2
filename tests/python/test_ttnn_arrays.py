import numpy as np
import pytest

import tessera
from tessera import ttnn


@pytest.fixture
def device():
    with ttnn.manage_device() as device:
        yield device


def values(*shape, low=-4.0, high=4.0):
    return np.random.default_rng(7).uniform(low, high, shape).astype(np.float32)


def truncated_to_bfloat16(a):
    """Rounded to nearest even, as ttnn does it on the host."""
    bits = a.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


class OnlyDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnlyArray:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


EXACT = {"float32": np.float32, "float16": np.float16, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "int32": np.int32}


@pytest.mark.parametrize("layout", [ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT])
@pytest.mark.parametrize("dtype", EXACT)
def test_arrays_come_back_as_they_went(dtype, layout):
    a = values(3, 50, 70, low=0, high=200).astype(EXACT[dtype])
    t = ttnn.from_numpy(a, layout=layout)
    assert (t.dtype, t.layout, list(t.shape)) == (getattr(ttnn, dtype), layout, [3, 50, 70])
    assert t.to_numpy().dtype == a.dtype
    np.testing.assert_array_equal(t.to_numpy(), a)


def test_bfloat16_comes_back_as_float32():
    a = values(33, 65)
    back = ttnn.from_numpy(a, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT).to_numpy()
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, truncated_to_bfloat16(a))


def test_block_floats_are_near_and_choose_tiles():
    a = values(64, 64)
    t = ttnn.from_numpy(a, ttnn.bfloat8_b)
    assert t.layout == ttnn.TILE_LAYOUT
    assert np.abs(t.to_numpy() - a).max() <= 4.0 / 64
    with pytest.raises(tessera.InvalidArgument, match="ROW_MAJOR"):
        ttnn.from_numpy(a, ttnn.bfloat8_b, layout=ttnn.ROW_MAJOR_LAYOUT)


@pytest.mark.parametrize("wrap", [OnlyDlpack, OnlyArray, lambda a: a[:, ::-1], np.asfortranarray, lambda a: np.broadcast_to(a, (2, 3, 4))])
def test_takes_anything_that_is_an_array(wrap):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    source = wrap(a)
    expected = a if isinstance(source, (OnlyDlpack, OnlyArray)) else source
    np.testing.assert_array_equal(ttnn.from_numpy(source).to_numpy(), expected)


def test_read_only_arrays_are_fine():
    a = values(4, 4)
    a.flags.writeable = False
    np.testing.assert_array_equal(ttnn.from_numpy(a).to_numpy(), a)


@pytest.mark.parametrize("wrong", [None, "text", object(), np.zeros(3, np.complex64), np.array(["a"])])
def test_refuses_what_is_no_array_of_numbers(wrong):
    with pytest.raises((TypeError, tessera.Error)):
        ttnn.from_numpy(wrong)


def test_sources_that_machines_do_not_compute_with():
    assert ttnn.from_numpy(np.array([0.5])).dtype == ttnn.float32
    assert ttnn.from_numpy(np.array([True, False])).to_list() == [1, 0]
    assert ttnn.from_numpy(np.array([-1, 257], np.int64), ttnn.uint8).to_list() == [255, 1]
    assert ttnn.from_numpy(np.array([-2, 3], np.int8)).to_list() == [-2, 3]
    assert ttnn.from_numpy(np.array([1e300, -1e300, np.nan, -1.9]), ttnn.int32).to_list() == [2**31 - 1, -(2**31), 0, -1]


def test_is_an_array_itself():
    a = values(5, 6)
    t = ttnn.from_numpy(a, layout=ttnn.TILE_LAYOUT)
    np.testing.assert_array_equal(np.asarray(t), a)
    np.testing.assert_array_equal(np.asarray(t, dtype=np.float64), a.astype(np.float64))
    np.testing.assert_array_equal(np.from_dlpack(t), a)
    assert t.__dlpack_device__() == (1, 0)


def test_a_device_tensor_hands_out_no_memory_of_the_host(device):
    t = ttnn.from_numpy(values(32, 32), device=device)
    with pytest.raises(tessera.InvalidArgument, match="host memory"):
        t.__dlpack__()
    np.testing.assert_array_equal(np.asarray(t), values(32, 32))


def test_lists():
    t = ttnn.Tensor([1, 2, 3, 4, 5, 6], [2, 3], ttnn.int32, ttnn.ROW_MAJOR_LAYOUT)
    assert t.to_list() == [[1, 2, 3], [4, 5, 6]]
    assert ttnn.Tensor([2.5], [], ttnn.float32, ttnn.TILE_LAYOUT).item() == 2.5
    assert ttnn.Tensor([[1.0, 2.0]], [1, 2], ttnn.bfloat16, ttnn.TILE_LAYOUT).to_list() == [[1.0, 2.0]]
    with pytest.raises(tessera.InvalidArgument, match="3 values .* 4"):
        ttnn.Tensor([1, 2, 3], [2, 2], ttnn.int32, ttnn.ROW_MAJOR_LAYOUT)
    with pytest.raises(tessera.InvalidArgument, match="6 elements"):
        t.item()


def test_as_tensor_leaves_tensors_alone():
    t = ttnn.from_numpy(values(2, 2))
    assert ttnn.as_tensor(t) is t


def test_a_memory_config_needs_a_device():
    with pytest.raises(tessera.InvalidArgument, match="without a device"):
        ttnn.from_numpy(values(2, 2), memory_config=ttnn.L1_MEMORY_CONFIG)


def test_torch_tensors_of_every_kind(device):
    torch = pytest.importorskip("torch")
    a = torch.randn(40, 50, requires_grad=True)
    assert torch.equal(ttnn.from_torch(a).to_torch(), a)
    b = a.detach().bfloat16()
    t = ttnn.from_torch(b, layout=ttnn.TILE_LAYOUT, device=device)
    assert t.dtype == ttnn.bfloat16
    assert torch.equal(ttnn.to_torch(t), b)
    assert ttnn.to_torch(t, torch.float64).dtype == torch.float64
