"""tessera.nki: instructions, launches, allocations and types, beside what numpy makes of them."""

import importlib
import sys

import ml_dtypes
import numpy as np
import pytest

import tessera
import tessera.nki as nki
import tessera.nki.compiler as ncc
import tessera.nki.isa as nisa
import tessera.nki.language as nl


def stored(tile):
    out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out


def run(body, *arrays):
    return nki.jit(lambda *inputs: stored(body(*(nl.load(each) for each in inputs))))(*arrays)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def test_programs_of_a_launch_share_their_tensors():
    @nki.jit
    def add(a, b):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        assert nl.num_programs(axes=0) == 2 and nl.program_ndim() == 2
        i, j = nl.program_id(0) * 128, nl.program_id(1) * 64
        p, f = nl.mgrid[0:128, 0:64]
        nl.store(out[i + p, j + f], nl.load(a[i + p, j + f]) + nl.load(b[i + p, j + f]))
        return out

    a, b = numbers(256, 192), numbers(256, 192, seed=1)
    assert np.array_equal(add[2, 3](a, b), a + b)
    assert np.array_equal(nki.simulate_kernel(add[2, 3], a, b), a + b)
    one, two = nki.benchmark(add), nki.benchmark(add)
    one[2, 3](a, b)
    two[nl.spmd_dim(1, nl.nc(2)), 3](a, b)
    times = [each.benchmark_result.nc_latency.get_latency_percentile(50) for each in (one, two)]
    assert times[1] < times[0]


def test_a_tensor_that_is_an_argument_can_be_the_result():
    @nki.jit(mode="trace")
    def double(a, out):
        nl.store(out, nl.multiply(nl.load(a), 2.0))

    a, out = numbers(128, 8), np.zeros((128, 8), dtype=np.float32)
    nki.simulate_kernel(double, a, out)
    assert np.array_equal(out, 2 * a)


def test_affine_select_iota_and_where():
    x = numbers(64, 48)
    p, f = np.arange(64)[:, None], np.arange(48)[None, :]

    def select(t):
        i, j = nl.mgrid[0:64, 0:48]
        return nisa.affine_select(pred=i >= j, on_true_tile=t, on_false_value=-9.0)

    def select_by_pattern(t):
        out = nl.ndarray((64, 48), dtype=nl.float32)
        nisa.affine_select(
            dst=out, pattern=[[-1, 48]], channel_multiplier=1, on_true_tile=t, on_false_value=-9.0, cmp_op=nl.greater_equal
        )
        return out

    wanted = np.where(p >= f, x, np.float32(-9))
    assert np.array_equal(run(select, x), wanted)
    assert np.array_equal(run(select_by_pattern, x), wanted)
    iota = run(lambda t: nisa.iota(nl.arange(64)[:, None] * 48 + nl.arange(48)[None, :] + 5, dtype=nl.int32), x)
    assert iota.dtype == np.int32
    assert np.array_equal(iota, p * 48 + f + 5)
    assert np.array_equal(run(lambda t: nl.where(t > 0.0, t, 0.5), x), np.where(x > 0, x, np.float32(0.5)))


def test_scans_statistics_and_partition_sums():
    a, b = numbers(32, 20), numbers(32, 20, seed=1)
    state, wanted = np.float32(0.5) * np.ones(32, dtype=np.float32), []
    for i in range(20):
        state = a[:, i] * state + b[:, i]
        wanted.append(state)
    got = run(lambda x, y: nisa.tensor_tensor_scan(x, y, 0.5, op0=np.multiply, op1=np.add), a, b)
    assert np.allclose(got, np.stack(wanted, 1), rtol=20 * 2.0**-22, atol=20 * 2.0**-22)
    stats = run(lambda x, y: nisa.bn_aggr(nisa.bn_stats(x)), a, b)
    assert np.allclose(stats, np.stack([a.mean(1), a.var(1)], 1), rtol=0, atol=20 * 2.0**-22)
    total = run(lambda x, y: nisa.tensor_partition_reduce(np.add, x), a, b)
    assert np.allclose(total, a.sum(0, keepdims=True), rtol=0, atol=32 * 32 * 2.0**-24)


