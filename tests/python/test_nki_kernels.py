"""Kernels as people write them for NKI, unchanged apart from the import."""

import inspect

import numpy as np
import pytest

import tessera
import tessera.nki as nki
import tessera.nki.isa as nisa
import tessera.nki.language as nl


def uniform(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


# Rows in tiles of 128, columns in tiles of their own; what goes beyond the tensor is masked.
@nki.jit
def tensor_add(a_input, b_input):
    c_output = nl.ndarray(a_input.shape, dtype=a_input.dtype, buffer=nl.shared_hbm)
    M, N = a_input.shape
    TILE_M, TILE_N = nl.tile_size.pmax, 256
    for m in nl.affine_range((M + TILE_M - 1) // TILE_M):
        for n in nl.affine_range((N + TILE_N - 1) // TILE_N):
            ix = m * TILE_M + nl.arange(TILE_M)[:, None]
            iy = n * TILE_N + nl.arange(TILE_N)[None, :]
            mask = (ix < M) & (iy < N)
            a_tile = nl.load(a_input[ix, iy], mask=mask)
            b_tile = nl.load(b_input[ix, iy], mask=mask)
            c_tile = nl.add(a_tile, b_tile, mask=mask)
            nl.store(c_output[ix, iy], value=c_tile, mask=mask)
    return c_output


@pytest.mark.parametrize("shape", [(256, 512), (300, 700), (1, 1), (129, 257)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_tiled_addition(shape, dtype):
    a, b = uniform(*shape, dtype=dtype), uniform(*shape, dtype=dtype, seed=1)
    assert (tensor_add(a, b) == a + b).all()


# The tutorial's: both operands in tiles, sums over K in PSUM, 512 columns at a time.
@nki.jit
def matmul_tiled(lhsT, rhs):
    K, M = lhsT.shape
    K_, N = rhs.shape
    assert K == K_, "lhsT and rhs must have the same contraction dimension"
    result = nl.ndarray((M, N), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    TILE_M = nl.tile_size.gemm_stationary_fmax  # 128
    TILE_K = nl.tile_size.pmax  # 128
    TILE_N = nl.tile_size.gemm_moving_fmax  # 512
    for m in nl.affine_range(M // TILE_M):
        for n in nl.affine_range(N // TILE_N):
            res_psum = nl.zeros((TILE_M, TILE_N), nl.float32, buffer=nl.psum)
            for k in nl.affine_range(K // TILE_K):
                lhsT_tile = nl.ndarray((TILE_K, TILE_M), dtype=lhsT.dtype, buffer=nl.sbuf)
                rhs_tile = nl.ndarray((TILE_K, TILE_N), dtype=rhs.dtype, buffer=nl.sbuf)
                lhsT_tile[...] = nl.load(lhsT[k * TILE_K : (k + 1) * TILE_K, m * TILE_M : (m + 1) * TILE_M])
                rhs_tile[...] = nl.load(rhs[nl.ds(k * TILE_K, TILE_K), nl.ds(n * TILE_N, TILE_N)])
                res_psum += nl.matmul(lhsT_tile[...], rhs_tile[...], transpose_x=True)
            res_sb = nl.copy(res_psum, dtype=result.dtype)
            nl.store(result[m * TILE_M : (m + 1) * TILE_M, n * TILE_N : (n + 1) * TILE_N], value=res_sb)
    return result


# With blocks of K kept in SBUF, index grids, and instructions in place of operators.
@nki.jit
def matmul_hoisted(lhsT, rhs):
    K, M = lhsT.shape
    _, N = rhs.shape
    result = nl.ndarray((M, N), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    i_lhsT = nl.mgrid[0:128, 0:128]
    i_rhs = nl.mgrid[0:128, 0:512]
    for m in nl.affine_range(M // 128):
        lhsT_tiles = nl.ndarray((K // 128, nl.par_dim(128), 128), dtype=lhsT.dtype, buffer=nl.sbuf)
        for k in nl.affine_range(K // 128):
            lhsT_tiles[k, i_lhsT.p, i_lhsT.x] = nl.load(lhsT[k * 128 + i_lhsT.p, m * 128 + i_lhsT.x])
        for n in nl.affine_range(N // 512):
            res_psum = nl.ndarray((nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(K // 128):
                rhs_tile = nl.load(rhs[k * 128 + i_rhs.p, n * 512 + i_rhs.x])
                nisa.nc_matmul(dst=res_psum, stationary=lhsT_tiles[k], moving=rhs_tile)
            out = nisa.tensor_copy(res_psum, dtype=result.dtype, engine=nisa.scalar_engine)
            nl.store(result[m * 128 + i_rhs.p, n * 512 + i_rhs.x], value=out)
    return result


@pytest.mark.parametrize("kernel", [matmul_tiled, matmul_hoisted])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_tiled_matmul(kernel, dtype):
    lhs, rhs = uniform(256, 384, dtype=dtype), uniform(384, 1024, dtype=dtype, seed=1)
    got = kernel(np.ascontiguousarray(lhs.T), rhs).astype(np.float64)
    wide, right = lhs.astype(np.float64), rhs.astype(np.float64)
    rounding = 2.0**-24 if dtype == np.float32 else 2.0**-11
    sums = 386 * 2.0**-23 * (np.abs(wide) @ np.abs(right))
    assert (np.abs(got - wide @ right) <= sums + rounding * np.abs(wide @ right) + 2.0**-25).all()


@nki.jit
def transpose_2d(in_tensor):
    rows, columns = in_tensor.shape
    out_tensor = nl.ndarray((columns, rows), dtype=in_tensor.dtype, buffer=nl.shared_hbm)
    T = nl.tile_size.pmax
    for i in nl.affine_range(rows // T):
        for j in nl.affine_range(columns // T):
            tile = nl.load(in_tensor[i * T : (i + 1) * T, j * T : (j + 1) * T])
            turned = nisa.nc_transpose(tile)
            nl.store(out_tensor[j * T : (j + 1) * T, i * T : (i + 1) * T], value=turned)
    return out_tensor


# Two free dimensions change places within every partition.
@nki.jit
def transpose_free(in_tensor, shape2D):
    out_tensor = nl.ndarray(in_tensor.shape, dtype=in_tensor.dtype, buffer=nl.shared_hbm)
    sz_p, _ = in_tensor.shape
    sz_f1, sz_f2 = shape2D
    in_tile = nl.load(in_tensor)
    out_tile = nl.ndarray((sz_p, sz_f2 * sz_f1), dtype=in_tensor.dtype, buffer=nl.sbuf)
    i_p, i_f1, i_f2 = nl.mgrid[0:sz_p, 0:sz_f1, 0:sz_f2]
    out_tile[i_p, i_f2 * sz_f1 + i_f1] = nisa.tensor_copy(in_tile[i_p, i_f1 * sz_f2 + i_f2])
    nl.store(out_tensor, value=out_tile)
    return out_tensor


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_transposes(dtype):
    a = uniform(256, 384, dtype=dtype)
    assert (transpose_2d(a) == a.T).all()
    b = uniform(64, 5 * 7, dtype=dtype)
    assert (transpose_free(b, (5, 7)) == b.reshape(64, 5, 7).transpose(0, 2, 1).reshape(64, 35)).all()


@nki.jit
def softmax(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = x.shape
    for i in nl.affine_range((rows + 127) // 128):
        ix, iy = nl.mgrid[0:128, 0:columns]
        tile = nl.load(x[i * 128 + ix, iy], mask=(i * 128 + ix < rows))
        row_max = nl.max(tile, axis=1, keepdims=True)
        shifted = nl.subtract(tile, row_max)
        numerator = nl.exp(shifted)
        denominator = nl.sum(numerator, axis=1, keepdims=True)
        nl.store(out[i * 128 + ix, iy], value=numerator / denominator, mask=(i * 128 + ix < rows))
    return out


@nki.jit
def rmsnorm(a_tensor, g_tensor):
    out_tensor = nl.ndarray(a_tensor.shape, dtype=a_tensor.dtype, buffer=nl.shared_hbm)
    ix = nl.arange(128)[:, None]
    iw = nl.arange(1)[:, None]
    iy = nl.arange(a_tensor.shape[1])[None, :]
    num_rows = a_tensor.shape[0]
    g_tile = nl.load(g_tensor.reshape((1, g_tensor.shape[0]))[iw, iy])
    for i in nl.affine_range((num_rows + 127) // 128):
        a_tile = nl.load(a_tensor[i * 128 + ix, iy], mask=(i * 128 + ix < num_rows))
        in_square = nl.square(a_tile)
        square_sum = nl.sum(in_square, axis=[1])
        mean = square_sum / a_tensor.shape[1]
        rms_reciprocal = nl.rsqrt(mean)
        out_tile = nl.multiply(a_tile, rms_reciprocal)
        g_bcast = g_tile.broadcast_to((128, g_tensor.shape[0]))
        out_tile[...] = nl.multiply(out_tile, g_bcast, mask=(i * 128 + ix < num_rows))
        nl.store(out_tensor[i * 128 + ix, iy], value=out_tile, mask=(i * 128 + ix < num_rows))
    return out_tensor


@pytest.mark.parametrize("rows", [128, 200])
def test_reductions_along_rows(rows):
    x, g = uniform(rows, 300), uniform(300, seed=1)
    wide = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(softmax(x), wide / wide.sum(axis=1, keepdims=True), rtol=(300 + 8) * 2.0**-24)
    square = (x.astype(np.float64) ** 2).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(rmsnorm(x, g), x / np.sqrt(square) * g, rtol=(300 + 8) * 2.0**-24)


# In the shape of the assignment, with index grids throughout, a weight cache made in one pass and four loops around a
# product whose moving operand is a window of the tile.
@nki.jit
def fused_conv2d_maxpool(X, W, bias, pool_size=1):
    batch_size, in_channels, input_height, input_width = X.shape
    out_channels, in_channels_, filter_height, filter_width = W.shape
    out_channels_ = bias.shape[0]
    assert in_channels_ == in_channels and out_channels_ == out_channels
    out_height = input_height - filter_height + 1
    out_width = input_width - filter_width + 1
    out_pool_height = out_height // pool_size
    out_pool_width = out_width // pool_size
    assert in_channels % 128 == 0
    assert nl.tile_size.gemm_moving_fmax >= out_width

    X_out = nl.ndarray(
        shape=(batch_size, out_channels, out_pool_height, out_pool_width), dtype=X.dtype, buffer=nl.hbm
    )
    c_in_pmax = nl.tile_size.pmax
    n_tiles_c_in = in_channels // c_in_pmax
    c_out_pmax = c_in_pmax
    n_tiles_c_out = out_channels // c_out_pmax
    TILE_H = 2

    W = W.reshape((n_tiles_c_out, c_out_pmax, n_tiles_c_in, c_in_pmax, filter_height, filter_width))
    weights = nl.ndarray(
        (n_tiles_c_out, nl.par_dim(c_out_pmax), n_tiles_c_in, c_in_pmax, filter_height, filter_width),
        dtype=W.dtype,
        buffer=nl.sbuf,
    )
    w = nl.ndarray(
        (filter_height, filter_width, n_tiles_c_out, n_tiles_c_in, nl.par_dim(c_in_pmax), c_out_pmax),
        dtype=W.dtype,
        buffer=nl.sbuf,
    )
    for c_out in nl.affine_range(n_tiles_c_out):
        weights[c_out] = nl.load(W[c_out])
        for c_in in nl.affine_range(n_tiles_c_in):
            for i in nl.affine_range(filter_height):
                for j in nl.affine_range(filter_width):
                    w[i, j, c_out, c_in] = nisa.nc_transpose(weights[c_out, :, c_in, :, i, j])

    for b in nl.affine_range(batch_size):
        for th in nl.affine_range(out_height // TILE_H):
            x = nl.ndarray(
                (n_tiles_c_in, nl.par_dim(c_in_pmax), TILE_H + filter_height - 1, input_width), dtype=X.dtype, buffer=nl.sbuf
            )
            for c_in in nl.affine_range(n_tiles_c_in):
                i_p, i_h, i_w = nl.mgrid[0:c_in_pmax, 0 : TILE_H + filter_height - 1, 0:input_width]
                x[c_in, i_p, i_h, i_w] = nl.load(X[b, c_in * c_in_pmax + i_p, th * TILE_H + i_h, i_w])
            for c_out in nl.affine_range(n_tiles_c_out):
                bias_tile = nl.load(bias[nl.ds(c_out * c_out_pmax, c_out_pmax)].reshape((c_out_pmax, 1)))
                row_out = nl.zeros((nl.par_dim(c_out_pmax), TILE_H, out_width), nl.float32, buffer=nl.psum)
                for i in nl.affine_range(filter_height):
                    for j in nl.affine_range(filter_width):
                        for c_in in nl.affine_range(n_tiles_c_in):
                            i_p, i_r, i_c = nl.mgrid[0:c_in_pmax, 0:TILE_H, 0:out_width]
                            row_out += nl.matmul(
                                w[i, j, c_out, c_in], x[c_in, i_p, i + i_r, j + i_c], transpose_x=True
                            )
                out = nl.add(row_out, bias_tile, dtype=X.dtype)
                if pool_size > 1:
                    i_0, i_1, i_2, i_3, i_4 = nl.mgrid[0:c_out_pmax, 0 : TILE_H // 2, 0:2, 0:out_pool_width, 0:2]
                    pooled = nl.max(out[i_0, 2 * i_1 + i_2, 2 * i_3 + i_4], axis=[2, 4])
                    nl.store(
                        X_out[b, nl.ds(c_out * c_out_pmax, c_out_pmax), nl.ds(th, 1), :], value=pooled
                    )
                else:
                    i_p, i_r, i_c = nl.mgrid[0:c_out_pmax, 0:TILE_H, 0:out_width]
                    nl.store(X_out[b, c_out * c_out_pmax + i_p, th * TILE_H + i_r, i_c], value=out)
    return X_out


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("pool_size", [1, 2])
def test_the_fused_convolution(dtype, pool_size):
    rng = np.random.default_rng(42)
    X, W, bias = (rng.random(s).astype(dtype) for s in ((2, 256, 10, 14), (128, 256, 3, 3), (128,)))
    wide = np.zeros((2, 128, 8, 12))
    for i in range(3):
        for j in range(3):
            window = X[:, :, i : i + 8, j : j + 12].astype(np.float64)
            wide += np.tensordot(W[:, :, i, j].astype(np.float64), window, (1, 1)).transpose(1, 0, 2, 3)
    wide += bias[:, None, None].astype(np.float64)
    wide = wide.reshape(2, 128, 8 // pool_size, pool_size, 12 // pool_size, pool_size).max(axis=(3, 5))
    got = fused_conv2d_maxpool(X, W, bias, pool_size)
    assert got.dtype == dtype
    # All terms are positive: sums of 2304 of them in float32, then one rounding.
    bound = (2306 * 2.0**-24 + (2.0**-24 if dtype == np.float32 else 2.0**-11)) * 1.001
    assert (np.abs(got - wide) <= bound * wide).all()


def line_of(kernel, at):
    return f"{inspect.getsourcefile(kernel).rsplit('/', 1)[-1]}:{inspect.getsourcelines(kernel)[1] + at}"


def test_loops_without_order_may_not_carry_anything():
    def shared_tile(a):
        out = nl.ndarray((2, *a.shape), dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(2):
            tile[...] = nl.load(a)
            nl.store(out[i], tile)
        return out

    def accumulated(a):
        total = nl.zeros(a.shape, dtype=a.dtype, buffer=nl.sbuf)
        tile = nl.load(a)
        for _ in nl.affine_range(3):
            total -= tile
        return total

    def stored_twice(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(3):
            nl.store(out[:, i : i + 2], nl.load(a[:, i : i + 2]))
        return out

    def read_too_early(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out[:, 0:2], nl.load(a[:, 0:2]))
        return nl.load(out) + 1.0

    a = uniform(128, 4)
    for kernel, at, text in [
        (shared_tile, 4, "writes tile_"),
        (accumulated, 4, "in turn 1 of the affine_range at "),
        (stored_twice, 3, "turn 0 wrote 512 bytes of the same"),
        (read_too_early, 3, "1024 of its 2048 bytes"),
    ]:
        with pytest.raises(tessera.Error) as caught:
            nki.jit(kernel)(a)
        assert text in str(caught.value)
        assert "in the kernel, " in str(caught.value)
        assert line_of(kernel, at) in str(caught.value)

    def in_order(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        total = nl.zeros(a.shape, dtype=a.dtype, buffer=nl.sbuf)
        tile = nl.load(a)
        for _ in nl.sequential_range(3):
            total += tile
        nl.store(out, total)
        return out

    assert (nki.jit(in_order)(a) == a + a + a).all()


def test_every_error_names_the_kernels_line():
    def no_such_operation(a):
        x = nl.load(a)
        return nisa.tensor_scalar(x, op0=np.arctan2, operand0=1.0)

    def over_partitions(a):
        x = nl.load(a)
        return nl.sum(x, axis=0)

    def beyond_without_a_mask(a):
        i_p, i_f = nl.mgrid[0:128, 0:8]
        x = nl.load(a[i_p, i_f])
        return x + 1.0

    def not_broadcast(a):
        x = nl.load(a)
        return x.broadcast_to((128, 9))

    def too_much(a):
        x = nl.ndarray((128, 100000), dtype=nl.float32, buffer=nl.sbuf)
        return x

    def straight_from_hbm(a):
        x = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.sbuf)
        x[...] = a
        return x

    a = uniform(128, 4)
    for kernel, at, text in [
        (no_such_operation, 2, "arctan2 is no operation"),
        (over_partitions, 2, "not over partitions"),
        (beyond_without_a_mask, 2, "indices 0 to 7 of dimension 1"),
        (not_broadcast, 2, "cannot be broadcast"),
        (too_much, 1, "takes 400000 bytes of each partition of SBUF"),
        (straight_from_hbm, 2, "nl.load"),
    ]:
        with pytest.raises(tessera.Error) as caught:
            nki.jit(kernel)(a)
        assert text in str(caught.value)
        assert line_of(kernel, at) in str(caught.value), str(caught.value)
