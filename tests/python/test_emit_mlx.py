"""Scripts of --emit mlx on the real MLX (its build for this CPU): values of networks and liquid layers, and gradients."""

import csv
import io
import itertools
import os
import pathlib
import subprocess

import numpy as np
import pytest

import tessera
from tessera.ncps import CfC, LTC
from tessera.ncps.wirings import AutoNCP, Random

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build")) / "tessera"
MLX = ROOT / ".venv-mlx" / "bin" / "python"

pytestmark = [
    pytest.mark.skipif(not COMMAND.exists(), reason=f"{COMMAND} has not been built"),
    pytest.mark.skipif(not MLX.exists(), reason="MLX is not there: tools/setup mlx"),
]


def run(folder, *words):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("network", ["digits", "shapes", "mobilenet_v2", "unet"])
@pytest.mark.parametrize("how", ["compiled", "plain"])
def test_networks_give_the_same_values(network, how, tmp_path):
    if how == "plain" and network in ("mobilenet_v2", "unet"):
        pytest.skip("small networks show it")
    session = tessera.Session(network)
    (port,) = session.inputs
    x = np.random.default_rng(1).standard_normal([max(1, extent) for extent in port.shape]).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    run(tmp_path, COMMAND, "plan", network, "--emit", "mlx", "net.py")
    run(tmp_path, MLX, "net.py", "--cpu", "--input", "x.npy", "--output", "out", *(["--plain"] if how == "plain" else []))
    for name, expected in session.run({port.name: x}).items():
        found = np.load(tmp_path / "out" / f"{name}.npy")
        assert np.abs(found - expected).max() <= 1e-4 * np.abs(expected).max()


# What MLX makes of a script under mx.compile: its primitives but for those that only look at arrays in another way.
PRIMITIVES = """
import importlib.util, re
import mlx.core as mx
mx.set_default_device(mx.cpu)
spec = importlib.util.spec_from_file_location("net", "net.py")
net = importlib.util.module_from_spec(spec)
spec.loader.exec_module(net)
w = {name: mx.array(values) for name, values in net.read_safetensors(net.WEIGHTS_FILE).items()}
inputs = [mx.zeros(shape) for shape in net.INPUTS.values()]
mx.eval(inputs, w)
mx.export_to_dot("net.dot", *mx.compile(net.network)(w, *inputs))
names = re.findall(r'label ="(\\w+)", shape=rectangle', open("net.dot").read())
print(*[name for name in names if name not in ("Transpose", "Slice", "Reshape")])
"""


@pytest.mark.parametrize("network", ["digits", "resnet18", "mobilenet_v2", "unet"])
def test_plans_have_the_kernels_that_mlx_compiles(network, tmp_path):
    run(tmp_path, COMMAND, "plan", network, "--emit", "mlx", "net.py")
    theirs = run(tmp_path, MLX, "-c", PRIMITIVES).split()
    planned = csv.DictReader(io.StringIO(run(tmp_path, COMMAND, "plan", network, "--device", "apple_m1", "--format", "csv")))
    ours = [row["kernel"] for row in planned if row["kernel"] != "copy"]
    assert len(ours) == len(theirs)
    for kind, name in {"convolution": "Convolution", "matmul": "Matmul", "concatenate": "Concatenate", "pad": "Pad"}.items():
        assert ours.count(kind) == theirs.count(name)


