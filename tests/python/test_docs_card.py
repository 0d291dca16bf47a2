"""The commands of docs/how-to/bring-a-vision-model-to-a-card-you-do-not-have.md run as they stand there."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build"))
PAGE = (ROOT / "docs/how-to/bring-a-vision-model-to-a-card-you-do-not-have.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run(command, folder):
    path = f"{BUILD}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, shell=True
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the page's first command has left m.onnx, beside the layers it names and its file of configs."""
    if not (BUILD / "tessera").exists():
        pytest.skip(f"{BUILD}/tessera has not been built")
    folder = tmp_path_factory.mktemp("card")
    (folder / "shapes").symlink_to(ROOT / "shapes")
    (folder / "layers.json").write_text(blocks("json")[0], encoding="utf-8")
    done = run("tessera export resnet18 m.onnx", folder)
    assert done.returncode == 0, done.stderr
    return folder


def commands():
    return [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]


@pytest.mark.parametrize("command", commands())
def test_commands_run(command, folder):
    assert command.startswith("tessera ")
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_config_names_a_node_and_is_obeyed(folder):
    done = run("tessera simulate m.onnx --device wormhole_n150 --null --config layers.json --format json", folder)
    assert done.returncode == 0, done.stderr
    steps = {step["node"]: step for step in json.loads(done.stdout)["steps"]}
    assert "act_block_h 32" in steps["layer1.0.conv1"]["config"]
