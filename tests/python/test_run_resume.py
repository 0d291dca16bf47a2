"""`tessera run --resume` goes on with its own run and with no other: everything that can change a byte is noticed."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

COMMAND = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", pathlib.Path(__file__).parents[2] / "build")) / "tessera"
SAMPLES, CHANNELS, SIDE, LAYERS = 200, 64, 16, 60  # about 20 ms a sample: long enough to be killed
BASE = ["--batch", "2", "--threads", "1"]


def write_model(folder, seed=1, clip=6.0):
    """Convolutions in a row, the weights in a file of their own."""
    random = np.random.default_rng(seed)
    channels, side, layers = CHANNELS, SIDE, LAYERS
    nodes, weights, last = [], [], "x"
    for i in range(layers):
        w = random.standard_normal((channels, channels, 3, 3)).astype(np.float32) / 20
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        nodes.append(helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Clip", [f"c{i}", "low", "high"], [f"y{i}"]))
        last = f"y{i}"
    weights += [numpy_helper.from_array(np.float32(v), n) for n, v in (("low", -clip), ("high", clip))]
    shape = ["n", channels, side, side]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = folder / "model.onnx"
    for old in folder.glob("model.*"):
        old.unlink()
    onnx.save(model, path, save_as_external_data=True, location="model.bin", size_threshold=1024)
    return path


def inputs(folder, seed=5):
    (folder / "data").mkdir(exist_ok=True)
    shape = (SAMPLES, CHANNELS, SIDE, SIDE)
    np.save(folder / "data" / "x.npy", np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def begin_and_kill(words):
    """Starts a run and kills it when something is finished."""
    process = subprocess.Popen([COMMAND, "run", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder = pathlib.Path(words[words.index("--output") + 1]) / ".unfinished"
    deadline = time.monotonic() + 60
    while not list(folder.glob("*.part")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()


def run(*words):
    return subprocess.run([COMMAND, "run", *map(str, words)], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run that was killed, once for all tests: each works on a copy."""
    folder = tmp_path_factory.mktemp("begun")
    model = write_model(folder)
    inputs(folder)
    begin_and_kill([str(model), "--input", f"x={folder / 'data'}", *BASE, "--output", str(folder / "out")])
    return folder


@pytest.fixture
def copy(begun, tmp_path):
    """In place of the first, since a model's path is part of what it is."""
    kept = tmp_path / "kept"
    shutil.copytree(begun, kept)
    yield begun
    shutil.rmtree(begun)
    shutil.copytree(kept, begun)


def words(folder, options=(), model=None):
    return [model or folder / "model.onnx", "--input", f"x={folder / 'data'}", *(options or BASE), "--output", folder / "out", "--resume"]


def without(*names):
    return [word for name in names for word in ("--without-pass", name)]


CHANGES = {
    "weights rounded": (["--weights", "bfloat16"], None),
    "values narrow": (["--dtype", "bf16"], None),
    "exact": (["--exact"], None),
    "a pass left out": (without("fuse_epilogue"), None),
    "orders left out": (without("order"), None),
    "a kernel left out": (["--without-kernel", "winograd_f32_4x4_avx512", "--without-kernel", "winograd_f32_4x4_avx2"], None),
    "another instruction set": (["--isa", "portable"], None),
    "other chunks": (["--batch", "4"], None),
    "other external weights": ([], lambda folder: write_model(folder, seed=2)),
    "another bound of an operator": ([], lambda folder: write_model(folder, clip=5.0)),
    "other inputs": ([], lambda folder: inputs(folder, seed=6)),
    "fewer inputs": ([], lambda folder: np.save(folder / "data/x.npy", np.load(folder / "data/x.npy")[:-1])),
    "kernels of a plan": (None, None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_setting_is_refused(copy, change):
    options, alter = CHANGES[change]
    if alter is not None:
        alter(copy)
    if options is None:
        plan = copy / "plan.json"
        done = subprocess.run(
            [COMMAND, "plan", copy / "model.onnx", "--batch", "2", "--without-kernel", "winograd_f32_4x4_avx512",
             "--without-kernel", "winograd_f32_4x4_avx2", "--isa", "avx2", "-o", plan], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        options = ["--plan", plan, "--isa", "avx2"]
    base = [] if "--batch" in options else ["--batch", "2"]
    before = sorted((copy / "out" / ".unfinished").glob("*.[pt]*"))
    done = run(*words(copy, [*base, "--threads", "1", *options]))
    assert done.returncode in (1, 2), done.stderr
    assert "belongs to another run" in done.stderr
    assert "it was begun with" in done.stderr and "this one has" in done.stderr
    assert sorted((copy / "out" / ".unfinished").glob("*.[pt]*")) == before


def test_the_same_run_goes_on_and_gives_the_same_bytes(copy, tmp_path):
    whole = run(copy / "model.onnx", "--input", f"x={copy / 'data'}", *BASE, "--output", tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    done = run(*words(copy, ["--batch", "2", "--threads", "2"]))  # threads change nothing
    assert done.returncode == 0, done.stderr
    assert "of them done before" in done.stderr + done.stdout
    name = f"y{LAYERS - 1}.npy"
    assert (copy / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (copy / "out" / ".unfinished").exists()


def test_a_folder_in_use_is_refused(copy):
    first = subprocess.Popen([COMMAND, "run", *map(str, words(copy))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lock = copy / "out" / ".unfinished" / "in_use.lock"
    deadline = time.monotonic() + 60
    while not lock.exists() or lock.read_text() != str(first.pid):
        assert first.poll() is None and time.monotonic() < deadline
        time.sleep(0.001)
    first.send_signal(signal.SIGSTOP)  # it keeps the folder for as long as the second one needs to look
    second = run(*words(copy))
    first.kill()
    first.wait()
    assert second.returncode in (1, 2)
    assert f"in use by process {first.pid}" in second.stderr


def test_a_part_of_another_run_is_refused(copy, tmp_path):
    """Even where the note beside it was replaced."""
    other = tmp_path / "other"
    begin_and_kill([str(copy / "model.onnx"), "--input", f"x={copy / 'data'}", *BASE, "--exact", "--output", str(other)])
    part = next((other / ".unfinished").glob("*.part"))
    shutil.copy(part, copy / "out" / ".unfinished" / "000000999.part")
    done = run(*words(copy))
    assert done.returncode in (1, 2)
    assert "was written by another run" in done.stderr