def moving_model():
    """Every operator of the writer that no network of the zoo has."""
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(2)
    constants, nodes = [], []

    def constant(name, values):
        constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, output if isinstance(output, list) else [output], **attributes))

    numbers = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    add("DepthToSpace", ["x", ], "wide", blocksize=2)
    add("SpaceToDepth", ["wide"], "deep", blocksize=2)
    add("DepthToSpace", ["deep"], "wider", blocksize=2, mode="CRD")
    add("InstanceNormalization", ["wider", constant("in_s", numbers(2)), constant("in_b", numbers(2))], "normed")
    add("LayerNormalization", ["normed", constant("ln_s", numbers(8, 12)), constant("ln_b", numbers(8, 12))], "planes", axis=2)
    add("LayerNormalization", ["planes", constant("row_s", numbers(12))], "rows")
    add("Gather", ["rows", constant("few", np.array([3, -1, 0]))], "some", axis=2)
    add("Gather", ["some", constant("one", np.array(-2))], "row", axis=2)
    add("Gather", ["row", constant("table", rng.integers(-12, 12, (4, 6)))], "many", axis=-1)
    add("Tile", ["many", constant("repeats", np.array([1, 2, 1, 1]))], "tiled")
    add("Expand", ["row", constant("size", np.array([3, 2, 12]))], "large")
    add("Split", ["large", constant("sizes", np.array([5, 7]))], ["unread", "part"], axis=2)
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("tiled", "part")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 4, 6])]
    graph = helper.make_graph(nodes, "moves", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_operators_that_move_and_normalise(tmp_path):
    onnx = pytest.importorskip("onnx")
    onnx.save(moving_model(), tmp_path / "moves.onnx")
    x = np.random.default_rng(3).standard_normal((1, 8, 4, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    run(tmp_path, COMMAND, "plan", "moves.onnx", "--emit", "mlx", "net.py")
    run(tmp_path, MLX, "net.py", "--cpu", "--input", "x.npy", "--output", "out")
    for name, expected in tessera.Session(tmp_path / "moves.onnx").run({"x": x}).items():
        found = np.load(tmp_path / "out" / f"{name}.npy")
        assert found.shape == expected.shape
        # Statistics of some hundred numbers near 1.
        assert np.abs(found - expected).max() <= 256 * 2.0**-23 * np.abs(expected).max()


LAYERS = {
    f"cfc_{mode}_{activation}": lambda mode=mode, activation=activation: CfC(
        3, 9, mode=mode, activation=activation, backbone_units=11, backbone_layers=2
    )
    for mode, activation in itertools.product(["default", "pure", "no_gate"], ["lecun_tanh", "silu", "gelu"])
} | {
    "cfc_plain": lambda: CfC(3, 9, backbone_layers=0),
    "cfc_relu": lambda: CfC(3, 9, activation="relu", proj_size=4),
    "cfc_time_first": lambda: CfC(3, 9, batch_first=False),
    "cfc_last": lambda: CfC(3, 9, return_sequences=False),
    "cfc_memory": lambda: CfC(3, 9, mixed_memory=True),
    "cfc_wired": lambda: CfC(3, AutoNCP(14, 2)),
    "cfc_random": lambda: CfC(3, Random(12, 3, sparsity_level=0.4), mode="no_gate"),
    "ltc": lambda: LTC(3, AutoNCP(12, 2)),
    "ltc_explicit": lambda: LTC(3, 8, solver="explicit", ode_unfolds=40),
    "ltc_rk4": lambda: LTC(3, 8, solver="rk4", ode_unfolds=12, input_mapping="linear"),
    "ltc_time_first": lambda: LTC(3, 8, batch_first=False, output_mapping=None),
    "ltc_memory": lambda: LTC(3, AutoNCP(12, 2), mixed_memory=True),
}

# What one step of training needs, by MLX's own differentiation.
GRADIENTS = """
import importlib.util, sys
import mlx.core as mx, numpy as np
mx.set_default_device(mx.cpu)
spec = importlib.util.spec_from_file_location("net", "net.py")
net = importlib.util.module_from_spec(spec)
spec.loader.exec_module(net)
w = {name: mx.array(values) for name, values in net.read_safetensors(net.WEIGHTS_FILE).items()}
x, elapsed, target = (mx.array(np.load(name + ".npy")) for name in ("x", "elapsed", "target"))
loss = lambda w: mx.mean((net.network(w, x, elapsed)[0] - target) ** 2)
value, gradients = mx.value_and_grad(loss)(w)
np.savez("gradients.npz", value=np.array(value), **{name: np.array(g) for name, g in gradients.items()})
"""


@pytest.mark.parametrize("name", LAYERS)
def test_liquid_layers_give_the_same_values_and_gradients(name, tmp_path):
    layer = LAYERS[name]()
    layer.save(tmp_path / "layer.safetensors")
    rng = np.random.default_rng(4)
    form = (4, 6) if layer.batch_first else (6, 4)
    x = rng.standard_normal((*form, 3)).astype(np.float32)
    elapsed = rng.uniform(0.2, 2, form).astype(np.float32)
    expected, state = layer(x, timespans=elapsed[..., None])
    target = rng.standard_normal(expected.shape).astype(np.float32)
    for file, values in {"x": x, "elapsed": elapsed, "target": target}.items():
        np.save(tmp_path / f"{file}.npy", values)
    run(tmp_path, COMMAND, "plan", "layer.safetensors", "--emit", "mlx", "net.py")
    run(tmp_path, MLX, "net.py", "--cpu", "--input", "x=x.npy", "--input", "elapsed=elapsed.npy", "--output", "out")
    assert np.abs(np.load(tmp_path / "out" / "y.npy") - expected).max() <= 1e-5
    last = state[0] if isinstance(state, tuple) else state
    assert np.abs(np.load(tmp_path / "out" / "state.npy") - last).max() <= 1e-5
    run(tmp_path, MLX, "-c", GRADIENTS)
    theirs = np.load(tmp_path / "gradients.npz")
    ours = layer.loss_gradient(x, target, timespans=elapsed[..., None])
    assert abs(ours.loss - theirs["value"]) <= 1e-5 * abs(ours.loss)
    largest = max(np.abs(g).max() for g in ours.gradients.parameters.values())
    for key, gradient in ours.gradients.parameters.items():
        match = next(k for k in (key, "rnn_cell." + key) if k in theirs)
        assert np.abs(gradient - theirs[match]).max() <= 1e-4 * largest, key
