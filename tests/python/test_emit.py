"""Scripts that `tessera plan --emit` writes: all are Python, and run where what they need is there."""

import os
import pathlib
import py_compile
import re
import subprocess
import sys

import numpy as np
import pytest

BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", pathlib.Path(__file__).parents[2] / "build"))
GOLDEN = pathlib.Path(__file__).parents[1] / "data" / "io" / "emit"


def emit(folder, *words):
    done = subprocess.run([BUILD / "tessera", "plan", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def run(folder, *words, module=()):
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    return subprocess.run([sys.executable, *module, *words], cwd=folder, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("script", sorted(GOLDEN.glob("*.py")), ids=lambda path: path.stem)
def test_golden_scripts_are_python(script, tmp_path):
    py_compile.compile(str(script), cfile=str(tmp_path / "out.pyc"), doraise=True)


@pytest.mark.parametrize(
    "words",
    [("resnet18", "--device", "wormhole_n150", "--emit", "ttnn"), ("resnet18", "--emit", "mlx"),
     ("resnet18", "--device", "trainium1", "--emit", "nki")],
    ids=lambda words: words[-1],
)  # fmt: skip
def test_what_is_written_is_python(words, tmp_path):
    emit(tmp_path, *words, "net.py")
    py_compile.compile(str(tmp_path / "net.py"), cfile=str(tmp_path / "out.pyc"), doraise=True)
    assert (tmp_path / "net.safetensors").stat().st_size > 1 << 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.py", "net.safetensors", "out.pyc"]


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    """A layer that all three can write."""
    folder = tmp_path_factory.mktemp("emit")
    (folder / "layers.txt").write_text("net n1 h16 w16 ic128 oc128 k3 p1 bias relu pool2\n", encoding="utf-8")
    x = np.random.default_rng(3).standard_normal((1, 128, 16, 16)).astype(np.float32)
    np.save(folder / "x.npy", x)
    done = subprocess.run([BUILD / "tessera", "run", "layers.txt:net", "--input", "x=x.npy", "--output", "want"],
                          cwd=folder, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, np.load(folder / "want" / "y.npy")


def test_a_ttnn_script_runs_on_the_simulated_card(layer):
    folder, want = layer
    emit(folder, "layers.txt:net", "--device", "wormhole_n150", "--emit", "ttnn", "ttnn_net.py")
    done = run(folder, "--device", "wormhole_n150", "ttnn_net.py", "--input", "x=x.npy", "--output", "got", "--runs", "3",
               module=("-m", "tessera.compat"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "2 of 2 layers accepted"
    assert "ms a batch over 3 runs" in done.stdout
    got = np.load(folder / "got" / "y.npy")
    assert got.shape == want.shape
    assert np.corrcoef(got.ravel(), want.ravel())[0, 1] > 0.999


def test_a_layer_that_is_refused_is_counted(layer):
    folder, _ = layer
    emit(folder, "layers.txt:net", "--device", "wormhole_n150", "--emit", "ttnn", "bad.py")
    text = (folder / "bad.py").read_text(encoding="utf-8")
    assert text.count("config=dict(") == 1
    bad = re.sub(r"act_block_h_override=\d+,", "", text).replace("config=dict(", "config=dict(act_block_h_override=33, ")
    (folder / "bad.py").write_text(bad, encoding="utf-8")
    done = run(folder, "--device", "wormhole_n150", "bad.py", module=("-m", "tessera.compat"))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 of 2 layers accepted"
    assert ": refused: " in done.stdout


def test_an_nki_script_checks_itself(layer):
    folder, _ = layer
    emit(folder, "layers.txt:net", "--device", "trainium1", "--emit", "nki", "nki_net.py")
    done = run(folder, "nki_net.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1 of 1 layers right"
    other = run(folder, "nki_net.py", "conv9")
    assert other.returncode == 1
    assert other.stderr.startswith("conv9: no layer of this script\nlayers: ")


@pytest.mark.parametrize("what", ["ttnn", "mlx"])
def test_what_cannot_be_written_is_listed(what, tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])
    nodes = [helper.make_node("Acosh", ["x"], ["a"], name="odd"), helper.make_node("Sinh", ["a"], ["y"], name="odder")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y])), tmp_path / "odd.onnx")
    done = subprocess.run([BUILD / "tessera", "plan", "odd.onnx", "--device", "wormhole_n150", "--emit", what, "o.py"],
                          cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
    assert done.returncode != 0
    assert "odd" in done.stderr and "odder" in done.stderr
    assert not (tmp_path / "o.py").exists()
