"""Operators of ttnn that public models call: values against numpy, keywords, what is refused, memory that is shared."""

import numpy as np
import pytest

import tessera
from tessera import ttnn

RNG = np.random.default_rng(7)


@pytest.fixture
def device():
    device = ttnn.open_device(device_id=0, l1_small_size=16384)
    yield device
    ttnn.close_device(device)


def put(device, values, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT):
    return ttnn.from_numpy(np.asarray(values, np.float32), dtype, layout=layout, device=device)


def indices(device, values, layout=ttnn.TILE_LAYOUT, dtype=ttnn.uint32):
    return ttnn.from_numpy(np.asarray(values, np.int32), dtype, layout=layout, device=device)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


# --- indices ---


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_picks_what_indices_name(device, dim):
    x, at = normal(4, 5, 40), RNG.integers(0, 4, size=(4, 5, 40))
    got = ttnn.gather(put(device, x), dim, index=indices(device, at))
    np.testing.assert_array_equal(got.to_numpy(), np.take_along_axis(x, at, dim))


def test_gather_refuses_an_index_of_another_type_or_layout(device):
    x = put(device, normal(4, 40))
    with pytest.raises(tessera.Error, match="index must be UINT32 or UINT16, it is int32"):
        ttnn.gather(x, 1, index=indices(device, np.zeros((4, 3)), dtype=ttnn.int32))
    with pytest.raises(tessera.Error, match="both must have the same layout"):
        ttnn.gather(x, 1, index=indices(device, np.zeros((4, 3)), layout=ttnn.ROW_MAJOR_LAYOUT))


def test_scatter_replaces_and_combines(device):
    x, source = normal(4, 6), normal(4, 3)
    at = np.array([[0, 1, 5], [2, 2, 3], [4, 0, 1], [5, 5, 5]])
    rows = ttnn.ROW_MAJOR_LAYOUT
    call = lambda **how: ttnn.scatter(  # noqa: E731
        put(device, x, layout=rows), 1, indices(device, at, rows, ttnn.int32), put(device, source, layout=rows), **how
    ).to_numpy()
    replaced, added, largest = x.copy(), x.astype(np.float64), x.copy()
    for r, c in np.ndindex(at.shape):
        replaced[r, at[r, c]] = source[r, c]
        added[r, at[r, c]] += source[r, c]
        largest[r, at[r, c]] = max(largest[r, at[r, c]], source[r, c])
    np.testing.assert_array_equal(call(), replaced)
    np.testing.assert_allclose(call(reduce="add"), added, rtol=1e-6)
    np.testing.assert_array_equal(call(reduce="amax"), largest)
    with pytest.raises(tessera.Error, match="reduce is 'most'"):
        call(reduce="most")


@pytest.mark.parametrize("layout", [ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT])
@pytest.mark.parametrize("descending", [False, True])
def test_sort_gives_values_and_where_they_were(device, layout, descending):
    x = normal(3, 5, 70)
    values, where = ttnn.sort(put(device, x, layout=layout), dim=1, descending=descending)
    order = np.argsort(-x if descending else x, axis=1, kind="stable")
    np.testing.assert_array_equal(where.to_numpy(), order)
    np.testing.assert_array_equal(values.to_numpy(), np.take_along_axis(x, order, 1))
    assert where.dtype == ttnn.uint32


def test_topk_gives_the_largest_or_the_smallest(device):
    x = normal(1, 1, 32, 70)
    tensor = put(device, x, ttnn.bfloat16)
    exact = tensor.to_numpy()
    for largest in (True, False):
        values, where = ttnn.topk(tensor, 5, dim=-1, largest=largest)
        order = np.argsort(-exact if largest else exact, axis=-1, kind="stable")[..., :5]
        np.testing.assert_array_equal(where.to_numpy(), order)
        np.testing.assert_array_equal(values.to_numpy(), np.take_along_axis(exact, order, -1))
        assert where.dtype == ttnn.uint16
    with pytest.raises(tessera.Error, match="K=71 elements of a dimension of size 70"):
        ttnn.topk(tensor, 71)


def test_nonzero_lists_coordinates(device):
    x = np.zeros((1, 2, 3, 4), np.float32)
    x[0, 1, 2, 3] = x[0, 0, 1, 0] = 2
    count, where = ttnn.nonzero(put(device, x, layout=ttnn.ROW_MAJOR_LAYOUT))
    assert count.to_numpy().ravel()[0] == 2
    np.testing.assert_array_equal(where.to_numpy().ravel()[:8].reshape(2, 4), np.argwhere(x))


