"""Operators on a card, as users call them; places and refusals are compared in test_ttnn_oracle.py."""

import numpy
import pytest

from tessera import ttnn
from tessera.ttnn.model_preprocessing import fold_batch_norm2d_into_conv2d


@pytest.fixture
def device():
    with ttnn.manage_device(0, l1_small_size=16384) as opened:
        yield opened


def tensor(values, device, layout=ttnn.TILE_LAYOUT, **more):
    return ttnn.from_numpy(values.astype(numpy.float32), ttnn.bfloat16, layout=layout, device=device, **more)


def bfloat16(values):
    return ttnn.to_numpy(ttnn.from_numpy(values.astype(numpy.float32), ttnn.bfloat16))


class Module:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def test_a_residual_block_ends_as_users_write_it(device):
    rng = numpy.random.default_rng(1)
    x, y = bfloat16(rng.normal(size=(1, 1, 64, 64))), bfloat16(rng.normal(size=(1, 1, 64, 64)))
    a, b = tensor(x, device), tensor(y, device)
    out = ttnn.add_(a, b, activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)])
    assert out.buffer_address() == a.buffer_address()
    assert numpy.allclose(ttnn.to_numpy(out), numpy.maximum(x + y, 0), rtol=2**-7, atol=2**-8)


def test_operators_and_numbers(device):
    x = bfloat16(numpy.linspace(-4, 4, 1024).reshape(32, 32))
    a = tensor(x, device)
    for got, want in ((a + 1.0, x + 1), (2.0 * a, 2 * x), (1.0 - a, 1 - x), (a * a, x * x), (ttnn.maximum(a, 0.5), numpy.maximum(x, 0.5))):
        assert numpy.allclose(ttnn.to_numpy(got), want, rtol=2**-6, atol=2**-7)


def test_linear_with_bias_and_activation(device):
    rng = numpy.random.default_rng(2)
    x, w, b = rng.normal(size=(1, 1, 32, 256)), rng.normal(size=(1, 1, 256, 100)), rng.normal(size=(1, 1, 1, 100))
    config = ttnn.init_device_compute_kernel_config(device.arch(), math_fidelity=ttnn.MathFidelity.HiFi4, fp32_dest_acc_en=True, packer_l1_acc=True)
    y = ttnn.linear(tensor(x, device), tensor(w, device), bias=tensor(b, device), activation="relu", compute_kernel_config=config)
    want = numpy.maximum(bfloat16(x)[0, 0] @ bfloat16(w)[0, 0] + bfloat16(b)[0, 0], 0)
    assert numpy.allclose(ttnn.to_numpy(y)[0, 0], want, rtol=2**-6, atol=2**-6 * numpy.sqrt(256))


def test_a_program_config_is_followed_or_refused(device):
    x, w = tensor(numpy.ones((1, 1, 32, 128)), device), tensor(numpy.ones((1, 1, 128, 256)), device)
    make = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig
    fine = make(compute_with_storage_grid_size=(8, 1), in0_block_w=2, out_subblock_h=1, out_subblock_w=1, per_core_M=1, per_core_N=1, fuse_batch=True, fused_activation=None, mcast_in0=True)
    assert ttnn.to_numpy(ttnn.linear(x, w, program_config=fine)).max() == 128
    wrong = make(compute_with_storage_grid_size=(8, 1), in0_block_w=3, out_subblock_h=1, out_subblock_w=1, per_core_M=1, per_core_N=1)
    with pytest.raises(RuntimeError, match="in0_block_w 3"):
        ttnn.linear(x, w, program_config=wrong)


def test_max_pool(device):
    rng = numpy.random.default_rng(3)
    image = bfloat16(rng.normal(size=(1, 16, 16, 32)))
    x = tensor(image.reshape(1, 1, 256, 32), device, ttnn.ROW_MAJOR_LAYOUT)
    y = ttnn.max_pool2d(x, 1, 16, 16, 32, [2, 2], [2, 2], [0, 0], [1, 1])
    want = image.reshape(8, 2, 8, 2, 32).max(axis=(1, 3)).reshape(1, 1, 64, 32)
    assert (ttnn.to_numpy(y) == want).all()


