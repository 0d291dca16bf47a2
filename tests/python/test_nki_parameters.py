"""tessera.nki: what every function's mask, dtype, dst, keepdims, engine and name do, or that they are refused."""

import inspect

import numpy as np
import pytest

import tessera
import tessera.nki as nki
import tessera.nki.isa as nisa
import tessera.nki.language as nl
from test_nki_arguments import ALL

N, M = 128, 16
RANDOM = np.random.default_rng(7)
ARRAYS = {
    "x": RANDOM.uniform(0.25, 0.75, (N, M)).astype(np.float32),
    "y": RANDOM.uniform(0.25, 0.75, (N, M)).astype(np.float32),
    "i": RANDOM.integers(0, 8, (N, M)).astype(np.int32),
    "c": RANDOM.uniform(0.25, 0.75, (N, 1)).astype(np.float32),
    "square": RANDOM.uniform(-1, 1, (N, N)).astype(np.float32),
}
INTEGER = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "invert", "left_shift", "right_shift"}


class Case:
    """`call(t, **more)` makes a tile of loaded ones. `same`: the result has the shape of the operands, and a mask of it
    leaves out what it leaves out of them."""

    def __init__(self, call, shape=(N, M), same=False):
        self.call, self.shape, self.same = call, shape, same


def cases():
    out = {}
    for name, function in ALL.items():
        words = list(inspect.signature(function).parameters)
        short = name.split(".")[1]
        kind = "i" if short in INTEGER else "x"
        if words == ["x", "dtype", "mask"]:
            shape = (M, N) if short == "transpose" else (N, M)
            out[name] = Case(lambda t, f=function, k=kind, **more: f(t[k], **more), shape, short != "transpose")
        elif words == ["x", "y", "dtype", "mask"]:
            other = "i" if kind == "i" else "y"
            out[name] = Case(lambda t, f=function, k=kind, o=other, **more: f(t[k], t[o], **more), same=True)
        elif words == ["x", "axis", "dtype", "mask", "keepdims"]:
            out[name] = Case(lambda t, f=function, **more: f(t["x"], 1, **more), (N, 1))
    more = {
        "language.copy": Case(lambda t, **m: nl.copy(t["x"], **m), same=True),
        "language.load": Case(lambda t, **m: nl.load(t.hbm, **m), same=True),
        "language.load_transpose2d": Case(lambda t, **m: nl.load_transpose2d(t.hbm, **m), (M, N)),
        "language.dropout": Case(lambda t, **m: nl.dropout(t["x"], 0.0, **m), same=True),
        "language.where": Case(lambda t, **m: nl.where(t["x"] > 0.5, t["x"], t["y"], **m), same=True),
        "language.softmax": Case(lambda t, **m: nl.softmax(t["x"], 1, **m)),
        "language.rms_norm": Case(lambda t, **m: nl.rms_norm(t["x"], t["y"], 1, M, **m)),
        "isa.activation": Case(lambda t, **m: nisa.activation(nl.exp, t["x"], **m), same=True),
        "isa.activation_reduce": Case(
            lambda t, **m: nisa.activation_reduce(nl.exp, t["x"], reduce_op=nl.add, reduce_res=t.column(), **m)
        ),
        "isa.affine_select": Case(
            lambda t, **m: nisa.affine_select(nl.arange(M)[None, :] < 8 + 0 * nl.arange(N)[:, None], t["x"], 2.0, **m), same=True
        ),
        "isa.bn_stats": Case(lambda t, **m: nisa.bn_stats(t["x"], **m), (N, 6)),
        "isa.bn_aggr": Case(lambda t, **m: nisa.bn_aggr(nisa.bn_stats(t["x"]), **m), (N, 2)),
        "isa.dropout": Case(lambda t, **m: nisa.dropout(t["x"], 0.0, **m), same=True),
        "isa.dma_transpose": Case(lambda t, **m: nisa.dma_transpose(t.hbm, **m), (M, N)),
        "isa.iota": Case(
            lambda t, dtype=np.float32, **m: nisa.iota(nl.arange(N)[:, None] + nl.arange(M)[None, :], dtype, **m), same=True
        ),
        "isa.max8": Case(lambda t, **m: nisa.max8(t["x"], **m), (N, 8)),
        "isa.memset": Case(lambda t, dtype=np.float32, **m: nisa.memset((N, M), 3.0, dtype, **m), same=True),
        "isa.nc_find_index8": Case(lambda t, **m: nisa.nc_find_index8(t["x"], nisa.max8(t["x"]), **m), (N, 8)),
        "isa.nc_match_replace8": Case(lambda t, **m: nisa.nc_match_replace8(t["x"], nisa.max8(t["x"]), 9.0, **m)),
        "isa.nc_transpose": Case(lambda t, **m: nisa.nc_transpose(t["square"], **m), (N, N)),
        "isa.reciprocal": Case(lambda t, **m: nisa.reciprocal(t["x"], **m), same=True),
        "isa.scalar_tensor_tensor": Case(
            lambda t, **m: nisa.scalar_tensor_tensor(t["x"], nl.add, 2.0, nl.multiply, t["y"], **m), same=True
        ),
        "isa.tensor_copy": Case(lambda t, **m: nisa.tensor_copy(t["x"], **m), same=True),
        "isa.tensor_copy_dynamic_src": Case(lambda t, **m: nisa.tensor_copy_dynamic_src(t["x"], **m)),
        "isa.tensor_partition_reduce": Case(lambda t, **m: nisa.tensor_partition_reduce(nl.add, t["x"], **m), (1, M)),
        "isa.tensor_reduce": Case(lambda t, **m: nisa.tensor_reduce(nl.add, t["x"], 1, **m), (N, 1)),
        "isa.tensor_scalar": Case(lambda t, **m: nisa.tensor_scalar(t["x"], nl.add, 2.0, **m), same=True),
        "isa.tensor_scalar_reduce": Case(
            lambda t, **m: nisa.tensor_scalar_reduce(t["x"], nl.add, 2.0, nl.add, t.column(), **m)
        ),
        "isa.tensor_tensor": Case(lambda t, **m: nisa.tensor_tensor(t["x"], t["y"], nl.add, **m), same=True),
        "isa.tensor_tensor_scan": Case(
            lambda t, **m: nisa.tensor_tensor_scan(t["x"], t["y"], 0.0, op0=nl.multiply, op1=nl.add, **m)
        ),
        "isa.range_select": Case(
            lambda t, **m: nisa.range_select(t["x"], nl.greater_equal, nl.less, t["c"], t["c"], on_false_value=-1.0, **m)
        ),
    }
    return {**out, **more}