@pytest.mark.parametrize(("shifts", "dims"), [(3, 1), (-2, -1), ([1, 7], [0, 2]), (5, None)])
def test_roll_turns_dimensions(device, shifts, dims):
    x = normal(2, 5, 40)
    got = ttnn.roll(put(device, x), shifts) if dims is None else ttnn.roll(put(device, x), shifts, dims)
    np.testing.assert_array_equal(got.to_numpy(), np.roll(x, shifts, dims if dims is None or isinstance(dims, int) else tuple(dims)))


# --- norms ---


def test_group_norm_normalizes_groups_of_channels(device):
    x, weight, bias = normal(2, 1, 64, 96), normal(96), normal(96)
    as_rows = lambda t: put(device, ttnn.create_group_norm_weight_bias_rm(t, 96, 2), layout=ttnn.ROW_MAJOR_LAYOUT)  # noqa: E731
    y = ttnn.group_norm(put(device, x), num_groups=6, epsilon=1e-5, weight=as_rows(weight), bias=as_rows(bias), inplace=False)
    groups = x.astype(np.float64).reshape(2, 64, 6, 16)
    wanted = (groups - groups.mean((1, 3), keepdims=True)) / np.sqrt(groups.var((1, 3), keepdims=True) + 1e-5)
    np.testing.assert_allclose(y.to_numpy(), wanted.reshape(x.shape) * weight + bias, rtol=1e-5, atol=1e-5)
    with pytest.raises(tessera.Error, match="96 channels must be divisible by 5 groups"):
        ttnn.group_norm(put(device, x), num_groups=5, inplace=False)
    with pytest.raises(tessera.Error, match="TILE layout cannot be written in place"):
        ttnn.group_norm(put(device, x), num_groups=6)


def test_masks_of_groups_begin_in_the_tile_of_the_group():
    mask = ttnn.create_group_norm_input_mask(96, 6, 2).to_numpy()
    assert mask.shape == (1, 6, 32, 32)
    np.testing.assert_array_equal(mask[0, 1, 0], np.r_[np.zeros(16), np.ones(16)])
    np.testing.assert_array_equal(mask[0, 3], mask[0, 0])  # the first group of the second core
    np.testing.assert_array_equal(ttnn.create_group_norm_input_negative_mask(96, 6, 2).to_numpy(), 1 - mask)


def test_batch_norm_by_given_statistics_and_by_its_own(device):
    x, mean, weight, bias = normal(3, 4, 5, 6), normal(1, 4, 1, 1), normal(1, 4, 1, 1), normal(1, 4, 1, 1)
    variance = np.abs(normal(1, 4, 1, 1)) + 0.5
    on = lambda t: put(device, t)  # noqa: E731
    y = ttnn.batch_norm(on(x), running_mean=on(mean), running_var=on(variance), weight=on(weight), bias=on(bias))
    np.testing.assert_allclose(y.to_numpy(), (x - mean) / np.sqrt(variance + 1e-5) * weight + bias, rtol=1e-5, atol=1e-5)
    moving_mean, moving_variance = on(mean), on(variance)
    y = ttnn.batch_norm(on(x), running_mean=moving_mean, running_var=moving_variance, training=True, momentum=0.25)
    of_batch, spread = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    np.testing.assert_allclose(y.to_numpy(), (x - of_batch) / np.sqrt(spread + 1e-5), rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(moving_mean.to_numpy(), 0.75 * mean + 0.25 * of_batch, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(moving_variance.to_numpy(), 0.75 * variance + 0.25 * spread, rtol=2e-3, atol=1e-3)
    with pytest.raises(tessera.Error, match="must be given when not training"):
        ttnn.batch_norm(on(x))


def sharded(device, x, layout, cores, shard):
    grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(*cores))])
    config = ttnn.MemoryConfig(layout, ttnn.BufferType.L1, ttnn.ShardSpec(grid, shard, ttnn.ShardOrientation.ROW_MAJOR))
    return ttnn.from_numpy(x, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=config)


def test_layer_norm_of_shards_by_its_program_config(device):
    x = normal(1, 1, 64, 128)
    config = lambda **how: ttnn.LayerNormShardedMultiCoreProgramConfig(  # noqa: E731
        **{"compute_with_storage_grid_size": (2, 2), "subblock_w": 1, "block_h": 1, "block_w": 2, "inplace": False, **how}
    )
    tensor = lambda: sharded(device, x, ttnn.TensorMemoryLayout.BLOCK_SHARDED, (1, 1), (32, 64))  # noqa: E731
    y = ttnn.layer_norm(tensor(), program_config=config())
    wanted = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    np.testing.assert_allclose(y.to_numpy(), wanted, atol=0.05)
    given = tensor()
    assert ttnn.layer_norm(given, program_config=config(inplace=True)).buffer_address() == given.buffer_address()
    with pytest.raises(tessera.Error, match=r"block_h \(2\) and block_w \(2\) must be the tiles of a shard, 1 x 2"):
        ttnn.layer_norm(tensor(), program_config=config(block_h=2))
    with pytest.raises(tessera.Error, match="Welford's algorithm is not for this norm"):
        ttnn.rms_norm(tensor(), program_config=config(use_welford=True))


