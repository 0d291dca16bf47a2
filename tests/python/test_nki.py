"""tessera.nki: kernels written for NKI, on the simulated NeuronCore."""

import inspect
import pathlib
import re

import numpy as np
import pytest

import tessera
import tessera.nki as nki
import tessera.nki.isa as nisa
import tessera.nki.language as nl


def plain(X, W, bias, pool_size):
    """The definition in double, and the sums of magnitudes that bound its rounding."""
    X, W, bias = (np.asarray(a, dtype=np.float64) for a in (X, W, bias))
    (n, _, h, w), (oc, _, k, _) = X.shape, W.shape
    oh, ow = h - k + 1, w - k + 1
    y, size = np.zeros((n, oc, oh, ow)), np.zeros((n, oc, oh, ow))
    for i in range(k):
        for j in range(k):
            window = X[:, :, i : i + oh, j : j + ow]
            y += np.tensordot(W[:, :, i, j], window, (1, 1)).transpose(1, 0, 2, 3)
            size += np.tensordot(np.abs(W[:, :, i, j]), np.abs(window), (1, 1)).transpose(1, 0, 2, 3)
    y, size = y + bias[:, None, None], size + np.abs(bias)[:, None, None]
    shape = (n, oc, oh // pool_size, pool_size, ow // pool_size, pool_size)
    return y.reshape(shape).max(axis=(3, 5)), size.reshape(shape).max(axis=(3, 5))


def assert_close(got, X, W, bias, pool_size):
    wanted, size = plain(X, W, bias, pool_size)
    assert got.shape == wanted.shape
    assert got.dtype == X.dtype
    digits = {"float32": 24, "float16": 11}[str(X.dtype)]
    bound = (W[0].size + 2) * 2.0**-23 * size + 2.0**-digits * np.abs(wanted) + 2.0**-25
    assert (np.abs(got.astype(np.float64) - wanted) <= bound).all()


def operands(n, ic, h, w, oc, k, dtype=np.float32):
    random = np.random.default_rng(42)
    return tuple(random.random(shape).astype(dtype) for shape in ((n, ic, h, w), (oc, ic, k, k), (oc,)))


# In the shape of the assignment: loads, stores, index grids, sums in PSUM.
@nki.jit
def fused_conv2d_maxpool(X, W, bias, pool_size=1):
    batch_size, in_channels, input_height, input_width = X.shape
    out_channels, _, filter_height, filter_width = W.shape
    out_height = input_height - filter_height + 1
    out_width = input_width - filter_width + 1
    X_out = nl.ndarray(
        shape=(batch_size, out_channels, out_height // pool_size, out_width // pool_size),
        dtype=X.dtype,
        buffer=nl.hbm,
    )
    c_tile = nl.tile_size.pmax
    n_tiles_in, n_tiles_out = in_channels // c_tile, out_channels // c_tile
    rows = pool_size

    weights = nl.ndarray(
        (n_tiles_out, n_tiles_in, filter_height, filter_width, nl.par_dim(c_tile), c_tile), dtype=X.dtype, buffer=nl.sbuf
    )
    for o in nl.affine_range(n_tiles_out):
        for i in nl.affine_range(n_tiles_in):
            block = nl.load(W[o * c_tile : (o + 1) * c_tile, i * c_tile : (i + 1) * c_tile, :, :])
            for fh in nl.affine_range(filter_height):
                for fw in nl.affine_range(filter_width):
                    part = nisa.tensor_copy(block[:, :, fh, fw])
                    weights[o, i, fh, fw, :, :] = nisa.tensor_copy(nisa.nc_transpose(part))

    for b in nl.affine_range(batch_size):
        for o in nl.affine_range(n_tiles_out):
            offset = nl.load(bias[o * c_tile : (o + 1) * c_tile].reshape((c_tile, 1)))
            for row in nl.affine_range(out_height // rows):
                sums = nl.zeros((nl.par_dim(c_tile), rows, out_width), nl.float32, buffer=nl.psum)
                for i in nl.affine_range(n_tiles_in):
                    p, r, c = nl.mgrid[0:c_tile, 0 : rows + filter_height - 1, 0:input_width]
                    image = nl.load(X[b, i * c_tile + p, row * rows + r, c])
                    for fh in nl.affine_range(filter_height):
                        for fw in nl.affine_range(filter_width):
                            window = image[:, fh : fh + rows, fw : fw + out_width]
                            sums += nisa.nc_matmul(weights[o, i, fh, fw, :, :], window)
                out = nisa.tensor_scalar(sums, nl.add, offset, dtype=X.dtype)
                if pool_size > 1:
                    p, r, c, i, j = nl.mgrid[0:c_tile, 0:1, 0 : out_width // 2, 0:2, 0:2]
                    out = nisa.tensor_reduce(nl.max, out[p, 2 * r + i, 2 * c + j], axis=[3, 4])
                nl.store(
                    X_out[b, o * c_tile : (o + 1) * c_tile, row * rows // pool_size : row * rows // pool_size + 1, :], out
                )
    return X_out


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("pool_size", [1, 2])
def test_a_kernel_of_the_assignment_computes_the_convolution(dtype, pool_size):
    X, W, bias = operands(2, 128, 10, 12, 256, 3, dtype)
    assert_close(fused_conv2d_maxpool(X, W, bias, pool_size), X, W, bias, pool_size)
    assert_close(nki.simulate_kernel(fused_conv2d_maxpool, X, W, bias, pool_size), X, W, bias, pool_size)


def test_the_harness_measures_it():
    X, W, bias = operands(1, 256, 32, 16, 256, 3)
    bench = nki.benchmark(warmup=5, iters=20)(fused_conv2d_maxpool)
    assert bench(X, W, bias) is None
    us = bench.benchmark_result.nc_latency.get_latency_percentile(99)
    assert 36 < us < 500  # no less than the PE array's 25.2 us and the 10 of a start
    summary = bench.benchmark_result.summary
    assert summary["total_time"] == pytest.approx(us * 1e-6)
    assert summary["model_flops"] == 2 * 256 * 256 * 9 * 30 * 14
    timed = nki.baremetal(fused_conv2d_maxpool)
    assert_close(timed(X, W, bias), X, W, bias, 1)
    assert timed.benchmark_result.nc_latency.get_latency_percentile(50) == us


def test_the_other_machine_is_another_time(monkeypatch):
    X, W, bias = operands(1, 128, 10, 12, 128, 3)
    times = {}
    for target in ("trn1", "trn2"):
        bench = nki.benchmark(warmup=0, iters=1, platform_target=target)(fused_conv2d_maxpool)
        bench(X, W, bias)
        times[target] = bench.benchmark_result.nc_latency.get_latency_percentile(99)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")
    bench = nki.benchmark(fused_conv2d_maxpool)
    bench(X, W, bias)
    assert times["trn1"] != times["trn2"]
    assert bench.benchmark_result.nc_latency.get_latency_percentile(99) == times["trn1"]


@nki.jit
def vector_add(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    rows = nl.arange(128)[:, None]
    columns = nl.arange(a.shape[1])[None, :]
    x = nl.load(a[rows, columns])
    y = nl.load(b[rows, columns])
    nl.store(out[rows, columns], x + y)
    return out


def test_vector_add_takes_what_was_published():
    a, b = (np.random.default_rng(i).random((128, 2000), dtype=np.float32) for i in (0, 1))
    assert (vector_add(a, b) == a + b).all()
    bench = nki.benchmark(vector_add)
    bench(a, b)
    assert bench.benchmark_result.nc_latency.get_latency_percentile(99) == pytest.approx(28, rel=0.25)


def test_results_are_written_where_they_are_assigned_to():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.hbm)
        x = nl.load(a)
        old = nisa.tensor_copy(x)  # has to be taken before x changes
        x[:, :] = nisa.activation(op=nl.square, data=x)
        x[:, 0:1] = 7.0
        nl.store(out, nl.subtract(x, old))
        return out

    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    wanted = a * a - a
    wanted[:, 0] = 7 - a[:, 0]
    assert (kernel(a) == wanted).all()


def error_line(kernel, *args):
    with pytest.raises(tessera.Error) as caught:
        kernel(*args)
    return str(caught.value)


def test_errors_name_the_line():
    def too_many_partitions(a):
        return nl.ndarray((256, 4), dtype=a.dtype, buffer=nl.sbuf)

    def unwritten(a):
        x = nl.ndarray((128, 4), dtype=a.dtype, buffer=nl.sbuf)
        y = nl.ndarray((128, 4), dtype=a.dtype, buffer=nl.sbuf)
        y[...] = nisa.tensor_copy(x)

    def mixed(a):
        w = nl.zeros((128, 128), dtype=nl.float16)
        x = nl.load(a)
        sums = nl.zeros((128, 4), dtype=nl.float32, buffer=nl.psum)
        sums[...] += nisa.nc_matmul(w, x)

    def outside(a):
        return a[0:129]

    a = np.zeros((128, 4), dtype=np.float32)
    for kernel, at, text in [
        (too_many_partitions, 1, "has 256 partitions, sbuf has 128"),
        (unwritten, 3, "nothing has written"),
        (mixed, 4, "is float16 and"),
        (outside, 1, "0:129 of dimension 0"),
    ]:
        message = error_line(nki.jit(kernel), a)
        assert text in message
        assert f"test_nki.py:{inspect.getsourcelines(kernel)[1] + at}" in message


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    "shape",
    [(1, 256, 12, 14, 256, 3), (2, 128, 9, 30, 256, 1), (1, 128, 16, 110, 128, 5), (1, 128, 6, 302, 128, 3)],
    ids=str,
)
@pytest.mark.parametrize("pool_size", [1, 2])
@pytest.mark.parametrize("api", [2025, 2026])
def test_the_script_of_the_tuner_computes_and_takes_what_it_says(shape, dtype, pool_size, api):
    n, ic, h, w, oc, k = shape
    if (h - k + 1) % pool_size or (w - k + 1) % pool_size:
        h += 1
    script, us = nki.conv2d_script((n, ic, h, w), oc, kernel=k, dtype=dtype, pool_size=pool_size, api=api)
    assert ("import neuronxcc.nki as nki" in script) == (api == 2025)
    if api == 2026:
        assert not re.search(r"= nisa\.[a-z_0-9]+\(|par_dim|static_range|mgrid|_engine|benchmark", script)
    names = {"__name__": "script"}
    exec(compile(script, "script.py", "exec"), names)  # noqa: S102
    X, W, bias = operands(n, ic, h, w, oc, k, dtype)
    assert_close(names["fused_conv2d_maxpool"](X, W, bias, pool_size), X, W, bias, pool_size)
    bench = nki.benchmark(warmup=5, iters=20)(names["fused_conv2d_maxpool"])
    bench(X, W, bias, pool_size)
    # The script fetches the bias tile by tile, the schedule all at once.
    assert bench.benchmark_result.nc_latency.get_latency_percentile(99) == pytest.approx(us, abs=1.5)


def test_what_is_not_simulated_says_so():
    a = np.zeros((128, 4), dtype=np.float32)
    with pytest.raises(tessera.Error, match="within a kernel only"):
        nl.zeros((128, 4), dtype=nl.float32)
    with pytest.raises(tessera.Error, match="tile_position=.* is not simulated"):
        nki.jit(lambda x: nisa.nc_matmul(nl.load(x), nl.load(x), tile_position=(0, 32)))(a)


def test_the_page_says_what_happens(capsys):
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "trainium.md"
    code = page.read_text().split("```python\n")[1].split("```")[0]
    exec(compile(code, str(page), "exec"), {"__name__": "page"})  # noqa: S102
    first, second = capsys.readouterr().out.splitlines()
    assert first == "2.0"
    assert second.endswith(" us")


# What one engine makes for the other comes back to it, turn by turn.
def turns(loop, middle_end=True):
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.load(a)
        for i in loop(a.shape[1] // 512):
            here = slice(512 * i, 512 * i + 512)
            once = nisa.tensor_copy(tile[:, here], engine=nisa.vector_engine)
            twice = nisa.activation(nl.exp, once)
            nl.store(out[:, here], nisa.tensor_copy(twice, engine=nisa.vector_engine))
        return out

    made = nki.jit(kernel)
    if not middle_end:
        made = nki.compiler.skip_middle_end_transformations(made)
    x = np.linspace(-1, 1, 128 * 4096, dtype=np.float32).reshape(128, 4096)
    bench = nki.benchmark(made)
    bench(x)
    assert np.allclose(made(x), np.exp(x))
    return bench.benchmark_result.nc_latency.us


def test_turns_of_a_sequential_range_stay_in_order_unless_the_middle_end_is_left_out():
    unrolled = turns(range)
    assert turns(nl.affine_range) == turns(nl.static_range) == unrolled
    assert turns(nl.sequential_range) > 1.1 * unrolled
    assert turns(nl.sequential_range, middle_end=False) == unrolled


@pytest.mark.parametrize(("target", "dtype", "ns"), [("trn2", "float32", 12.5), ("trn2", "float16", None), ("trn1", "float16", 12.5)])
def test_loads_that_transpose_pay_for_every_element(target, dtype, ns):
    def kernel(a):
        out = nl.ndarray((128, 1024), dtype=a.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(8):
            nl.store(out[:, 128 * i : 128 * i + 128], nl.load_transpose2d(a[128 * i : 128 * i + 128, :]))
        return out

    x = (np.arange(1024 * 128) % 2047).reshape(1024, 128).astype(dtype)
    made = nki.jit(kernel, platform_target=target)
    assert np.array_equal(made(x), x.T)
    bench = nki.benchmark(made)
    bench(x)
    turned_us = 8 * 8 * 128 * (ns or 2 / 23 / 0.9) / 1000  # of each engine
    assert turned_us < bench.benchmark_result.nc_latency.us - 10 < turned_us + 20


def test_without_a_middle_end_turns_run_as_they_are_written():
    def kernel(a):
        out = nl.ndarray((128, 1), dtype=a.dtype, buffer=nl.shared_hbm)
        tile, best = nl.load(a), nl.ndarray((128, 1), dtype=a.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(a.shape[1]):
            if i == 0:
                best[...] = nl.copy(tile[:, 0:1])
            else:
                best[:, 0:1] = nisa.tensor_tensor(nl.copy(best[:, 0:1]), tile[:, i : i + 1], op=nl.maximum)
        nl.store(out, best)
        return out

    x = np.random.default_rng(1).uniform(-1, 1, (128, 5)).astype(np.float32)
    with pytest.raises(tessera.InvalidArgument, match="its turns have no order"):
        nki.jit(kernel)(x)
    made = nki.compiler.skip_middle_end_transformations(nki.jit(kernel))
    with pytest.warns(UserWarning, match="in turn 1 of the affine_range.*skips the middle end"):
        got = made(x)
    assert np.array_equal(got, x.max(axis=1, keepdims=True))
