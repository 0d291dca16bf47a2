"""tessera.Session: networks on the CPU from Python."""

import gc
import sys
import threading

import numpy as np
import pytest

import tessera

onnx = pytest.importorskip("onnx")
helper = onnx.helper


def save(path, nodes, inputs, outputs, weights=()):
    """A model of these nodes; inputs and outputs are (name, type, shape), weights arrays by name."""
    describe = lambda values: [helper.make_tensor_value_info(n, t, s) for n, t, s in values]  # noqa: E731
    initializers = [onnx.numpy_helper.from_array(array, name) for name, array in dict(weights).items()]
    graph = helper.make_graph(nodes, "test", describe(inputs), describe(outputs), initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


FLOAT = onnx.TensorProto.FLOAT
RANDOM = np.random.default_rng(1)
W = RANDOM.standard_normal((6, 5), dtype=np.float32)
B = RANDOM.standard_normal(5, dtype=np.float32)


def dense(x):
    return np.maximum(x.astype(np.float64) @ W.astype(np.float64) + B, 0)


def assert_dense(y, x):
    assert y.dtype == np.float32
    # Rounding of 6 products and their sum.
    bound = 8 * np.finfo(np.float32).eps * (np.abs(x).astype(np.float64) @ np.abs(W) + np.abs(B))
    assert (np.abs(y - dense(x)) <= bound).all()


@pytest.fixture
def model(tmp_path):
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    return save(tmp_path / "dense.onnx", nodes, [("x", FLOAT, ["batch", 6])], [("y", FLOAT, ["batch", 5])], {"w": W, "b": B})


@pytest.fixture
def session(model):
    return tessera.load(model)


def random(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32)


def test_says_what_it_takes_and_gives(session):
    (x,), (y,) = session.inputs, session.outputs
    assert (x.name, x.dtype, x.shape) == ("x", "float32", (None, 6))
    assert (y.name, y.dtype) == ("y", "float32")
    assert repr(x) == "<tessera.Port x float32[?, 6]>"
    assert repr(session).startswith("<tessera.Session: x float32[?, 6] -> y float32")


def test_runs_by_name_and_in_order(session):
    x = random(4, 6)
    named = session.run({"x": x})
    assert list(named) == ["y"]
    assert_dense(named["y"], x)
    for outputs in (session.run([x]), session.run((x,)), session(x)):
        assert isinstance(outputs, list)
        np.testing.assert_array_equal(outputs[0], named["y"])


def test_every_shape_is_planned_for_once(session):
    for batch in (1, 3, 1, 3):
        x = random(batch, 6)
        assert_dense(session(x)[0], x)
    assert session.plans_made == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1][::-1],
        lambda x: np.ascontiguousarray(x.T).T,
    ],
    ids=["fortran", "strided", "reversed twice", "transposed"],
)
def test_takes_arrays_of_any_strides(session, make):
    x = random(4, 6)
    np.testing.assert_array_equal(session(make(x))[0], session(x)[0])
    reversed_rows = x[::-1]
    np.testing.assert_array_equal(session(reversed_rows)[0], session(reversed_rows.copy())[0])


def test_takes_what_speaks_dlpack(session):
    class OnlyDlpack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = random(4, 6)
    np.testing.assert_array_equal(session(OnlyDlpack(x))[0], session(x)[0])


def test_takes_numbers_and_lists(session):
    x = [[1, 2, 3, 4, 5, 6]]
    np.testing.assert_array_equal(session(x)[0], session(np.array(x, dtype=np.float32))[0])


def test_read_only_arrays_are_taken(session):
    x = random(2, 6)
    x.setflags(write=False)
    assert_dense(session(x)[0], x)


def test_outputs_outlive_the_session_and_are_the_callers_own(model):
    x = random(2, 6)
    session = tessera.load(model)
    y = session(x)[0]
    again = session(x)[0]
    del session
    gc.collect()
    again += 1
    assert_dense(y, x)


