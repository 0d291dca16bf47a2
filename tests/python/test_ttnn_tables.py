"""Operators of ttnn that are lines of tables, through Python: signatures, numpy's values, what is not there."""

import numpy as np
import pytest

import tessera
from tessera import ttnn


@pytest.fixture
def device():
    with ttnn.manage_device() as device:
        yield device


def put(device, values, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT):
    return ttnn.from_numpy(np.asarray(values, np.float32), dtype, layout=layout, device=device)


@pytest.mark.parametrize("name", "cos tan ceil trunc log1p expm1 exp2 cbrt asinh".split())
def test_functions_of_one_number(device, name):
    x = np.linspace(0.25, 3, 12, dtype=np.float32)
    np.testing.assert_allclose(getattr(ttnn, name)(put(device, x)).to_numpy(), getattr(np, name)(x), rtol=1e-6)


def test_parameters_are_named_or_follow_the_tensor(device):
    x = put(device, [-2, 0.25, 3])
    np.testing.assert_array_equal(ttnn.hardtanh(x, min_val=-1, max_val=2).to_numpy(), [-1, 0.25, 2])
    np.testing.assert_array_equal(ttnn.threshold(x, 0.5, 9).to_numpy(), [9, 9, 3])
    np.testing.assert_array_equal(ttnn.hardshrink(x).to_numpy(), [0 - 2, 0, 3])
    np.testing.assert_array_equal(ttnn.clamp(x, 2.0, 1.0).to_numpy(), [1, 1, 1])


@pytest.mark.parametrize(
    ("name", "function"),
    [("pow", np.power), ("atan2", np.arctan2), ("fmod", np.fmod), ("remainder", np.mod), ("hypot", np.hypot), ("logaddexp", np.logaddexp)],
)
def test_functions_of_two_numbers(device, name, function):
    a, b = np.float32([1.5, 2, 3]), np.float32([2, 0.5, 2])
    np.testing.assert_allclose(getattr(ttnn, name)(put(device, a), put(device, b)).to_numpy(), function(a, b), rtol=1e-6)
    np.testing.assert_allclose(getattr(ttnn, name)(put(device, a), 2).to_numpy(), function(a, np.float32(2)), rtol=1e-6)


def test_comparisons_in_place_and_as_operators(device):
    x = put(device, [1, 2, 3])
    np.testing.assert_array_equal((x > 2).to_numpy(), [0, 0, 1])
    np.testing.assert_array_equal((x == put(device, [1, 0, 3])).to_numpy(), [1, 0, 1])
    assert (x == None) is False  # noqa: E711 (what Python answers)
    address = x.buffer_address()
    y = ttnn.ge_(x, 2)
    assert y.buffer_address() == address
    np.testing.assert_array_equal(x.to_numpy(), [0, 1, 1])


def test_products_of_bfloat16_are_rounded_to_nearest_even(device):
    a, b = (np.random.default_rng(i).normal(size=(64, 64)).astype(np.float32) for i in (1, 2))
    x, y = put(device, a, ttnn.bfloat16), put(device, b, ttnn.bfloat16)
    wanted = ttnn.from_numpy(x.to_numpy() * y.to_numpy(), ttnn.bfloat16).to_numpy()
    np.testing.assert_array_equal(ttnn.multiply(x, y).to_numpy(), wanted)
    assert not np.array_equal(ttnn.multiply(x, y, fast_and_approximate_mode=True).to_numpy(), wanted)


def test_integers_meet_large_numbers_exactly(device):
    x = ttnn.from_numpy(np.int32([16777217, -3]), ttnn.int32, layout=ttnn.TILE_LAYOUT, device=device)
    np.testing.assert_array_equal(ttnn.maximum(x, 2147483647).to_numpy(), [2147483647] * 2)
    np.testing.assert_array_equal(ttnn.minimum(x, 16777216).to_numpy(), [16777216, -3])


def test_div_rounds_as_it_is_told(device):
    x, y = put(device, [7, -7]), put(device, [2, 2])
    np.testing.assert_array_equal(ttnn.div(x, y).to_numpy(), [3.5, -3.5])
    np.testing.assert_array_equal(ttnn.div(x, y, rounding_mode="floor").to_numpy(), [3, -4])
    np.testing.assert_array_equal(ttnn.div(x, y, rounding_mode="trunc").to_numpy(), [3, -3])
    with pytest.raises(tessera.Error, match="rounding_mode is 'up'"):
        ttnn.div(x, y, rounding_mode="up")