def test_max_pool_says_where_its_maxima_are(device):
    rng = numpy.random.default_rng(5)
    image = rng.permutation(256 * 32).astype(numpy.float32).reshape(1, 16, 16, 32) % 251  # exact in bfloat16
    x = tensor(image.reshape(1, 1, 256, 32), device, ttnn.ROW_MAJOR_LAYOUT)
    values, indices = ttnn.max_pool2d(x, 1, 16, 16, 32, [2, 2], [2, 2], [0, 0], [1, 1], return_indices=True)
    assert indices.dtype == ttnn.uint16 and list(indices.shape) == [1, 1, 64, 32]
    where = ttnn.to_numpy(indices).reshape(64, 32).astype(int)
    found = image.reshape(256, 32)[where, numpy.arange(32)]
    assert (found == ttnn.to_numpy(values).reshape(64, 32)).all()
    with pytest.raises(RuntimeError, match="ROW_MAJOR"):
        ttnn.max_pool2d(x, 1, 16, 16, 32, [2, 2], [2, 2], [0, 0], [1, 1], return_indices=True, output_layout=ttnn.TILE_LAYOUT)


@pytest.mark.parametrize("kind", [ttnn.Op2DDRAMSliceHeight, ttnn.Op2DDRAMSliceWidth])
def test_pools_in_slices_come_to_the_same(device, kind):
    rng = numpy.random.default_rng(6)
    image = bfloat16(rng.normal(size=(2, 18, 22, 32)))
    x = tensor(image.reshape(1, 1, -1, 32), device, ttnn.ROW_MAJOR_LAYOUT)
    arguments = (2, 18, 22, 32, [3, 3], [2, 2], [1, 1])
    slices = ttnn.Op2DSliceConfig(slice_type=kind, num_slices=3)
    whole, cut = ttnn.max_pool2d(x, *arguments, [1, 1]), ttnn.max_pool2d(x, *arguments, [1, 1], dram_slice_config=slices)
    assert list(cut.shape) == [2, 9, 11, 32] and cut.memory_config() == ttnn.DRAM_MEMORY_CONFIG
    assert (ttnn.to_numpy(cut).reshape(-1, 32) == ttnn.to_numpy(whole).reshape(-1, 32)).all()
    mean = ttnn.avg_pool2d(x, *arguments, dram_slice_config=slices)
    assert (ttnn.to_numpy(mean).reshape(-1, 32) == ttnn.to_numpy(ttnn.avg_pool2d(x, *arguments)).reshape(-1, 32)).all()
    with pytest.raises(RuntimeError, match="slices"):
        ttnn.max_pool2d(x, *arguments, [1, 1], dram_slice_config=ttnn.Op2DSliceConfig(slice_type=kind, num_slices=100))


def test_a_device_without_values_keeps_its_memory():
    device = ttnn.open_device(device_id=0, l1_small_size=16384, values=False)
    try:
        x = tensor(numpy.ones((1, 1, 256, 32)), device, ttnn.ROW_MAJOR_LAYOUT)
        y = ttnn.max_pool2d(x, 1, 16, 16, 32, [2, 2], [2, 2], [0, 0], [1, 1])
        assert y.memory_config().is_sharded() and y.buffer_address() > 0
        assert (ttnn.to_numpy(y) == 0).all()  # nothing was computed
    finally:
        ttnn.close_device(device)


def test_batch_norm_folds_into_a_convolution():
    rng = numpy.random.default_rng(4)
    conv = Module(weight=rng.normal(size=(8, 4, 3, 3)), bias=None)
    bn = Module(weight=rng.normal(size=8), bias=rng.normal(size=8), running_mean=rng.normal(size=8), running_var=rng.uniform(0.5, 2, 8), eps=1e-5, track_running_stats=True)
    weight, bias = fold_batch_norm2d_into_conv2d(conv, bn)
    assert weight.shape == (8, 4, 3, 3) and bias.shape == (8,)
    window = rng.normal(size=(4, 3, 3))
    plain = (conv.weight * window).sum(axis=(1, 2, 3))
    want = (plain - bn.running_mean) / numpy.sqrt(bn.running_var + bn.eps) * bn.weight + bn.bias
    assert numpy.allclose((weight * window).sum(axis=(1, 2, 3)) + bias.reshape(-1), want, rtol=1e-12, atol=1e-12)
    bn.track_running_stats = False
    with pytest.raises(RuntimeError, match="track_running_stats"):
        fold_batch_norm2d_into_conv2d(conv, bn)


def test_host_tensors_are_refused(device):
    host = ttnn.from_numpy(numpy.ones((32, 32), numpy.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
    with pytest.raises(RuntimeError):
        ttnn.add(host, host)