def test_errors_are_those_of_the_library(session, tmp_path):
    with pytest.raises(tessera.InvalidArgument, match=r"input 'x' must be float32\[\?, 6\], not \[2, 6\] float64"):
        session(np.zeros((2, 6)))
    with pytest.raises(tessera.InvalidArgument, match=r"input 'x' must be float32\[\?, 6\], not \[2, 7\] float32"):
        session(random(2, 7))
    with pytest.raises(tessera.InvalidArgument, match=r"input 'x' \(float32\[\?, 6\]\) is missing"):
        session.run({})
    with pytest.raises(tessera.Error, match="the network has no input 'z', only x"):
        session.run({"x": random(1, 6), "z": random(1, 6)})
    with pytest.raises(tessera.InvalidArgument, match="the network has 1 input, 2 are given"):
        session(random(1, 6), random(1, 6))
    with pytest.raises(TypeError, match="a dict of arrays by name, or a list"):
        session.run("x")
    with pytest.raises(tessera.Error, match="nothing.onnx"):
        tessera.load(tmp_path / "nothing.onnx")
    with pytest.raises(tessera.Error, match="did you mean 'resnet50'"):
        tessera.Session("resnet51")


def test_options_are_checked(model):
    with pytest.raises(tessera.InvalidArgument, match="'float32' or 'bfloat16', not 'float16'"):
        tessera.load(model, storage="float16")
    with pytest.raises(tessera.InvalidArgument, match="no instruction set 'sse'"):
        tessera.load(model, isa="sse")
    with pytest.raises(tessera.InvalidArgument, match="-1 threads"):
        tessera.load(model, threads=-1)
    with pytest.raises(tessera.Error, match="there is no pass 'magic'"):
        tessera.load(model, passes_off=["magic"])


def test_options_are_kept(model):
    x = random(3, 6)
    one = tessera.load(model, threads=1, isa="portable", shapes={"x": [3, 6]})
    assert (one.threads, one.isa, one.storage) == (1, "portable", "float32")
    assert one.inputs[0].shape == (3, 6)
    assert_dense(one(x)[0], x)
    assert tessera.load(model, dims={"batch": 2}).inputs[0].shape == (2, 6)


def test_bfloat16_storage_is_close(model):
    x = random(3, 6)
    session = tessera.load(model, storage="bfloat16")
    assert session.storage == "bfloat16"
    y = session(x)[0]
    assert y.dtype == np.float32
    # Inputs, weights and the result are rounded to 8 bits each, and 6 products of such are summed.
    bound = 4 * 2.0**-8 * (np.abs(x) @ np.abs(W) + np.abs(B))
    assert (np.abs(y - dense(x)) <= bound).all()


def test_many_threads_at_once(session):
    arrays = [random(1 + i % 5, 6) for i in range(64)]
    results, errors = [None] * len(arrays), []

    def work(first):
        try:
            for i in range(first, len(arrays), 8):
                for _ in range(5):
                    results[i] = session.run({"x": arrays[i]})["y"]
        except Exception as error:  # noqa: BLE001 - handed to the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for x, y in zip(arrays, results, strict=True):
        assert_dense(y, x)


def test_python_runs_while_a_network_does():
    session = tessera.Session("shallow_unet", threads=1)
    x = random(1, 4, 1056, 160)
    session(x)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # nobody takes the interpreter from a thread that does not give it up
    try:
        for _ in range(20):
            started, done = threading.Event(), threading.Event()

            def work(started=started, done=done):
                started.set()
                session(x)
                done.set()

            thread = threading.Thread(target=work)
            thread.start()
            started.wait()
            overlapped = not done.is_set()
            thread.join()
            if overlapped:
                return
    finally:
        sys.setswitchinterval(interval)
    pytest.fail("no other thread ran while the network did")