# --- softmax and attention ---

# Scores reach 8 below the largest, and the matrix engine takes 10 bits of them; powers and 1 / sum lose as much once more.
SOFTMAX = (8 / 2 + 2) * 2**-10



def test_softmax_in_place_and_masked(device):
    x, mask = normal(2, 1, 32, 64), np.where(RNG.random((2, 1, 1, 64)) < 0.3, -1e9, 0).astype(np.float32)
    scores = put(device, x)
    y = ttnn.softmax_in_place(scores)
    assert y.buffer_address() == scores.buffer_address()
    np.testing.assert_allclose(scores.to_numpy(), softmax(x), rtol=SOFTMAX, atol=1e-6)
    y = ttnn.scale_mask_softmax(put(device, x), 0.5, put(device, mask))
    np.testing.assert_allclose(y.to_numpy(), softmax(x * 0.5 + mask), rtol=SOFTMAX, atol=1e-6)
    y = ttnn.transformer.attention_softmax_(put(device, x), head_size=16, attention_mask=put(device, mask))
    np.testing.assert_allclose(y.to_numpy(), softmax(x / 4 + mask), rtol=SOFTMAX, atol=1e-6)
    causal = np.triu(np.full((2, 1, 32, 64), -1e9, np.float32), 1)
    y = ttnn.scale_mask_softmax_in_place(put(device, x), 1.0, put(device, causal), is_causal_mask=True)
    np.testing.assert_allclose(y.to_numpy(), softmax(x + causal), rtol=SOFTMAX, atol=1e-6)
    with pytest.raises(tessera.Error, match="a scale needs a mask"):
        ttnn.scale_mask_softmax(put(device, x), 0.5)


@pytest.mark.parametrize("transposed", [True, False])
def test_heads_are_split_and_joined(device, transposed):
    x = normal(2, 40, 3 * 128)
    q, k, v = ttnn.transformer.split_query_key_value_and_split_heads(put(device, x), num_heads=4, transpose_key=transposed)
    wanted = x.reshape(2, 40, 3, 4, 32).transpose(2, 0, 3, 1, 4)
    np.testing.assert_array_equal(q.to_numpy(), wanted[0])
    np.testing.assert_array_equal(k.to_numpy(), wanted[1].swapaxes(-1, -2) if transposed else wanted[1])
    np.testing.assert_array_equal(v.to_numpy(), wanted[2])
    np.testing.assert_array_equal(ttnn.transformer.concatenate_heads(q).to_numpy(), x[..., :128])
    with pytest.raises(tessera.Error, match="384 columns do not make up 5 heads"):
        ttnn.transformer.split_query_key_value_and_split_heads(put(device, x), num_heads=5)


@pytest.mark.parametrize("mode", ["plain", "causal", "masked", "grouped", "window"])
def test_attention_is_softmax_of_products_times_values(device, mode):
    q, k, v = normal(1, 4, 64, 32), normal(1, 2 if mode == "grouped" else 4, 64, 32), normal(1, 2 if mode == "grouped" else 4, 64, 32)
    mask = np.zeros((64, 64), np.float32)
    i, j = np.indices(mask.shape)
    how = {"is_causal": mode in ("causal", "window")}
    if how["is_causal"]:
        mask[j > i] = -np.inf
    if mode == "window":
        how["sliding_window_size"] = 5
        mask[i - j >= 5] = -np.inf
    if mode == "masked":
        mask = np.where(RNG.random((64, 64)) < 0.2, -1e9, 0).astype(np.float32)
        how["attn_mask"] = put(device, mask[None, None], ttnn.bfloat16)
    got = ttnn.transformer.scaled_dot_product_attention(*(put(device, t, ttnn.bfloat16) for t in (q, k, v)), **how).to_numpy()
    if mode == "grouped":
        k, v = k.repeat(2, 1), v.repeat(2, 1)
    wanted = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(np.float32(32)) + mask) @ v
    assert np.corrcoef(got.ravel(), wanted.ravel())[0, 1] > 0.999
    assert np.abs(got - wanted).max() < 0.06  # bfloat16 scores of up to 4 standard deviations


# --- images ---