CASES = cases()
# Whose arguments other tests look at: they have no result, make memory, or are told where to put their result.
ELSEWHERE = {
    "language.all_reduce", "language.atomic_rmw", "language.device_print", "language.empty_like", "language.full",
    "language.gather_flattened", "language.loop_reduce", "language.matmul", "language.ndarray", "language.ones",
    "language.ones_like", "language.rand", "language.random_seed", "language.shared_constant",
    "language.shared_identity_matrix", "language.sizeinbytes", "language.static_cast", "language.store",
    "language.zeros", "language.zeros_like", "language.finfo", "isa.dma_copy", "isa.local_gather", "isa.nc_matmul",
    "isa.nc_stream_shuffle", "isa.select_reduce", "isa.tensor_copy_dynamic_dst", "isa.tensor_copy_predicated",
}  # fmt: skip
LOOKED_AT = {"mask", "dtype", "dst", "keepdims", "engine", "name"}


class Loaded(dict):
    def __init__(self, inputs):
        super().__init__((key, nl.load(each)) for key, each in inputs.items())
        self.hbm = inputs["x"]

    def column(self):
        return nl.zeros((N, 1), dtype=nl.float32)


def run(body, dtype, shape):
    """What a tile of sevens is after `body` was put into it, and the profile."""

    def kernel(x, y, i, c, square):
        base = nl.full(shape, 7.0, dtype=dtype)
        body(Loaded({"x": x, "y": y, "i": i, "c": c, "square": square}), base)
        out = nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm)
        nl.store(out, base)
        return out

    bench = nki.baremetal(kernel)
    result = bench(*ARRAYS.values())
    return result, bench.benchmark_result.summary


def put(case, dtype=np.float32, **more):
    def body(t, base):
        base[...] = case.call(t, **more)

    return run(body, dtype, case.shape)[0]


def parameters(word):
    return [name for name in CASES if word in inspect.signature(ALL[name]).parameters]


def test_every_function_with_such_an_argument_is_looked_at():
    for name, function in ALL.items():
        if LOOKED_AT & set(inspect.signature(function).parameters) and not name.startswith("nki."):
            assert (name in CASES) != (name in ELSEWHERE), name