def test_where_takes_tensors_and_numbers(device):
    x = put(device, [0, 1, 2])
    np.testing.assert_array_equal(ttnn.where(x, x, 5.0).to_numpy(), [5, 1, 2])
    np.testing.assert_array_equal(ttnn.where(x, 1.0, 0.0).to_numpy(), [0, 1, 1])


def test_reductions(device):
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = put(device, a)
    np.testing.assert_array_equal(ttnn.sum(x, dim=-1).to_numpy(), a.sum(-1))
    np.testing.assert_array_equal(ttnn.mean(x, [0, 2], True).to_numpy(), a.mean((0, 2), keepdims=True))
    np.testing.assert_array_equal(ttnn.max(x).to_numpy(), a.max())
    np.testing.assert_allclose(ttnn.std(x, 1, correction=False).to_numpy(), a.std(1), rtol=1e-6)
    np.testing.assert_array_equal(ttnn.cumsum(x, 1).to_numpy(), a.cumsum(1))
    np.testing.assert_array_equal(ttnn.argmax(x, dim=2).to_numpy(), a.argmax(2))


@pytest.mark.parametrize("layout", [ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT])
def test_shapes(device, layout):
    a = np.arange(2 * 3 * 40, dtype=np.float32).reshape(2, 3, 40)
    x = put(device, a, layout=layout)
    np.testing.assert_array_equal(ttnn.transpose(x, 0, -1).to_numpy(), a.swapaxes(0, -1))
    np.testing.assert_array_equal(ttnn.unsqueeze_to_4D(x).to_numpy(), a[None])
    np.testing.assert_array_equal(ttnn.stack([x, x], -1).to_numpy(), np.stack([a, a], -1))
    np.testing.assert_array_equal(ttnn.repeat(x, ttnn.Shape([2, 1, 3])).to_numpy(), np.tile(a, (2, 1, 3)))
    np.testing.assert_array_equal(ttnn.repeat_interleave(x, 2, dim=-1).to_numpy(), a.repeat(2, -1))
    for got, wanted in zip(ttnn.split(x, [10, 30], 2), np.split(a, [10], 2), strict=True):
        np.testing.assert_array_equal(got.to_numpy(), wanted)
    for got, wanted in zip(ttnn.chunk(x, 2, 1), (a[:, :2], a[:, 2:]), strict=True):
        np.testing.assert_array_equal(got.to_numpy(), wanted)


def test_tensors_like_others(device):
    x = put(device, [[1, 2], [3, 4]], ttnn.bfloat16)
    for make, value in ((ttnn.ones_like, 1), (ttnn.zeros_like, 0), (lambda t: ttnn.full_like(t, 2.5), 2.5)):
        y = make(x)
        assert (y.dtype, y.layout, y.shape) == (x.dtype, x.layout, x.shape)
        np.testing.assert_array_equal(y.to_numpy(), np.full((2, 2), value, np.float32))
    np.testing.assert_array_equal(ttnn.arange(2, 9, 3, dtype=ttnn.int32).to_numpy(), [2, 5, 8])
    with pytest.raises(tessera.Error, match="nothing from 3 to 1"):
        ttnn.arange(3, 1)


def test_norms(device):
    a = np.random.default_rng(1).normal(size=(4, 64)).astype(np.float32)
    weight = np.linspace(0.5, 1.5, 64, dtype=np.float32)
    got = ttnn.layer_norm(put(device, a), weight=put(device, weight[None]), epsilon=1e-5).to_numpy()
    wanted = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_a_queue_and_some_cores_can_be_named(device):
    x = put(device, [[1.0, -1.0]])
    some = ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (1, 1))])
    np.testing.assert_array_equal(ttnn.relu(x, queue_id=0, sub_core_grids=some).to_numpy(), [[1, 0]])
    with pytest.raises(tessera.Error, match="queue"):
        ttnn.relu(x, queue_id=7)


def test_what_is_not_there_says_so():
    with pytest.raises(AttributeError, match="picks experts by their scores.*\n.*topk"):
        _ = ttnn.moe
    with pytest.raises(tessera.Error, match="part of TTNN and not there yet"):
        _ = ttnn.point_to_point
    with pytest.raises(AttributeError, match="has no 'softmaxx'.*\n.*softmax"):
        _ = ttnn.softmaxx
    assert not hasattr(ttnn, "moe")