def bilinear(image, y, x):
    top, left = int(np.floor(y)), int(np.floor(x))
    value = np.zeros(image.shape[-1])
    for r, c in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        if 0 <= r < image.shape[0] and 0 <= c < image.shape[1]:
            value += (1 - abs(y - r)) * (1 - abs(x - c)) * image[r, c]
    return value


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("prepared", [False, True])
def test_grid_sample_reads_between_pixels(device, align, prepared):
    x, points = normal(1, 6, 7, 32), RNG.uniform(-1.2, 1.2, (1, 3, 4, 2)).astype(np.float32)
    grid = ttnn.from_numpy(points, ttnn.float32)
    if prepared:
        grid = ttnn.prepare_grid_sample_grid(grid, [1, 6, 7, 32], align_corners=align, output_dtype=ttnn.bfloat16)
    rows = ttnn.ROW_MAJOR_LAYOUT
    y = ttnn.grid_sample(put(device, x, layout=rows), ttnn.to_device(grid, device), align_corners=align, use_precomputed_grid=prepared)
    place = lambda v, n: (v + 1) / 2 * (n - 1) if align else (v + 1) * n / 2 - 0.5  # noqa: E731
    wanted = [bilinear(x[0], place(p[1], 6), place(p[0], 7)) for p in points.reshape(-1, 2)]
    # Weights are bfloat16: each is off by up to 2**-9, and pixels are at most 4.5.
    np.testing.assert_allclose(y.to_numpy().reshape(-1, 32), wanted, atol=4 * 4.5 * 2**-8)


def test_rotate_turns_against_the_clock(device):
    x = normal(1, 5, 5, 32)
    y = ttnn.rotate(put(device, x, layout=ttnn.ROW_MAJOR_LAYOUT), 90.0)
    np.testing.assert_array_equal(y.to_numpy(), np.rot90(x, 1, (1, 2)))
    with pytest.raises(tessera.Error, match="only 'nearest' and 'bilinear' are supported, not 'cubic'"):
        ttnn.rotate(put(device, x, layout=ttnn.ROW_MAJOR_LAYOUT), 90.0, interpolation_mode="cubic")


def test_conv1d_convolves_rows(device):
    x, weight = normal(2, 40, 32), normal(16, 32, 3)
    y, length = ttnn.conv1d(
        input_tensor=ttnn.from_numpy(x, ttnn.bfloat16), weight_tensor=ttnn.from_numpy(weight, ttnn.bfloat16), device=device,
        in_channels=32, out_channels=16, batch_size=2, input_length=40, kernel_size=3, padding=1, return_output_dim=True,
    )  # fmt: skip
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0)))
    wanted = sum(padded[:, k : k + 40] @ weight[:, :, k].T for k in range(3))
    assert length == 40
    assert np.corrcoef(y.to_numpy().ravel(), wanted.reshape(1, 1, 80, 16).ravel())[0, 1] > 0.999


# --- tiles, made of others, gradients ---


def test_padding_of_tiles_can_be_seen_and_filled(device):
    x = normal(1, 1, 5, 7)
    y = ttnn.fill_implicit_tile_padding(put(device, x), 3.0)
    whole = ttnn.untilize_with_unpadding(y, [0, 0, 31, 31]).to_numpy()
    np.testing.assert_array_equal(whole[..., :5, :7], x)
    assert whole.sum() - x.sum() == pytest.approx(3 * (32 * 32 - 35), abs=1e-2)
    np.testing.assert_array_equal(ttnn.untilize_with_unpadding(y, [0, 0, 3, 5]).to_numpy(), x[..., :4, :6])
    z = ttnn.tilize_with_val_padding(put(device, x, layout=ttnn.ROW_MAJOR_LAYOUT), [1, 1, 32, 32], -1.0)
    assert tuple(z.shape) == (1, 1, 5, 7)
    assert ttnn.untilize_with_unpadding(z, [0, 0, 31, 31]).to_numpy()[0, 0, 31, 31] == -1