@pytest.mark.parametrize("name", parameters("mask"))
def test_a_mask_leaves_what_it_leaves_out(name):
    case = CASES[name]
    try:
        nothing = put(case, mask=False)
    except tessera.InvalidArgument as error:
        assert "mask" in str(error)
    else:
        assert (nothing == 7).all()
    if not case.same:
        return

    def body(t, base):
        p, f = nl.mgrid[0:N, 0:M]
        base[...] = case.call(t, mask=(p < 100) & (f < 5))

    part, whole = run(body, np.float32, case.shape)[0], put(case)
    assert not (whole == 7).all()
    assert np.array_equal(part[:100, :5], whole[:100, :5], equal_nan=True)
    assert (part[100:] == 7).all() and (part[:, 5:] == 7).all()


@pytest.mark.parametrize("name", parameters("dtype"))
def test_a_dtype_is_that_of_the_result(name):
    case, seen = CASES[name], []

    def body(t, base):
        result = case.call(t, dtype=np.float16)
        seen.append(np.dtype(result.dtype))
        base[...] = result

    try:
        rounded = run(body, np.float32, case.shape)[0]
    except tessera.InvalidArgument as error:
        assert "dtype" in str(error) or "float16" in str(error)
        return
    assert seen[0] == np.float16
    assert np.array_equal(rounded, rounded.astype(np.float16).astype(np.float32), equal_nan=True)
    assert np.allclose(rounded, put(case), rtol=2.0**-10, atol=1e-3, equal_nan=True)
    if not case.same or "mask" not in inspect.signature(ALL[name]).parameters:
        return

    def masked(t, base):
        base[...] = nl.full(case.shape, 1 / 3, dtype=nl.float32)
        p, f = nl.mgrid[0:N, 0:M]
        base[...] = case.call(t, dtype=np.float16, mask=(p < 100) & (f < 5))

    part = run(masked, np.float32, case.shape)[0]
    assert np.array_equal(part[:100, :5], rounded[:100, :5], equal_nan=True)
    assert (part[100:] == np.float32(1 / 3)).all() and (part[:, 5:] == np.float32(1 / 3)).all()


@pytest.mark.parametrize("name", parameters("dst"))
def test_a_result_is_where_dst_says(name):
    case = CASES[name]

    def body(t, base):
        if name == "isa.nc_transpose":
            psum = nl.ndarray(case.shape, dtype=nl.float32, buffer=nl.psum)
            case.call(t, dst=psum)
            base[...] = nisa.tensor_copy(psum)
        else:
            case.call(t, dst=base)

    assert np.array_equal(run(body, np.float32, case.shape)[0], put(case), equal_nan=True)


@pytest.mark.parametrize("name", parameters("keepdims"))
def test_keepdims_keeps_dimensions(name):
    case, seen = CASES[name], {}

    def body(t, base):
        for keep in (True, False):
            given = nl.copy(t["x"]).reshape((N, 4, 4))
            extra = (nl.add,) if name == "isa.tensor_reduce" else ()
            call = ALL[name]
            seen[keep] = tuple(call(*extra, given, axis=[2], keepdims=keep).shape)
        base[...] = nl.zeros(case.shape, dtype=nl.float32)

    run(body, np.float32, case.shape)
    assert seen == {True: (N, 4, 1), False: (N, 4)}


@pytest.mark.parametrize("name", parameters("engine"))
def test_an_engine_does_what_it_is_told_to_or_says_why_not(name):
    case, counts = CASES[name], {}
    for engine in ("vector", "scalar", "gpsimd", "tensor"):

        def body(t, base, engine=engine):
            given = getattr(nisa, f"{engine}_engine")
            result = case.call(t, engine=given)
            base[...] = nisa.tensor_copy(result, engine=nisa.vector_engine)

        try:
            _, summary = run(body, np.float32, case.shape)
        except tessera.InvalidArgument as error:
            assert engine in str(error) or "transpose" in str(error)
            continue
        counts[engine] = {word: summary[f"{word}_engine_instruction_count"] for word in ("vector", "scalar", "gpsimd", "tensor")}
    assert counts
    # One instruction moves from one engine to another.
    for one, mine in counts.items():
        for other, theirs in counts.items():
            if one != other:
                assert mine[one] == theirs[one] + 1


@pytest.mark.parametrize("name", parameters("name"))
def test_a_name_is_a_text(name):
    case = CASES[name]
    assert np.array_equal(put(case, name="mine"), put(case), equal_nan=True)
    with pytest.raises(tessera.InvalidArgument, match="name"):
        put(case, name=3)
