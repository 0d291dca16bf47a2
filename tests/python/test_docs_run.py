"""The examples of docs/run.md run as they stand there."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build"))
PAGE = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run(words, folder, **options):
    path = f"{BUILD}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        words, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, **options
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the page's first command has left m.onnx, beside the project's files of layers."""
    if not (BUILD / "tessera").exists():
        pytest.skip(f"{BUILD}/tessera has not been built")
    folder = tmp_path_factory.mktemp("run")
    (folder / "shapes").symlink_to(ROOT / "shapes")
    done = run(["tessera", "export", "mobilenet_v2", "m.onnx"], folder)
    assert done.returncode == 0, done.stderr
    return folder


def commands():
    return [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]


@pytest.mark.parametrize("command", commands())
def test_commands_run(command, folder):
    assert command.startswith("tessera ")
    if "onnxruntime" in command:
        python = os.environ.get("TESSERA_PYTHON", "python3")
        if run([python, "-c", "import onnxruntime"], folder).returncode != 0:
            pytest.skip(f"{python} has no onnxruntime; TESSERA_PYTHON names another")
    done = run(command, folder, shell=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_python_examples_run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    names = {}
    for block in blocks("python"):
        exec(compile(block, "docs/run.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "<tessera.Port x float32[1, 3, 224, 224]>" in printed
    assert "'flops'" in printed
    assert float(printed.split()[-1]) > 0.999999  # one instruction set against another


def test_the_cpp_example_is_the_one_that_is_built(folder):
    (block,) = blocks("cpp")
    assert block == (ROOT / "examples" / "run_network.cpp").read_text(encoding="utf-8")
    program = BUILD / "examples" / "example_run_network"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    done = run([program], folder)
    assert (done.returncode, done.stdout) == (0, "classifier: [1, 1000] float32\n"), done.stderr
    wrong = run([program, "nothing.onnx"], folder)
    assert wrong.returncode == 1 and "nothing.onnx" in wrong.stderr