def test_gates_and_statistics(device):
    x = normal(1, 1, 32, 128)
    a, b = x[..., :64], x[..., 64:]
    np.testing.assert_allclose(ttnn.glu(put(device, x), -1).to_numpy(), a / (1 + np.exp(-b)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ttnn.reglu(put(device, x), -1).to_numpy(), a * np.maximum(b, 0), rtol=1e-6)
    np.testing.assert_allclose(ttnn.var_hw(put(device, x)).to_numpy().ravel(), [x.var()], rtol=1e-5)
    np.testing.assert_array_equal(ttnn.tril(put(device, x), diagonal=-2).to_numpy(), np.tril(x, -2))
    np.testing.assert_array_equal(ttnn.triu(put(device, x)).to_numpy(), np.triu(x))
    np.testing.assert_allclose(ttnn.polyval(put(device, x), [1, -2, 3]).to_numpy(), x * x - 2 * x + 3, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ttnn.prelu(put(device, x), 0.25).to_numpy(), np.where(x > 0, x, x / 4), rtol=1e-6)
    np.testing.assert_array_equal(ttnn.isclose(put(device, x), put(device, x * 1.1), rtol=0.2).to_numpy(), np.ones_like(x))
    np.testing.assert_allclose(ttnn.outer(put(device, a[0, 0, 0]), put(device, b[0, 0, 0])).to_numpy(), np.outer(a[0, 0, 0], b[0, 0, 0]), rtol=1e-6)
    loss = ttnn.mse_loss(put(device, a), put(device, b), reduction=ttnn.LossReductionMode.MEAN)
    assert loss.to_numpy() == pytest.approx(np.square(a - b).mean(), rel=2e-3)


@pytest.mark.parametrize(
    ("name", "function"),
    [("tanh_bw", np.tanh), ("sigmoid_bw", lambda v: 1 / (1 + np.exp(-v))), ("log1p_bw", np.log1p), ("sqrt_bw", np.sqrt), ("cos_bw", np.cos), ("exp_bw", np.exp)],
)
def test_gradients_are_slopes(device, name, function):
    x, g, step = np.linspace(0.2, 2, 32), np.linspace(-1, 1, 32), 1e-5
    slope = (function(x + step) - function(x - step)) / (2 * step)
    (got,) = getattr(ttnn, name)(put(device, g), put(device, x))
    np.testing.assert_allclose(got.to_numpy(), g * slope, rtol=1e-5, atol=1e-6)


def test_gradients_of_two_operands(device):
    a, b, g = np.linspace(1, 2, 32), np.linspace(3, 2, 32), np.linspace(-1, 1, 32)
    of_a, of_b = ttnn.div_bw(put(device, g), put(device, a), put(device, b))
    np.testing.assert_allclose(of_a.to_numpy(), g / b, rtol=1e-6)
    np.testing.assert_allclose(of_b.to_numpy(), -g * a / b**2, rtol=1e-6)
    (alone,) = ttnn.mul_bw(put(device, g), put(device, a), 4.0)
    np.testing.assert_allclose(alone.to_numpy(), g * 4, rtol=1e-6)


def test_random_numbers_have_their_distribution(device):
    x = ttnn.rand([64, 64], device, dtype=ttnn.float32, low=2.0, high=4.0, seed=3).to_numpy()
    assert 2 <= x.min() and x.max() < 4 and abs(x.mean() - 3) < 0.05  # 5 standard errors: 2 / sqrt(12 * 4096) * 5
    np.testing.assert_array_equal(x, ttnn.rand([64, 64], device, dtype=ttnn.float32, low=2.0, high=4.0, seed=3).to_numpy())
    heads = ttnn.bernoulli(put(device, np.full((64, 64), 0.25)), 5).to_numpy()
    assert set(np.unique(heads)) == {0, 1} and abs(heads.mean() - 0.25) < 0.034


def test_modules_below_say_what_they_lack():
    with pytest.raises(tessera.Error, match="ttnn.transformer.ring_mla is not there; what is: .*concatenate_heads"):
        ttnn.transformer.ring_mla  # noqa: B018
    with pytest.raises(AttributeError, match="ttnn.experimental.conv3d is not there"):
        ttnn.experimental.conv3d  # noqa: B018


def test_facts_of_tensors_and_work(device):
    x = put(device, normal(5, 40))
    assert ttnn.has_tile_padding(x) and not ttnn.is_sharded(x)
    assert ttnn.get_memory_config(x) == ttnn.DRAM_MEMORY_CONFIG
    assert ttnn.get_memory_config(ttnn.from_numpy(normal(5, 40))) is None
    assert (ttnn.tile_size(ttnn.bfloat8_b), ttnn.tile_size(ttnn.float32), ttnn.element_size(ttnn.bfloat16)) == (1088, 4096, 2)
    count, everyone, busier, others, more, less = ttnn.split_work_to_cores(ttnn.CoreCoord(8, 8), 100)
    assert (count, busier.num_cores(), others.num_cores(), more, less) == (64, 36, 28, 2, 1)
    assert everyone.num_cores() == 64
    assert [(c.x, c.y) for c in ttnn.grid_to_cores(3, 2, 2, True)] == [(0, 0), (1, 0), (0, 1)]


# --- made of others, in Python ---


@pytest.mark.parametrize(("extent", "count"), [(8, 1), (8, 2), (8, 3), (7, 3), (5, 6), (8, 8)])
def test_adaptive_pools_have_the_windows_of_pytorch(device, extent, count):
    x = normal(1, extent, extent, 32)
    rows = lambda: put(device, x.reshape(1, 1, -1, 32), ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)  # noqa: E731
    exact = rows().to_numpy().reshape(x.shape)
    starts, ends = [i * extent // count for i in range(count)], [-(-(i + 1) * extent // count) for i in range(count)]
    windows = [exact[:, a:b, c:d] for a, b in zip(starts, ends, strict=True) for c, d in zip(starts, ends, strict=True)]
    most = ttnn.adaptive_max_pool2d(rows(), 1, extent, extent, 32, [count, count]).to_numpy()
    np.testing.assert_array_equal(most.reshape(-1, 32), [w.max((0, 1, 2)) for w in windows])
    mean = ttnn.adaptive_avg_pool2d(rows(), 1, extent, extent, 32, [count, count]).to_numpy()
    # bfloat16 sums of up to 64 numbers of size 1, rounded at every addition.
    np.testing.assert_allclose(mean.reshape(-1, 32), [w.mean((0, 1, 2)) for w in windows], atol=0.05)


def test_adaptive_pools_refuse_windows_that_are_not_alike(device):
    x = put(device, normal(1, 1, 100, 32), ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)
    with pytest.raises(tessera.Error, match=r"not alike: \[2, 2, 3, 2, 3, 2, 2\]"):
        ttnn.adaptive_avg_pool2d(x, 1, 10, 10, 32, [7, 7])


def test_complex_numbers_are_two_tensors(device):
    a, b = normal(4, 32), normal(4, 32)
    z = ttnn.complex_tensor(put(device, a), put(device, b))
    np.testing.assert_allclose(ttnn.angle(z).to_numpy(), np.angle(a + 1j * b), rtol=1e-5)
    np.testing.assert_array_equal(ttnn.conj(z).imag.to_numpy(), -b)
    np.testing.assert_allclose(ttnn.polar(z).real.to_numpy(), a * np.cos(b), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(ttnn.is_real(ttnn.complex_tensor(put(device, a), put(device, b * 0))).to_numpy(), np.ones_like(a))
    with pytest.raises(tessera.Error, match="do not go together"):
        ttnn.complex_tensor(put(device, a), put(device, b[:2]))


def test_copies_go_where_they_are_told(device):
    a, b = put(device, normal(32, 32)), put(device, normal(32, 32))
    assert ttnn.copy(a, b).buffer_address() == b.buffer_address()
    np.testing.assert_array_equal(b.to_numpy(), a.to_numpy())
    assert ttnn.assign(a, memory_config=ttnn.L1_MEMORY_CONFIG).memory_config() == ttnn.L1_MEMORY_CONFIG
    assert ttnn.assign(a, memory_config=ttnn.DRAM_MEMORY_CONFIG, dtype=ttnn.bfloat16).dtype == ttnn.bfloat16
    assert ttnn.view(put(device, normal(4, 32, 32)), [128, 32]).buffer_num_pages() == 4
    with pytest.raises(tessera.Error, match="cannot be seen as"):
        ttnn.view(put(device, normal(32, 64)), [64, 32])
    with pytest.raises(tessera.Error, match="cannot be written over"):
        ttnn.copy(a, put(device, normal(32, 32), ttnn.bfloat16))


def test_quantized_integers_come_back_within_half_a_step(device):
    x = normal(32, 64)
    steps = ttnn.quantize(put(device, x), 0.02, 7)
    assert steps.dtype == ttnn.int32
    np.testing.assert_allclose(ttnn.dequantize(steps, 0.02, 7, dtype=ttnn.float32).to_numpy(), x, atol=0.0101)
    coarse = ttnn.requantize(steps, 0.02, 7, 0.5, -1)
    np.testing.assert_array_equal(coarse.to_numpy(), np.round((steps.to_numpy() - 7) * np.float32(0.02) / 0.5) - 1)
    with pytest.raises(tessera.Error, match="only floating numbers are taken"):
        ttnn.quantize(steps, 0.02, 7)


def test_gradients_of_several_tensors(device):
    g, a, b, c = (np.abs(normal(32, 32)) + 0.5 for _ in range(4))
    on = lambda t: put(device, t)  # noqa: E731
    for got, wanted in zip(ttnn.addcdiv_bw(on(g), on(a), on(b), on(c), 2.0), (g, 2 * g / c, -2 * g * b / c**2), strict=True):
        np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-5)
    for got, wanted in zip(ttnn.lerp_bw(on(g), on(a), on(b), on(c)), (g * (1 - c), g * c, g * (b - a)), strict=True):
        np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-5, atol=1e-6)
    (clamped,) = ttnn.clamp_bw(on(g), on(a), 0.6, 1.5)
    np.testing.assert_array_equal(clamped.to_numpy(), np.where((a >= np.float32(0.6)) & (a <= 1.5), g, 0))
    halves = ttnn.concat_bw(on(np.concatenate([a, b])), on(a), on(b), 0)
    np.testing.assert_array_equal(halves[1].to_numpy(), b)


def test_gates_that_are_clamped_or_wave(device):
    x, up = normal(32, 64) * 4, normal(32, 64) * 4
    wanted = np.minimum(x, 3) / (1 + np.exp(-np.minimum(x, 3))) * np.clip(up, -3, 3)
    np.testing.assert_allclose(ttnn.clamped_silu_glu(put(device, x), put(device, up), 3.0).to_numpy(), wanted, rtol=1e-5, atol=1e-5)
    alpha, beta = np.abs(normal(1, 64)) + 0.5, np.abs(normal(1, 64)) + 0.5
    got = ttnn.snake_beta(put(device, x), put(device, alpha), put(device, beta)).to_numpy()
    np.testing.assert_allclose(got, x + np.sin(alpha * x) ** 2 / beta, rtol=1e-4, atol=1e-4)


# --- of training ---


def test_moreh_operators_and_their_gradients(device):
    x, g = normal(2, 32, 64), normal(2, 32, 64)
    on = lambda t: put(device, t)  # noqa: E731
    near = {"rtol": 3e-3, "atol": 3e-3}  # sums of 64 numbers of size 1 whose products keep 10 bits
    np.testing.assert_allclose(ttnn.moreh_mean(on(x), dim=2, keepdim=True, divisor=16).to_numpy(), x.sum(2, keepdims=True) / 16, **near)
    np.testing.assert_allclose(ttnn.moreh_norm(on(x), 3.0, dim=1).to_numpy(), (np.abs(x) ** 3).sum(1) ** (1 / 3), **near)
    np.testing.assert_array_equal(ttnn.moreh_norm(on(x), float("inf"), dim=1).to_numpy(), np.abs(x).max(1))
    np.testing.assert_allclose(ttnn.moreh_cumsum_backward(on(x), 1).to_numpy(), x[:, ::-1].cumsum(1)[:, ::-1], rtol=1e-5, atol=1e-5)
    spread = ttnn.moreh_sum_backward(on(x.sum(1)), input=on(x), dim=1).to_numpy()
    np.testing.assert_array_equal(spread, np.broadcast_to(x.sum(1, keepdims=True), x.shape))
    np.testing.assert_allclose(ttnn.moreh_mean_backward(on(x[:, :1]), dim=1, keepdim=True, input_grad_shape=[2, 32, 64]).to_numpy(), np.broadcast_to(x[:, :1] / 32, x.shape), rtol=1e-6)
    y = softmax(x)
    np.testing.assert_allclose(ttnn.moreh_softmin(on(x), 2).to_numpy(), softmax(-x), rtol=SOFTMAX, atol=1e-6)
    np.testing.assert_allclose(ttnn.moreh_softmax_backward(on(y), on(g), 2).to_numpy(), y * (g - (y * g).sum(2, keepdims=True)), **near)
    np.testing.assert_allclose(ttnn.moreh_logsoftmax_backward(on(np.log(y)), on(g), 2).to_numpy(), g - y * g.sum(2, keepdims=True), **near)


def test_moreh_products(device):
    a, b, g = normal(3, 32, 64), normal(3, 64, 32), normal(3, 32, 32)
    on = lambda t: put(device, t, ttnn.bfloat16)  # noqa: E731
    close = lambda got, wanted: np.corrcoef(got.to_numpy().ravel(), wanted.ravel())[0, 1] > 0.9999  # noqa: E731
    assert close(ttnn.moreh_bmm(on(a), on(b)), a @ b)
    assert close(ttnn.moreh_linear(on(a), on(b[0].T.copy())), a @ b[0])
    of_a, of_b = ttnn.moreh_bmm_backward(on(g), on(a), on(b))
    assert close(of_a, g @ b.swapaxes(1, 2)) and close(of_b, a.swapaxes(1, 2) @ g)
    assert ttnn.moreh_matmul_backward(on(g), on(a), on(b), are_required_outputs=[False, True])[0] is None
    with pytest.raises(tessera.Error, match="both tensors must have 3 dimensions"):
        ttnn.moreh_bmm(on(a[0]), on(b[0]))
    row = ttnn.moreh_arange(0, 64, 1, device)
    assert tuple(row.shape) == (1, 64) and row.layout == ttnn.TILE_LAYOUT
    np.testing.assert_array_equal(ttnn.moreh_full([4, 5], 2.5, device).to_numpy(), np.full((4, 5), 2.5))


def test_configs_of_norms_follow_from_shards_and_channels(device):
    grid = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 1))])
    config = ttnn.create_layernorm_program_config(ttnn.ShardSpec(grid, (64, 96), ttnn.ShardOrientation.ROW_MAJOR))
    assert (config.block_h, config.block_w, config.subblock_w, config.inplace, config.use_welford) == (2, 3, 1, False, False)
    table = ttnn.create_layer_norm_reciprocals(device, grid, 96)
    np.testing.assert_array_equal(table.to_numpy()[5], np.float32(1) / np.arange(1, 97, dtype=np.float32))
    # What ttnn 0.81.1 answers on a grid of 8 x 8.
    for channels, groups, pixels, wanted in ((768, 1, 512, (8, 2)), (480, 8, 64, (2, 1)), (32, 32, 1024, (8, 4)), (320, 32, 4096, (8, 8))):
        got = ttnn.determine_expected_group_norm_dram_grid_size(device=device, num_channels=channels, num_groups=groups, input_nhw=pixels)
        assert (got.x, got.y) == wanted
    weight, mask = ttnn.dram_group_norm_params_from_torch(normal(480), 480, 8, device)
    assert tuple(weight.shape) == (1, 1, 15, 32) and tuple(mask.shape) == (1, 8, 32, 96)


