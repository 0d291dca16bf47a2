"""What `tessera export` writes is a model by the standard's own rules."""

import os
import pathlib
import subprocess

import pytest

onnx = pytest.importorskip("onnx")

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build")) / "tessera"
# Operators that are younger than the opsets that we write.
YOUNGER = {"test_bitcast_float32_to_int32", "test_cumprod_2d_axis_1"}
ZOO = ["mobilenet_v2", "resnet18", "resnet50", "shallow_unet", "unet", "vanilla_unet"]


def export(*words):
    done = subprocess.run([COMMAND, "export", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(autouse=True)
def _command():
    if not COMMAND.exists():
        pytest.skip(f"{COMMAND} has not been built")


@pytest.mark.parametrize("name", ZOO)
def test_networks_of_the_zoo_pass_the_checker(name, tmp_path):
    file = tmp_path / f"{name}.onnx"
    export(name, file)
    model = onnx.load(file)
    # The types that we give agree with those that the standard infers.
    onnx.checker.check_model(model, full_check=True)
    assert model.producer_name == "tessera"
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 17)]


@pytest.mark.parametrize("opset, ir_version", [(17, 8), (18, 8), (19, 9), (20, 9), (21, 10)])
def test_every_opset_passes_the_checker(opset, ir_version, tmp_path):
    file = tmp_path / "model.onnx"
    export("shallow_unet", file, "--opset", opset)
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == ir_version
    assert model.opset_import[0].version == opset


def test_operators_of_the_standard_come_back(tmp_path):
    """Each model of the standard's tests that we keep: read, written, and checked again on its own data."""
    written = 0
    for folder in sorted((ROOT / "tests" / "data" / "onnx").glob("*/model.onnx")):
        again = tmp_path / folder.parent.name
        if folder.parent.name in YOUNGER:
            done = subprocess.run([COMMAND, "export", folder, tmp_path / "no.onnx"], capture_output=True, text=True)
            assert done.returncode == 1 and "opset 26" in done.stderr
            continue
        again.mkdir()
        export(folder, again / "model.onnx")
        model = onnx.load(again / "model.onnx")
        # The checker asks for the rank of every output, which not every model tells.
        if all(output.type.tensor_type.HasField("shape") for output in model.graph.output):
            onnx.checker.check_model(model, full_check=True)
        for data in folder.parent.glob("test_data_set_*"):
            (again / data.name).symlink_to(data)
        written += 1
    assert written > 0
    done = subprocess.run([COMMAND, "test-onnx", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{written} passed, 0 failed, 0 unsupported" in done.stdout