def test_loads_and_stores_by_indices_that_tiles_hold():
    data, order = numbers(300, 16), np.random.default_rng(0).permutation(300)[:128].astype(np.int32)[:, None]

    def gather(a, index):
        places = nl.load(index)
        f = nl.arange(16)[None, :]
        return stored(nl.load(a[places, f]))

    assert np.array_equal(nki.jit(gather)(data, order), data[order[:, 0]])

    def scatter(a, index):
        out = nl.zeros((300, 16), dtype=a.dtype, buffer=nl.shared_hbm)
        places = nl.load(index)
        nl.store(out[places, nl.arange(16)[None, :]], nl.load(a[0:128, 0:16]))
        return out

    wanted = np.zeros((300, 16), dtype=np.float32)
    wanted[order[:, 0]] = data[:128]
    assert np.array_equal(nki.jit(scatter)(data, order), wanted)
    beyond = order.copy()
    beyond[3] = 300
    with pytest.raises(tessera.InvalidArgument, match=r"element \[3, 0\] .* outside"):
        nki.jit(gather)(data, beyond)


def test_types():
    x = (4 * numbers(16, 12)).astype(np.float32)
    for kind, numpy_kind in ((nl.bfloat16, ml_dtypes.bfloat16), (nl.float8_e4m3, ml_dtypes.float8_e4m3), (nl.float8_e5m2, ml_dtypes.float8_e5m2)):
        got = run(lambda t, kind=kind: nl.copy(t, dtype=kind), 60 * x)
        assert np.array_equal(got.astype(np.float32), (60 * x).astype(numpy_kind).astype(np.float32), equal_nan=True)
    for kind in (np.int8, np.uint8, np.int16, np.int32):
        info = np.iinfo(kind)
        got = run(lambda t, kind=kind: nl.copy(t, dtype=kind), 100 * x)
        assert np.array_equal(got, np.clip(np.rint(100 * x), info.min, info.max).astype(kind))
    whole = np.arange(192, dtype=np.int32).reshape(16, 12)
    assert np.array_equal(run(lambda t: nl.bitwise_and(t, 5), whole), whole & 5)
    with pytest.raises(tessera.InvalidArgument, match="beyond 2\\^24"):
        run(lambda t: t, whole + (1 << 24))


def test_functions_of_functions():
    x, w = numbers(64, 40), np.ones((64, 1), dtype=np.float32) * 3
    e = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(run(lambda t: nl.softmax(t, axis=1), x), e / e.sum(1, keepdims=True), rtol=50 * 2.0**-23, atol=0)
    rms = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * 3
    assert np.allclose(run(lambda t, s: nl.rms_norm(t, s, 1, 40), x, w), rms, rtol=50 * 2.0**-23, atol=2.0**-23)
    assert np.allclose(run(lambda t: nl.mean(t, axis=1), x)[:, 0], x.mean(1), rtol=0, atol=40 * 2.0**-23)


def test_sums_over_turns_of_a_loop():
    x = numbers(4, 128, 16)

    def kernel(a):
        total = nl.ndarray((128, 16), dtype=nl.float32)
        more = nl.zeros((128, 16), dtype=nl.float32)
        for i in nl.affine_range(4):
            tile = nl.load(a[i])
            total[...] = nl.loop_reduce(tile, np.add, loop_indices=[i])
            more[...] += tile
        return stored(total), stored(more)

    for got in nki.jit(kernel)(x):
        assert np.array_equal(got, ((x[0] + x[1]) + x[2]) + x[3])