# --- keywords that callers give ---


@pytest.mark.parametrize("layout", [ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT])
def test_plus_one_counts_where_it_is(device, layout):
    x = indices(device, [[-2, -1, 0, 5]], layout, ttnn.int32)
    np.testing.assert_array_equal(ttnn.plus_one(x).to_numpy(), [[-1, 0, 1, 6]])
    np.testing.assert_array_equal(x.to_numpy(), [[-1, 0, 1, 6]])
    np.testing.assert_array_equal(ttnn.plus_one(x, skip_negative_entries=True).to_numpy(), [[-1, 1, 2, 7]])


def test_typecast_takes_both_dtypes_and_a_given_output(device):
    x = put(device, [[1.5, 2.5]])
    assert ttnn.typecast(x, ttnn.float32, ttnn.bfloat16).dtype == ttnn.bfloat16
    to = put(device, [[0, 0]], ttnn.bfloat16)
    assert ttnn.typecast(x, ttnn.bfloat16, output_tensor=to).buffer_address() == to.buffer_address()
    np.testing.assert_array_equal(to.to_numpy(), [[1.5, 2.5]])
    with pytest.raises(tessera.Error, match="the input is float32, not bfloat16"):
        ttnn.typecast(x, ttnn.bfloat16, ttnn.float32)


