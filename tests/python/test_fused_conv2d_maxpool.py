"""tessera.fused_conv2d_maxpool: the case study's kernel on the CPU."""

import numpy as np
import pytest

import tessera


def plain(X, W, bias, pool_size):
    """The definition in double, and the sums of magnitudes that bound its rounding."""
    X, W, bias = (np.asarray(a, dtype=np.float64) for a in (X, W, bias))
    (n, _, h, w), (oc, _, kh, kw) = X.shape, W.shape
    oh, ow = h - kh + 1, w - kw + 1
    y, size = np.zeros((n, oc, oh, ow)), np.zeros((n, oc, oh, ow))
    for ky in range(kh):
        for kx in range(kw):
            window = X[:, :, ky : ky + oh, kx : kx + ow]
            y += np.tensordot(W[:, :, ky, kx], window, (1, 1)).transpose(1, 0, 2, 3)
            size += np.tensordot(np.abs(W[:, :, ky, kx]), np.abs(window), (1, 1)).transpose(1, 0, 2, 3)
    y += bias[:, None, None]
    size += np.abs(bias)[:, None, None]
    ph, pw = oh // pool_size, ow // pool_size

    def pooled(a):
        a = a[:, :, : ph * pool_size, : pw * pool_size]
        return a.reshape(n, oc, ph, pool_size, pw, pool_size).max(axis=(3, 5))

    return pooled(y), pooled(size)


def assert_close(got, X, W, bias, pool_size, exact=True):
    wanted, size = plain(X, W, bias, pool_size)
    assert got.shape == wanted.shape
    assert got.dtype == X.dtype
    digits = {"float32": 24, "float16": 11, "bfloat16": 8}[str(X.dtype)]
    terms = W[0].size + 1
    # float32 sums in any order (Winograd's transformations: a few roundings for each term), and one to the type.
    bound = (1 if exact else 64) * terms * 2.0**-23 * size + 2.0**-digits * np.abs(wanted) + 2.0**-25
    assert (np.abs(got.astype(np.float64) - wanted) <= bound).all()


def operands(n, ic, h, w, oc, kh, kw, dtype=np.float32, seed=42):
    random = np.random.default_rng(seed)
    return tuple(random.random(shape).astype(dtype) for shape in ((n, ic, h, w), (oc, ic, kh, kw), (oc,)))


SHAPES = [
    (4, 128, 32, 16, 128, 3, 3),
    (1, 256, 14, 30, 256, 3, 3),
    (2, 3, 11, 9, 5, 3, 2),
    (1, 1, 3, 3, 1, 1, 1),
    (3, 17, 12, 8, 33, 5, 5),
]


@pytest.mark.parametrize("pool_size", [1, 2, 3])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_is_the_convolution_and_the_pool(shape, pool_size):
    X, W, bias = operands(*shape)
    assert_close(tessera.fused_conv2d_maxpool(X, W, bias, pool_size, exact=True), X, W, bias, pool_size)
    assert_close(tessera.fused_conv2d_maxpool(X, W, bias, pool_size), X, W, bias, pool_size, exact=False)


@pytest.mark.parametrize("pool_size", [1, 2])
@pytest.mark.parametrize("channels", [(128, 128), (128, 256), (256, 128), (256, 256)], ids=str)
def test_passes_the_harness_of_the_case_study(channels, pool_size):
    np.random.seed(42)
    X = np.random.rand(4, channels[0], 32, 16).astype(np.float32)
    W = np.random.rand(channels[1], channels[0], 3, 3).astype(np.float32)
    bias = np.random.rand(channels[1]).astype(np.float32)
    got = tessera.fused_conv2d_maxpool(X, W, bias, pool_size, exact=True)
    assert np.allclose(got, plain(X, W, bias, pool_size)[0])  # the tolerance is the harness's own: numpy's default


def test_no_pool_is_the_default():
    X, W, bias = operands(1, 4, 7, 6, 3, 3, 3)
    np.testing.assert_array_equal(tessera.fused_conv2d_maxpool(X, W, bias), tessera.fused_conv2d_maxpool(X=X, W=W, bias=bias, pool_size=1))


@pytest.mark.parametrize("pool_size", [1, 2])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_once(dtype, pool_size):
    dtype = np.float16 if dtype == "float16" else pytest.importorskip("ml_dtypes").bfloat16
    X, W, bias = operands(1, 64, 10, 12, 32, 3, 3, dtype)  # sums of about 150: the ulp of float16 is 1/8 there
    assert_close(tessera.fused_conv2d_maxpool(X, W, bias, pool_size), X, W, bias, pool_size, exact=False)


def test_a_layer_packs_once_and_keeps_its_weights():
    X, W, bias = operands(2, 5, 9, 13, 7, 3, 3)
    layer = tessera.FusedConv2dMaxPool(W, bias, 2)
    kept = W.copy()
    W[:] = 0
    for image in (X, X[:1], X[:, :, :6], X):
        assert_close(layer(image), image, kept, bias, 2, exact=False)
    assert layer.pool_size == 2


def test_arrays_of_any_strides_are_taken():
    X, W, bias = operands(1, 6, 8, 9, 4, 3, 3)
    wanted = tessera.fused_conv2d_maxpool(X, W, bias, 2)
    channels_last = np.ascontiguousarray(X.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(tessera.fused_conv2d_maxpool(channels_last, np.asfortranarray(W), bias, 2), wanted)


def test_what_does_not_fit_is_refused_with_the_values_found():
    X, W, bias = operands(1, 3, 8, 8, 4, 3, 3)
    refused = lambda match: pytest.raises(tessera.InvalidArgument, match=match)  # noqa: E731
    with refused(r"input \[1, 2, 8, 8\] has 2 channels, weights \[4, 3, 3, 3\] take 3"):
        tessera.fused_conv2d_maxpool(X[:, :2], W, bias)
    with refused(r"bias of shape \[3\] does not fit weights \[4, 3, 3, 3\]"):
        tessera.fused_conv2d_maxpool(X, W, bias[:3])
    with refused("a filter of 3x3 does not fit images of 2x8"):
        tessera.fused_conv2d_maxpool(X[:, :, :2], W, bias)
    with refused("the convolution gives 6x6, a pool of 7x7 does not fit that"):
        tessera.fused_conv2d_maxpool(X, W, bias, 7)
    with refused("pool_size is 0"):
        tessera.FusedConv2dMaxPool(W, bias, 0)
    with refused("the input is float16, weights are float32"):
        tessera.fused_conv2d_maxpool(X.astype(np.float16), W, bias)
    with refused("-1 threads"):
        tessera.fused_conv2d_maxpool(X, W, bias, threads=-1)
    with pytest.raises(tessera.Error, match="float32, bfloat16 or float16, not float64"):
        tessera.fused_conv2d_maxpool(X.astype(np.float64), W.astype(np.float64), bias.astype(np.float64))