def test_tiles_that_the_kernel_places_itself():
    x = numbers(4, 128, 64)

    def kernel(a, places):
        tiles = nl.ndarray((4, nl.par_dim(128), 64), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(places,)))
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            tiles[i] = nl.load(a[i])
            if places == 4:
                continue
            nl.store(out[i], tiles[i])
        for i in nl.affine_range(4 if places == 4 else 0):
            nl.store(out[i], tiles[i])
        return out

    assert np.array_equal(nki.jit(kernel)(x, 4), x)
    assert np.array_equal(nki.jit(kernel)(x, 1), x)

    def too_far(a):
        tile = nl.ndarray((nl.par_dim(128), 64), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=229_376 - 128))
        tile[...] = nl.load(a[0])
        return stored(tile)

    with pytest.raises(tessera.Error, match="put at byte 229248 and takes 256 bytes"):
        nki.jit(too_far)(x)

    def overwritten(a):
        tiles = nl.ndarray((2, nl.par_dim(128), 64), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(1,)))
        tiles[0] = nl.load(a[0])
        tiles[1] = nl.load(a[1])
        return stored(tiles[0])

    assert np.isnan(nki.jit(overwritten)(x)).all()  # what was there is not there any more


def test_memory_that_is_free_in_parts_is_free():
    def kernel(a):
        tiles = [nl.ndarray((128, 6144), dtype=nl.float32) for _ in range(9)]  # 24 KiB each, 8 KiB are left
        tiles[1] = tiles[5] = None
        large = nl.ndarray((128, 12288), dtype=nl.float32)  # 48 KiB, in two holes
        large[:, 0:64] = nl.load(a)
        return stored(large[:, 0:64])

    x = numbers(128, 64)
    assert np.array_equal(nki.jit(kernel)(x), x)


def test_a_tile_that_a_loop_overwrites_costs_no_more_than_one_of_its_own():
    def kernel(a, outside):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((128, 2048), dtype=nl.float32)
        for i in nl.sequential_range(16):
            here = tile if outside else nl.ndarray((128, 2048), dtype=nl.float32)
            nisa.dma_copy(dst=here, src=a[i])
            nisa.dma_copy(dst=out[i], src=here)
        return out

    x, times = numbers(16, 128, 2048), []
    for outside in (False, True):
        bench = nki.benchmark(kernel)
        bench(x, outside)
        times.append(bench.benchmark_result.nc_latency.us)
    assert times[1] <= 1.02 * times[0]


@pytest.mark.parametrize("package", ["neuronxcc.nki", "nki"])
def test_kernels_find_their_modules_under_both_names(package):
    importlib.import_module("tessera.compat")
    before = set(sys.modules)
    try:
        assert importlib.import_module(package) is nki
        assert importlib.import_module(f"{package}.language") is nl
        assert importlib.import_module(f"{package}.isa") is nisa
        assert importlib.import_module(f"{package}.compiler") is ncc
        assert importlib.import_module(f"{package}.typing").tensor[128, 512]
        assert importlib.import_module(f"{package}.isa.constants").oob_mode.skip is nisa.oob_mode.skip
    finally:
        for name in set(sys.modules) - before:
            if name.split(".")[0] in ("neuronxcc", "nki"):
                del sys.modules[name]


def test_the_names_of_2026_put_results_where_they_are_told():
    a, b = numbers(128, 64), numbers(128, 32, seed=1)

    @nki.jit
    def matmul(left, right):
        out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
        x, y = nl.ndarray(left.shape, left.dtype, buffer=nl.sbuf), nl.ndarray(right.shape, right.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x, src=left)
        nisa.dma_copy(dst=y, src=right)
        sums = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(sums, x, y)
        result = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(result, sums)
        nisa.tensor_scalar(result, result, op0=nl.multiply, operand0=2.0)
        nisa.tensor_tensor(result, result, result, nl.add)
        nisa.activation(result, nl.relu, result)
        nisa.dma_copy(dst=out, src=result)
        return out

    wanted = 4 * np.maximum(a.astype(np.float64).T @ b, 0)
    assert np.allclose(matmul(a, b), wanted, rtol=0, atol=4 * 128 * 128 * 2.0**-24)