def test_pad_takes_a_shape_and_a_start(device):
    x = normal(3, 5)
    y = ttnn.pad(put(device, x, layout=ttnn.ROW_MAJOR_LAYOUT), [6, 8], [1, 2], 9.0)
    np.testing.assert_array_equal(y.to_numpy(), np.pad(x, ((1, 2), (2, 1)), constant_values=9))
    with pytest.raises(tessera.Error, match="5 elements from 4 on do not fit into 8"):
        ttnn.pad(put(device, x, layout=ttnn.ROW_MAJOR_LAYOUT), [6, 8], [1, 4], 9.0)


def test_reshape_takes_a_padded_shape_and_what_fills_it(device):
    x = put(device, normal(4, 40))
    y = ttnn.reshape(x, ttnn.Shape([5, 32]), ttnn.Shape([32, 32]))
    assert tuple(y.padded_shape) == (32, 32)
    with pytest.raises(tessera.Error, match="no other"):
        ttnn.reshape(x, ttnn.Shape([5, 32]), ttnn.Shape([64, 32]))
    filled = ttnn.reshape(x, [5, 32], pad_value=3.0)
    assert ttnn.untilize_with_unpadding(filled, [31, 31]).to_numpy()[31, 31] == 3


def test_cores_that_are_named_must_be_there(device):
    x = put(device, normal(32, 32))
    some, beyond = (ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (n, 1))]) for n in (1, 60))
    for call in (ttnn.untilize, lambda t, **how: ttnn.typecast(t, ttnn.bfloat16, **how), lambda t, **how: ttnn.argmax(t, dim=1, **how)):
        call(x, sub_core_grids=some)
        with pytest.raises(tessera.Error, match="are not all among the 8 x 8 of the device"):
            call(x, sub_core_grids=beyond)


def test_reductions_come_out_in_the_layout_that_is_asked_for(device):
    x = normal(4, 40)
    y = ttnn.sum(put(device, x), dim=-1, output_layout=ttnn.ROW_MAJOR_LAYOUT)
    assert y.layout == ttnn.ROW_MAJOR_LAYOUT
    np.testing.assert_allclose(y.to_numpy(), x.sum(-1), rtol=1e-2, atol=1e-2)


def test_padding_of_a_row_can_be_filled(device):
    y = ttnn.fill_implicit_tile_padding(put(device, normal(19)), 2.0)
    assert tuple(y.shape) == (19,)
