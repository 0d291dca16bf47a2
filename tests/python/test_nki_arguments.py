"""tessera.nki: every argument is honoured or refused by name."""

import inspect

import numpy as np
import pytest

import tessera
import tessera.nki as nki
import tessera.nki.isa as nisa
import tessera.nki.language as nl

ULP = 2.0**-23


def functions():
    for module in (nl, nisa):
        for name in module.__all__:
            each = getattr(module, name)
            if inspect.isfunction(each) and each.__module__.startswith("tessera.nki"):
                yield f"{module.__name__.rsplit('.', 1)[1]}.{name}", each
    for name in ("jit", "baremetal", "benchmark", "profile"):
        yield f"nki.{name}", getattr(nki, name)


ALL = dict(functions())


def test_there_are_functions():
    assert len(ALL) > 120


@pytest.mark.parametrize("name", ALL)
def test_no_function_takes_what_it_does_not_know(name):
    function = ALL[name]
    kinds = [each.kind for each in inspect.signature(function).parameters.values()]
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    if name in ("language.ds", "language.arange"):
        with pytest.raises(TypeError):
            function(unheard_of=1)
        return
    with pytest.raises(tessera.InvalidArgument, match="has no argument 'unheard_of'"):
        function(unheard_of=1)


def test_a_misspelt_argument_names_the_nearest():
    x = np.ones((128, 8), dtype=np.float32)
    for call in (
        lambda t: nl.add(t, t, msk=None),
        lambda t: nisa.tensor_copy(t, maks=None),
        lambda t: nl.sum(t, axis=1, keepdim=True),
    ):
        with pytest.raises(tessera.InvalidArgument, match="did you mean"):
            nki.jit(lambda a, call=call: call(nl.load(a)))(x)
    with pytest.raises(tessera.InvalidArgument, match="tensor_scaler|add.* is no operation|did you mean 'add'"):
        nki.jit(lambda a: nisa.tensor_tensor(nl.load(a), nl.load(a), op="ad"))(x)


def test_an_output_that_nobody_wrote_is_an_error_that_names_it():
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm, name="result")
        nl.load(a)
        return out

    x = np.ones((128, 8), dtype=np.float32)
    with pytest.raises(tessera.InvalidArgument, match="'result'.*never written"):
        nki.jit(kernel)(x)
    with pytest.raises(tessera.InvalidArgument, match="'result'.*never written"):
        nki.benchmark(kernel)(x)


def computed(body, *arrays):
    """What a tile that `body` makes of loaded arrays holds."""

    def kernel(*inputs):
        tile = body(*(nl.load(each) for each in inputs))
        out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
        nl.store(out, tile)
        return out

    return nki.jit(kernel)(*arrays)


def some(random, *names):
    return {name for name in names if random.random() < 0.5}


BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "divide": np.divide,
    "greater": np.greater,
    "less_equal": np.less_equal,
}
UNARY = {"exp": np.exp, "square": np.square, "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0), "copy": lambda x: x}


def close(got, wanted, dtype, scale=1.0):
    got, wanted = np.asarray(got, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    digits = {"float32": 24, "bfloat16": 8, "float16": 11}[str(np.dtype(dtype))]
    bound = scale * 8 * ULP * np.maximum(1, np.abs(wanted)) + 2.0**-digits * np.abs(wanted)
    assert got.shape == wanted.shape
    assert (np.abs(got - wanted) <= bound).all()


@pytest.mark.parametrize("seed", range(40))
def test_tensor_scalar_means_what_numpy_says(seed):
    random = np.random.default_rng(seed)
    x = random.uniform(0.5, 2, (random.integers(1, 129), random.integers(1, 40))).astype(np.float32)
    column = random.uniform(0.5, 2, (x.shape[0], 1)).astype(np.float32)
    chosen = some(random, "op1", "reverse0", "reverse1", "dtype", "column0", "column1", "dst", "mask")
    op0, op1 = random.choice(list(BINARY), 2)
    number = float(np.float32(random.uniform(0.5, 2)))
    limit = int(random.integers(1, x.shape[1] + 1))
    dtype = np.float16 if "dtype" in chosen else np.float32

    def body(t, c):
        given = {}
        if "op1" in chosen:
            given = {"op1": getattr(nl, op1), "operand1": c if "column1" in chosen else number}
            given["reverse1"] = "reverse1" in chosen
        p, f = nl.mgrid[0 : x.shape[0], 0 : x.shape[1]]
        mask = (f < limit) if "mask" in chosen else None
        base = nl.zeros(x.shape, dtype=dtype)
        operand = c if "column0" in chosen else number
        result = nisa.tensor_scalar(
            t, getattr(nl, op0), operand, reverse0="reverse0" in chosen, dtype=dtype, mask=mask, **given
        )
        if "dst" in chosen:
            nisa.tensor_scalar(
                dst=base, data=t, op0=getattr(nl, op0), operand0=operand, reverse0="reverse0" in chosen, mask=mask, **given
            )
        else:
            base[...] = result
        return base

    def apply(name, a, b, swapped):
        with np.errstate(all="ignore"):
            return np.asarray(BINARY[name](b, a) if swapped else BINARY[name](a, b), dtype=np.float32)

    wanted = apply(op0, x, column if "column0" in chosen else np.float32(number), "reverse0" in chosen)
    if "op1" in chosen:
        wanted = apply(op1, wanted, column if "column1" in chosen else np.float32(number), "reverse1" in chosen)
    if "mask" in chosen:
        wanted = np.where(np.arange(x.shape[1]) < limit, wanted, 0)
    close(computed(body, x, column), wanted, dtype)


@pytest.mark.parametrize("seed", range(40))
def test_activation_means_what_numpy_says(seed):
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, (random.integers(1, 129), random.integers(1, 40))).astype(np.float32)
    column = random.uniform(-1, 1, (x.shape[0], 1)).astype(np.float32)
    chosen = some(random, "bias", "scale", "scales", "reduce", "mask", "dst")
    function, over = random.choice(list(UNARY)), random.choice(["add", "maximum"])
    limit = int(random.integers(1, x.shape[0] + 1))
    rows = limit if "mask" in chosen else x.shape[0]

    def body(t, c):
        given = {"bias": c} if "bias" in chosen else {}
        if "scale" in chosen:
            given["scale"] = c if "scales" in chosen else 0.5
        sums = nl.zeros((x.shape[0], 1), dtype=nl.float32)
        if "reduce" in chosen:
            given |= {"reduce_op": getattr(nl, over), "reduce_res": sums}
        if "mask" in chosen:
            p, f = nl.mgrid[0 : x.shape[0], 0 : x.shape[1]]
            given["mask"] = p < limit
        both = nl.zeros((x.shape[0], x.shape[1] + 1), dtype=nl.float32)
        # Sums are made at once, so what a mask leaves out of such a result is left out of a tile of its own.
        if "dst" in chosen or "reduce" in chosen:
            nisa.activation(dst=both[:, 0 : x.shape[1]], op=getattr(nl, function), data=t, **given)
        else:
            both[:, 0 : x.shape[1]] = nisa.activation(getattr(nl, function), t, **given)
        both[:, x.shape[1] : x.shape[1] + 1] = sums
        return both

    scale = (column if "scales" in chosen else np.float32(0.5)) if "scale" in chosen else np.float32(1)
    wanted = np.asarray(UNARY[function](x * scale + (column if "bias" in chosen else np.float32(0))), dtype=np.float32)
    sums = np.zeros((x.shape[0], 1))
    if "reduce" in chosen:
        sums = (wanted.sum(1) if over == "add" else wanted.max(1))[:, None]
    wanted = np.concatenate([wanted, sums], 1)
    wanted = np.where(np.arange(x.shape[0])[:, None] < rows, wanted, 0)
    close(computed(body, x, column), wanted, np.float32, x.shape[1])


@pytest.mark.parametrize("seed", range(40))
def test_tensor_reduce_means_what_numpy_says(seed):
    random = np.random.default_rng(seed)
    shape = [int(random.integers(1, 129))] + [int(n) for n in random.integers(1, 9, random.integers(1, 4))]
    x = random.uniform(-1, 1, shape).astype(np.float32)
    chosen = some(random, "negate", "keepdims", "dtype", "mask")
    over = random.choice(["add", "max", "min"])
    count = int(random.integers(1, len(shape)))
    axes = sorted(int(a) for a in random.choice(np.arange(1, len(shape)), count, replace=False))
    limit = int(random.integers(1, shape[-1] + 1))
    if len(shape) - 1 not in axes:
        chosen.discard("mask")

    def body(t):
        grid = nl.mgrid[tuple(slice(0, n) for n in shape)]
        given = {"mask": grid[-1] < limit} if "mask" in chosen else {}
        given |= {"dtype": np.float16} if "dtype" in chosen else {}
        flags = {name: True for name in ("negate", "keepdims") if name in chosen}
        return nisa.tensor_reduce(over, t, axes, **flags, **given)

    numbers = x[..., :limit] if "mask" in chosen else x
    wanted = getattr(np, {"add": "sum"}.get(over, over))(numbers, axis=tuple(axes), keepdims="keepdims" in chosen)
    wanted = -wanted if "negate" in chosen else wanted
    got = computed(body, x)
    assert got.dtype == (np.float16 if "dtype" in chosen else np.float32)
    close(got.reshape(wanted.shape), wanted, got.dtype, int(np.prod(shape)))


@pytest.mark.parametrize("seed", range(20))
def test_operations_and_copies_leave_what_a_mask_leaves_out(seed):
    random = np.random.default_rng(seed)
    n, m = (int(k) for k in (random.integers(2, 129), random.integers(2, 40)))
    x, y = (random.uniform(-1, 1, (n, m)).astype(np.float32) for _ in range(2))
    rows, columns, shift = (int(random.integers(1, k + 1)) for k in (n, m, m))
    kind = random.choice(["box", "triangle", "nothing", "from"])

    def mask(p, f):
        return {"box": (p < rows) & (f < columns), "triangle": f <= p + shift, "nothing": False, "from": f >= columns - 1}[kind]

    where = {
        "box": (np.arange(n)[:, None] < rows) & (np.arange(m) < columns),
        "triangle": np.arange(m) <= np.arange(n)[:, None] + shift,
        "nothing": np.zeros((n, m), dtype=bool),
        "from": np.broadcast_to(np.arange(m) >= columns - 1, (n, m)),
    }[kind]
    for make, wanted in (
        (lambda a, b, k: nl.multiply(a, b, mask=k), x * y),
        (lambda a, b, k: nisa.tensor_copy(a, mask=k), x),
        (lambda a, b, k: nl.maximum(a, 0.25, mask=k), np.maximum(x, np.float32(0.25))),
    ):

        def body(a, b, make=make):
            out = nl.full((n, m), 7.0, dtype=nl.float32)
            p, f = nl.mgrid[0:n, 0:m]
            out[...] = make(a, b, mask(p, f))
            return out

        assert np.array_equal(computed(body, x, y), np.where(where, wanted, np.float32(7)))


def test_dma_copy_combines_with_what_is_there():
    x = np.arange(128 * 4, dtype=np.float32).reshape(128, 4)

    def kernel(a, how):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.load(a)
        nisa.dma_copy(dst=out, src=tile)
        nisa.dma_copy(dst=out, src=tile, dst_rmw_op=how)
        return out

    assert np.array_equal(nki.jit(kernel)(x, np.add), 2 * x)
    assert np.array_equal(nki.jit(kernel)(x, np.maximum), x)
    with pytest.raises(tessera.InvalidArgument, match="is no operation"):
        nki.jit(kernel)(x, np.sin)


@pytest.mark.parametrize(
    ("runs", "nth", "traces", "reports"),
    [(20, 10, ["t_exec_10.ntff", "t_exec_20.ntff"], 2), (5, 10, ["t_exec_10.ntff"], 1), (None, 3, ["t_exec_3.ntff"], 0), (1, None, ["t.ntff"], 1)],
)
def test_profile_leaves_a_file_for_every_nth_run(tmp_path, runs, nth, traces, reports):
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(a))
        return out

    folder = tmp_path / "profiles"
    nki.profile(
        working_directory=str(folder), save_neff_name="k.neff", save_trace_name="t.ntff", num_execs=runs, profile_nth=nth
    )(kernel)(np.ones((128, 8), dtype=np.float32))
    assert sorted(each.name for each in folder.iterdir() if each.suffix == ".ntff") == traces
    assert (folder / "k.neff").exists()
    assert len(list((folder / "json_reports").iterdir()) if (folder / "json_reports").exists() else []) == reports
    with pytest.raises(tessera.InvalidArgument, match="no run 0"):
        nki.profile(num_execs=0)