def test_whole_numbers_and_truth_values(tmp_path):
    nodes = [helper.make_node("Greater", ["a", "b"], ["more"]), helper.make_node("Where", ["more", "a", "b"], ["most"])]
    INT64, BOOL = onnx.TensorProto.INT64, onnx.TensorProto.BOOL
    path = save(tmp_path / "most.onnx", nodes, [("a", INT64, [3]), ("b", INT64, [3])], [("more", BOOL, [3]), ("most", INT64, [3])])
    a, b = np.array([1, 5, -(2**62)]), np.array([2, 4, 2**62])
    outputs = tessera.load(path).run({"b": b, "a": a})
    assert list(outputs) == ["more", "most"]
    assert outputs["more"].dtype == np.bool_
    np.testing.assert_array_equal(outputs["more"], a > b)
    np.testing.assert_array_equal(outputs["most"], np.maximum(a, b))


def test_scalars_and_empty_arrays(tmp_path):
    path = save(tmp_path / "neg.onnx", [helper.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, None)], [("y", FLOAT, None)])
    session = tessera.load(path)
    assert session.inputs[0].shape is None
    y = session(np.float32(2))[0]
    assert (y.shape, y[()]) == ((), -2)
    assert session(np.zeros((0, 3), np.float32))[0].shape == (0, 3)


def test_half_precision_goes_in_and_out(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1, -2.5, 3.140625, 65280])
    for onnx_type, dtype in [(onnx.TensorProto.FLOAT16, np.float16), (onnx.TensorProto.BFLOAT16, ml_dtypes.bfloat16)]:
        nodes = [helper.make_node("Cast", ["x"], ["wide"], to=FLOAT), helper.make_node("Cast", ["wide"], ["y"], to=onnx_type)]
        path = save(tmp_path / f"{np.dtype(dtype)}.onnx", nodes, [("x", onnx_type, [4])], [("wide", FLOAT, [4]), ("y", onnx_type, [4])])
        wide, y = tessera.load(path)(x.astype(dtype))
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, x.astype(dtype))
        np.testing.assert_array_equal(wide, x.astype(dtype).astype(np.float32))


def test_profile_and_plan_summary(session):
    steps = session.profile([random(2, 6)], runs=3, warm_up=1)
    assert steps
    assert {"name", "node", "op", "kernel", "shape", "seconds", "flops", "read_bytes", "write_bytes"} <= set(steps[0])
    assert all(step["seconds"] >= 0 and step["end_ns"] >= step["begin_ns"] for step in steps)
    assert sum(step["flops"] for step in steps) >= 2 * 2 * 6 * 5
    summary = session.plan_summary({"x": random(2, 6)})
    assert summary["steps"] == len(steps)
    assert summary["weight_bytes"] >= 0 and summary["stages"] == 1
    with pytest.raises(tessera.InvalidArgument, match=r"input 'x' is float32\[\?, 6\]: which shape"):
        session.plan_summary()
    with pytest.raises(tessera.InvalidArgument, match="0 runs"):
        session.profile([random(2, 6)], runs=0)


def test_the_zoo_by_name(tmp_path):
    assert {"resnet50", "mobilenet_v2", "unet"} <= set(tessera.zoo())
    session = tessera.Session("mobilenet_v2", batch=2)
    assert session.inputs[0].shape == (2, 3, 224, 224)
    assert session.plan_summary()["flops"] > 2 * 3e8
    file = tmp_path / "shallow_unet.onnx"
    tessera.export_onnx("shallow_unet", file)
    onnx.checker.check_model(str(file), full_check=True)
    x = random(1, 4, 1056, 160)
    np.testing.assert_array_equal(tessera.load(file)(x)[0], tessera.Session("shallow_unet")(x)[0])


def test_weights_may_be_kept_in_fewer_bits():
    x = np.random.default_rng(3).standard_normal(
        [d or 1 for d in tessera.Session("shallow_unet").inputs[0].shape], dtype=np.float32
    )
    plain = tessera.Session("shallow_unet")(x)[0]
    for weights, allowed in (("bfloat16", 0.03), ("bfloat8_b", 0.1)):
        session = tessera.Session("shallow_unet", weights=weights)
        assert session.weights == weights
        difference = np.abs(session(x)[0] - plain).max() / np.abs(plain).max()
        assert 0 < difference < allowed
    with pytest.raises(tessera.Error, match="bfloat8_b"):
        tessera.Session("shallow_unet", weights="int8")
