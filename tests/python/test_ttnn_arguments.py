"""Arguments of operators that few callers give, and operators beside the usual ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tessera
from tessera import ttnn


@pytest.fixture
def device():
    card = ttnn.open_device(device_id=0)
    yield card
    ttnn.close_device(card)


def tiles(device, array, dtype=ttnn.bfloat16, **where):
    return ttnn.from_numpy(np.asarray(array), dtype, layout=ttnn.TILE_LAYOUT, device=device, **where)


def rows(device, array, dtype=ttnn.bfloat16, **where):
    return ttnn.from_numpy(np.asarray(array), dtype, device=device, **where)


def some(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_two_names_of_one_operator_are_one_object():
    for a, b in (("div", "divide"), ("div_", "divide_"), ("mul", "multiply"), ("mul_", "multiply_"), ("sub", "subtract"), ("sub_", "subtract_")):
        assert getattr(ttnn, a) is getattr(ttnn, b)


# --- sub-devices ---


def cores(x0, y0, x1, y1):
    return ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(x0, y0), ttnn.CoreCoord(x1, y1))])


def test_operators_run_on_a_sub_device(device):
    manager = device.create_sub_device_manager([ttnn.SubDevice([cores(0, 0, 3, 3)]), ttnn.SubDevice([cores(4, 0, 7, 7)])], 0)
    device.load_sub_device_manager(manager)
    assert device.get_sub_device_ids() == [ttnn.SubDeviceId(0), ttnn.SubDeviceId(1)]
    device.set_sub_device_stall_group([ttnn.SubDeviceId(0)])
    a, b = some(64, 64), some(64, 64, seed=2)
    y = ttnn.add(tiles(device, a, ttnn.float32), tiles(device, b, ttnn.float32), sub_device_id=ttnn.SubDeviceId(1))
    assert np.allclose(y.to_numpy(), a + b)
    with pytest.raises(tessera.Error, match="there is no sub-device 2, 2 are loaded"):
        ttnn.add(y, y, sub_device_id=ttnn.SubDeviceId(2))
    with pytest.raises(tessera.Error, match="do not go together"):
        ttnn.add(y, y, sub_device_id=ttnn.SubDeviceId(1), sub_core_grids=cores(0, 0, 1, 1))
    with pytest.raises(tessera.Error, match="is loaded"):
        device.remove_sub_device_manager(manager)
    device.reset_sub_device_stall_group()
    device.clear_loaded_sub_device_manager()
    device.remove_sub_device_manager(manager)
    assert device.get_sub_device_ids() == []


def test_sub_devices_share_no_cores(device):
    parts = [ttnn.SubDevice([cores(0, 0, 3, 3)]), ttnn.SubDevice([cores(3, 3, 4, 4)])]
    with pytest.raises(tessera.Error, match="the sub-devices 0 and 1 share cores"):
        device.create_sub_device_manager(parts, 0)
    with pytest.raises(tessera.Error, match="not all among the 8 x 8"):
        device.create_sub_device_manager([ttnn.SubDevice([cores(0, 0, 8, 3)])], 0)


# --- gelu ---


def gelu(x, tanh):
    inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) if tanh else np.vectorize(math.erf)(x / math.sqrt(2))
    return 0.5 * x * (1 + inner)


@pytest.mark.parametrize("tanh", [False, True])
def test_gelu_and_its_slope_have_two_variants(device, tanh):
    variant = ttnn.GeluVariant.Tanh if tanh else ttnn.GeluVariant.Accurate
    x, step = some(32, 64).astype(np.float64), 1e-5
    given = tiles(device, x.astype(np.float32), ttnn.float32)
    assert np.allclose(ttnn.gelu(given, variant=variant).to_numpy(), gelu(x, tanh), atol=1e-5)
    slope = (gelu(x + step, tanh) - gelu(x - step, tanh)) / (2 * step)
    g = tiles(device, np.full((32, 64), 2, np.float32), ttnn.float32)
    (grad,) = ttnn.gelu_bw(g, given, variant=variant)
    assert np.allclose(grad.to_numpy(), 2 * slope, atol=1e-4)
    same = ttnn.experimental.gelu_bw(g, given, approximate="tanh" if tanh else "none")
    assert (same.to_numpy() == grad.to_numpy()).all()
    of_x, of_bias = ttnn.bias_gelu_bw(g, given, ttnn.zeros_like(given), variant=variant)
    assert np.allclose(of_x.to_numpy(), grad.to_numpy(), atol=1e-6) and (of_x.to_numpy() == of_bias.to_numpy()).all()


def test_gelu_by_tanh_can_be_fused(device):
    a = tiles(device, some(32, 32), ttnn.float32)
    y = ttnn.add(a, 0.0, activations=[ttnn.UnaryWithParam(ttnn.UnaryOpType.GELU_TANH)])
    assert np.allclose(y.to_numpy(), gelu(some(32, 32).astype(np.float64), True), atol=1e-5)


# --- activations by number ---


@pytest.mark.parametrize(
    ("op", "parameter", "meaning"),
    [
        ("ADD_UNARY_SFPU", 1.5, lambda x: x + 1.5), ("RSUB", 2.0, lambda x: 2 - x), ("POWER", 2.0, lambda x: x * x),
        ("UNARY_GT", 0.5, lambda x: x > 0.5), ("UNARY_LE", 0.5, lambda x: x <= 0.5), ("FMOD", 0.3, lambda x: np.fmod(x, np.float32(0.3))),
        ("MAXIMUM", 0.25, lambda x: np.maximum(x, 0.25)), ("PRELU_SFPU", 0.5, lambda x: np.where(x < 0, x * 0.5, x)), ("SOFTCAP", 2.0, lambda x: 2 * np.tanh(x / 2)),
    ],
)  # fmt: skip
def test_functions_of_a_number_can_be_fused(device, op, parameter, meaning):
    f = ttnn.UnaryWithParam(getattr(ttnn.UnaryOpType, op), parameter)
    assert f.op_type == getattr(ttnn.UnaryOpType, op) and f.params == [pytest.approx(parameter)]
    y = ttnn.unary_chain(tiles(device, some(32, 32), ttnn.float32), [f])
    assert np.allclose(y.to_numpy(), meaning(some(32, 32)), atol=1e-5)
    assert not hasattr(ttnn, "add_unary")


# --- values at the edges ---


def test_what_is_no_number_reads_back_from_16_bits_as_an_infinity(device):
    a, b = [0.0, 1.0, -1.0, 7.0], [0.0, 0.0, 0.0, 2.0]
    wide = ttnn.div(tiles(device, [a], ttnn.float32), tiles(device, [b], ttnn.float32)).to_numpy()
    narrow = ttnn.div(tiles(device, [a]), tiles(device, [b])).to_numpy()
    assert np.isnan(wide[0, 0]) and list(wide[0, 1:]) == [math.inf, -math.inf, 3.5]
    assert list(narrow[0]) == [math.inf, math.inf, -math.inf, 3.5]
    nothing = tiles(device, [[0.0, -0.0]], ttnn.float32)
    assert np.isnan(ttnn.pow(nothing, -1.5).to_numpy()).all()
    assert (ttnn.pow(nothing, 0.0).to_numpy() == 1).all() and (ttnn.pow(nothing, 0.5).to_numpy() == 0).all()


def test_integers_meet_numbers_as_they_are(device):
    x = tiles(device, np.zeros((1, 4), np.int32), ttnn.int32)
    assert (ttnn.fill(x, 2147483647).to_numpy() == 2147483647).all()
    u = tiles(device, np.zeros((1, 4), np.uint32), ttnn.uint32)
    assert (ttnn.fill(u, 4294967293).to_numpy() == 4294967293).all()


def test_shifts_to_the_right_keep_the_sign_bit(device):
    x = tiles(device, np.array([[0x80000000, 0xFFFFFFFE, 4096, 255]], np.uint32), ttnn.uint32)
    assert list(ttnn.bitwise_right_shift(x, 4).to_numpy()[0]) == [0xF8000000, 0xFFFFFFFF, 256, 15]
    assert list(ttnn.logical_right_shift(x, 4).to_numpy()[0]) == [0x08000000, 0x0FFFFFFF, 256, 15]


def test_remainders_and_powers_meet_a_number_as_it_is(device):
    x = np.array([[0.3, 1.0, -2.0, 100.0]], np.float32)
    y = ttnn.fmod(tiles(device, x), 0.0025).to_numpy()
    given = ttnn.from_numpy(x, ttnn.bfloat16).to_numpy()
    assert np.allclose(y, np.fmod(given, np.float32(0.0025)), atol=1e-5)


def test_xielu_takes_its_parameters_as_they_are(device):
    x = some(32, 32)
    y = ttnn.xielu(tiles(device, x, ttnn.float32), alpha_p=0.3, alpha_n=0.1).to_numpy()
    assert np.allclose(y, np.where(x > 0, 0.3 * x * x + 0.5 * x, 0.1 * (np.expm1(np.minimum(x, -1e-6)) - x) + 0.5 * x), atol=1e-5)


def test_snake_beta_rounds_once(device):
    x, alpha, beta = some(64, 32), np.full(32, 1.5, np.float32), np.full(32, 0.75, np.float32)
    y = ttnn.snake_beta(tiles(device, x), tiles(device, alpha), tiles(device, beta)).to_numpy()
    given = ttnn.from_numpy(x, ttnn.bfloat16).to_numpy().astype(np.float64)
    assert np.allclose(y, given + np.sin(1.5 * given) ** 2 / 0.75, rtol=2**-8, atol=1e-6)
    with pytest.raises(tessera.Error, match="requires input.W == alpha.W, got 32 vs 1"):
        ttnn.snake_beta(tiles(device, x), tiles(device, np.ones((64, 1), np.float32)), tiles(device, np.ones((64, 1), np.float32)))
    with pytest.raises(tessera.Error, match="BFLOAT16 or FLOAT32"):
        ttnn.snake_beta(tiles(device, x), tiles(device, alpha, ttnn.float32), tiles(device, beta))


# --- results in given tensors ---


def test_results_go_into_given_tensors(device):
    x = some(64, 64)
    a = tiles(device, x)
    out = tiles(device, np.zeros((128, 64), np.float32))
    assert ttnn.concat([a, a], 0, output_tensor=out).buffer_address() == out.buffer_address()
    assert (out.to_numpy()[64:] == a.to_numpy()).all()
    part = tiles(device, np.zeros((32, 64), np.float32))
    ttnn.slice(a, [32, 0], [64, 64], [1, 1], output_tensor=part)
    assert (part.to_numpy() == a.to_numpy()[32:]).all()
    product = tiles(device, np.zeros((64, 64), np.float32))
    ttnn.matmul(a, a, optional_output_tensor=product)
    assert (product.to_numpy() == (a @ a).to_numpy()).all()
    full = tiles(device, np.zeros((64, 64), np.float32))
    ttnn.full([64, 64], 3, optional_tensor=full)
    assert (full.to_numpy() == 3).all()
    with pytest.raises(tessera.Error, match=r"concat: the output tensor is \[64, 64\]"):
        ttnn.concat([a, a], 0, output_tensor=a)


def test_a_slice_is_written_over_a_part_of_a_tensor(device):
    whole = rows(device, np.zeros((4, 8), np.float32))
    x = rows(device, np.ones((2, 2), np.float32))
    assert ttnn.experimental.slice_write(x, whole, [1, 0], [3, 8], [1, 4]).buffer_address() == whole.buffer_address()
    expected = np.zeros((4, 8), np.float32)
    expected[1:3, 0:8:4] = 1
    assert (whole.to_numpy() == expected).all()
    with pytest.raises(tessera.Error, match="slice_write: 4 elements go from 0 to 8, not 2"):
        ttnn.experimental.slice_write(x, whole, [1, 0], [3, 8], [1, 2])


def test_embeddings_of_all_kinds_are_the_rows_that_indices_name(device):
    table = rows(device, some(16, 32))
    index = rows(device, np.array([[3, 0, 15, 3]], np.uint32), ttnn.uint32)
    plain = ttnn.embedding(index, table).to_numpy()
    assert (ttnn.embedding(index, table, embeddings_type=ttnn.EmbeddingsType.PADDED, padding_idx=3).to_numpy() == plain).all()
    with pytest.raises(tessera.Error, match="BINARY is for weights of 2 rows"):
        ttnn.embedding(index, table, embeddings_type=ttnn.EmbeddingsType.BINARY)
    with pytest.raises(tessera.Error, match="PADDED needs a padding_idx"):
        ttnn.embedding(index, table, embeddings_type=ttnn.EmbeddingsType.PADDED)


@pytest.mark.parametrize("dtype", [ttnn.float32, ttnn.bfloat16, ttnn.bfloat8_b])
def test_the_gradient_of_a_table_adds_up_where_its_rows_were_named(device, dtype):
    index = np.random.default_rng(4).integers(0, 8, (1, 64)).astype(np.uint32)
    g = np.random.default_rng(5).integers(-4, 5, (1, 1, 64, 32)).astype(np.float32)
    y = ttnn.embedding_bw(rows(device, index, ttnn.uint32), tiles(device, some(8, 32)), tiles(device, g, dtype))
    expected = np.zeros((8, 32), np.float32)
    np.add.at(expected, index[0], g[0, 0])
    assert y.dtype == dtype and tuple(y.shape) == (1, 1, 8, 32)
    assert np.allclose(y.to_numpy()[0, 0], expected, atol=0.5 if dtype == ttnn.bfloat8_b else 0)
    with pytest.raises(tessera.Error, match=r"the gradient must be \[1, 1, 64, 32\]"):
        ttnn.embedding_bw(rows(device, index, ttnn.uint32), tiles(device, some(8, 32)), tiles(device, g[0], dtype))


def test_the_gradient_of_a_repetition_adds_its_repetitions_up(device):
    g = some(64, 96)
    (y,) = ttnn.repeat_bw(tiles(device, g, ttnn.float32), tiles(device, some(32, 32), ttnn.float32), [2, 3])
    assert np.allclose(y.to_numpy(), g.reshape(2, 32, 3, 32).sum((0, 2)), atol=1e-5)


def test_bits_are_seen_as_another_type(device):
    x = some(32, 32)
    y = ttnn.bitcast(tiles(device, x, ttnn.float32), ttnn.uint32)
    assert (y.to_numpy() == x.view(np.uint32)).all()
    with pytest.raises(tessera.Error, match="float32 and bfloat16 have elements of 4 and 2 bytes"):
        ttnn.bitcast(tiles(device, x, ttnn.float32), ttnn.bfloat16)


# --- tensors on the host ---


def test_host_tensors_are_indexed_and_reshaped():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for dtype, layout in ((ttnn.float32, ttnn.ROW_MAJOR_LAYOUT), (ttnn.bfloat8_b, ttnn.TILE_LAYOUT), (ttnn.int32, ttnn.TILE_LAYOUT)):
        t = ttnn.from_numpy(x, dtype, layout=layout)
        whole = t.to_numpy()
        for index in (np.s_[1], np.s_[:, 1:3], np.s_[..., -1], np.s_[0, ::2, 1:4:2], np.s_[:, :, :]):
            cut = t[index]
            assert cut.storage_type() == ttnn.StorageType.HOST and cut.layout == layout
            assert (cut.to_numpy() == ttnn.from_numpy(whole[index], dtype, layout=layout).to_numpy()).all()
    assert tuple(ttnn.reshape(ttnn.from_numpy(x), [6, 4]).shape) == (6, 4)
    assert tuple(ttnn.from_numpy(x).reshape(1, 1, 6, 4).shape) == (1, 1, 6, 4)


def test_tiles_of_host_tensors_are_filled_up():
    x = ttnn.from_numpy(np.ones((2, 3), np.float32)).pad_to_tile(7)
    assert tuple(x.shape) == (2, 3) and tuple(x.padded_shape) == (32, 32)
    back = x.unpad_from_tile([2, 3])
    assert back.layout == ttnn.ROW_MAJOR_LAYOUT and (back.to_numpy() == 1).all()
    with pytest.raises(tessera.Error, match=r"the tensor is \[2, 3\], not \[3, 3\]"):
        x.unpad_from_tile([3, 3])


def test_no_array_is_the_tensor_itself():
    with pytest.raises(ValueError, match="always a copy"):
        np.array(ttnn.zeros([2, 2]), copy=False)


# --- configs and facts ---


def test_specs_are_sharded_by_a_shape_and_cores():
    spec = ttnn.TensorSpec((64, 96), ttnn.bfloat16, ttnn.TILE_LAYOUT, ttnn.BufferType.L1)
    sharded = spec.sharded(ttnn.Shape([30, 96]), cores(0, 0, 3, 0))
    assert list(sharded.memory_config.shard_spec.shape) == [32, 96]
    assert sharded == spec.sharded(ttnn.NdShardSpec((30, 96), cores(0, 0, 3, 0)))
    with pytest.raises(tessera.Error, match="30, 90"):
        spec.sharded(ttnn.Shape([30, 90]), cores(0, 0, 3, 0), ttnn.ShardShapeAlignment.NONE)


def test_program_configs_of_products_say_what_they_hold(device):
    config = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=(2, 1), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, per_core_M=1, per_core_N=1,
        allowed_worker_cores=cores(4, 4, 5, 4),
    )  # fmt: skip
    assert (config.per_core_N, config.mcast_in0, config.compute_with_storage_grid_size) == (1, True, ttnn.CoreCoord(2, 1))
    a, b = tiles(device, some(32, 64)), tiles(device, some(64, 64, seed=3))
    y = ttnn.matmul(a, b, program_config=config)
    config.allowed_worker_cores = None
    assert (y.to_numpy() == ttnn.matmul(a, b, program_config=config).to_numpy()).all()
    config.allowed_worker_cores = cores(0, 0, 0, 0)
    with pytest.raises(tessera.Error, match="allowed_worker_cores are 1, the grid of 2 x 1 has 2"):
        ttnn.matmul(a, b, program_config=config)
    with pytest.raises(tessera.Error, match="gather_in0"):
        ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
            compute_with_storage_grid_size=(2, 1), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, per_core_M=1, per_core_N=1,
            gather_in0=True,
        )  # fmt: skip


def test_pools_keep_their_lists_in_dram_where_there_is_no_l1_small(device):
    x = rows(device, some(1, 1, 64, 32))
    with pytest.raises(tessera.Error, match="L1_SMALL"):
        ttnn.max_pool2d(x, 1, 8, 8, 32, [2, 2], [2, 2], [0, 0], [1, 1])
    y = ttnn.max_pool2d(x, 1, 8, 8, 32, [2, 2], [2, 2], [0, 0], [1, 1], config_tensor_in_dram=True)
    given = x.to_numpy().reshape(4, 2, 4, 2, 32)
    assert (y.to_numpy().reshape(4, 4, 32) == given.max(axis=(1, 3))).all()


def test_settings_that_change_no_value_are_checked(device):
    assert ttnn.WormholeComputeKernelConfig(throttle_level=ttnn.ThrottleLevel.LEVEL_3).throttle_level == 3
    with pytest.raises(tessera.Error, match="throttle_level 6 is not 0 to 5"):
        ttnn.WormholeComputeKernelConfig(throttle_level=6)
    with pytest.raises(TypeError):
        ttnn.init_device_compute_kernel_config("wormhole")
    with pytest.raises(tessera.Error, match="vector_mode 3 is not 1"):
        ttnn.sigmoid(tiles(device, some(32, 32)), vector_mode=3)
    with pytest.raises(TypeError):
        ttnn.sigmoid(tiles(device, some(32, 32)), mode="fast")


def test_whoever_goes_through_all_types_goes_through_those_of_ttnn():
    assert "FLOAT16" not in [each.name for each in ttnn.DataType]
    assert ttnn.float16 == ttnn.DataType.FLOAT16 and ttnn.DEVICE_STORAGE_TYPE == ttnn.StorageType.DEVICE


def test_one_chip_is_a_mesh_of_one(device):
    assert tuple(device.shape) == (1, 1)
    assert device.sfpu_inf() > 1e38


def test_integral_images(device):
    x = np.random.default_rng(5).integers(0, 3, (1, 6, 8, 32)).astype(np.float32)
    y = ttnn.experimental.intimg(tiles(device, x, ttnn.float32))
    assert (y.to_numpy() == x.cumsum(1).cumsum(2)).all()


def test_how_alike_two_arrays_are():
    x = some(100)
    assert ttnn.pearson_correlation_coefficient(x, 2 * x + 1) == pytest.approx(1)
    assert ttnn.pearson_correlation_coefficient(x, -x) == pytest.approx(-1)
    assert ttnn.pearson_correlation_coefficient(np.full(3, math.nan), np.full(3, math.nan)) == 1
    assert ttnn.pearson_correlation_coefficient(np.zeros(3), np.ones(3)) == 0
