"""tessera ncp predict and export: trained layers over data, step by step, and in other runtimes."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

import tessera
from tessera.ncps import CfC, LTC
from tessera.ncps.wirings import AutoNCP

COMMAND = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", pathlib.Path(__file__).parents[2] / "build")) / "tessera"
pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason=f"{COMMAND} has not been built")


def run(*words, lines=None, status=0):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, timeout=60, input=lines)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module", params=["cfc", "cfc wired", "ltc"])
def layer(request, tmp_path_factory):
    model = {"cfc": lambda: CfC(3, 8, proj_size=2), "cfc wired": lambda: CfC(3, AutoNCP(16, 2)),
             "ltc": lambda: LTC(3, AutoNCP(12, 2))}[request.param]()  # fmt: skip
    file = tmp_path_factory.mktemp("layer") / "model.safetensors"
    model.save(file)
    return model, file


@pytest.fixture(scope="module")
def data():
    return np.random.default_rng(4).standard_normal((5, 7, 3)).astype(np.float32)


def test_arrays_give_what_the_layer_gives(layer, data, tmp_path):
    model, file = layer
    expected = model(data)[0]
    np.save(tmp_path / "x.npy", data)
    run("ncp", "predict", file, "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected)
    run("ncp", "predict", file, "--input", tmp_path / "x.npy", "-o", tmp_path / "last.npy", "--last")
    np.testing.assert_array_equal(np.load(tmp_path / "last.npy"), expected[:, -1:])


def test_tables_have_times_sequences_and_targets(layer, data, tmp_path):
    model, file = layer
    times = np.random.default_rng(5).random((2, 7, 1)).astype(np.float32)
    rows = ["sequence,elapsed,a,b,c,target"]
    for s in range(2):
        for t in range(7):
            x = ",".join(repr(float(v)) for v in data[s, t])
            rows.append(f"{s + 3},{float(times[s, t, 0])!r},{x},9")
    (tmp_path / "x.csv").write_text("\n".join(rows) + "\n")
    out = run("ncp", "predict", file, "--input", tmp_path / "x.csv", "--format", "csv").splitlines()
    assert out[0] == "sequence,step,output_0,output_1"
    table = np.array([[float(v) for v in line.split(",")] for line in out[1:]])
    np.testing.assert_array_equal(table[:, 0], np.repeat([3, 4], 7))
    np.testing.assert_array_equal(table[:, 1], np.tile(np.arange(7), 2))
    expected = model(data[:2], timespans=times)[0]
    # Batched and single samples are the same numbers; the text is the shortest that means them.
    np.testing.assert_allclose(table[:, 2:].reshape(2, 7, 2), expected, rtol=0, atol=1e-6)


def test_a_stream_keeps_its_state_and_answers_each_line(layer, data):
    model, file = layer
    words = [str(COMMAND), "ncp", "predict", str(file), "--stream"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        found = []
        for step in data[0]:
            process.stdin.write(" ".join(str(v) for v in step) + "\n")
            process.stdin.flush()
            found.append([float(v) for v in process.stdout.readline().split(",")])  # before the next line is written
        process.stdin.write("reset\n\n" + ",".join(str(v) for v in data[0, 0]) + "\n")
        process.stdin.close()
        again = [float(v) for v in process.stdout.readline().split(",")]
        said = process.stderr.read()
        assert process.wait() == 0
    expected = model(data[:1])[0][0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert again == found[0]
    assert "8 steps," in said and "us each (measured, without reading and writing)" in said


def test_a_stream_takes_times(layer, data):
    model, file = layer
    times = np.linspace(0, 2, 7, dtype=np.float32).reshape(1, 7, 1)
    lines = "".join(",".join(map(str, [*data[0, t], times[0, t, 0]])) + "\n" for t in range(7))
    out = run("ncp", "predict", file, "--stream", "--elapsed", "--quiet", lines=lines)
    found = [[float(v) for v in line.split(",")] for line in out.splitlines()]
    np.testing.assert_allclose(found, model(data[:1], timespans=times)[0][0], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("words", "lines", "said"),
    [
        (["--stream"], "1,2\n", "line 1 has 2 numbers, and a step takes 3"),
        (["--stream"], "1,2,3\n1,x,3\n", "line 2: 'x' is no finite number"),
        (["--stream"], "1,2,nan\n", "line 1: 'nan' is no finite number"),
        (["--stream", "--elapsed"], "1,2,3,-1\n", "line 1: -1 is the time since the line before, and negative"),
        ([], "", "--input FILE or --stream says where the data come from"),
        (["--input", "x.txt"], "", "--input takes a .csv or a .npy file"),
        (["--input", "nowhere.csv"], "", "nowhere.csv"),
    ],
)
def test_mistakes_are_explained(layer, words, lines, said):
    done = subprocess.run([COMMAND, "ncp", "predict", layer[1], *words], capture_output=True, text=True, input=lines)
    assert done.returncode in (1, 2)
    assert said in done.stderr


def test_arrays_of_other_widths_are_refused_and_nothing_is_written(layer, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((4, 2), np.float32))
    said = run("ncp", "predict", layer[1], "--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy", status=1)
    assert "the array is" in said and "steps x 3" in said
    assert not (tmp_path / "y.npy").exists()


@pytest.mark.parametrize("times", [False, True])
@pytest.mark.parametrize("runtime", ["tessera", "onnxruntime"])
def test_exported_layers_run_anywhere(layer, data, tmp_path, times, runtime):
    model, file = layer
    output = tmp_path / "layer.onnx"
    run("ncp", "export", file, "-o", output, "--initial-state", *(["--timespans"] if times else []))
    elapsed = np.random.default_rng(6).random((5, 7, 1)).astype(np.float32) if times else None
    state = np.zeros((5, model.state_size), np.float32)
    inputs = {"input": data, "initial_state": state} | ({"timespans": elapsed} if times else {})
    if runtime == "tessera":
        found = tessera.Session(output).run(inputs).values()
    else:
        onnxruntime = pytest.importorskip("onnxruntime")
        found = onnxruntime.InferenceSession(str(output), providers=["CPUExecutionProvider"]).run(None, inputs)
    # Sums of up to 24 numbers near 1 over 7 steps, and functions good to two roundings.
    tolerance = 7 * 24 * 2.0**-23
    for ours, theirs in zip(model(data, state, timespans=elapsed), found, strict=True):
        np.testing.assert_allclose(np.asarray(theirs), ours, rtol=0, atol=tolerance)
