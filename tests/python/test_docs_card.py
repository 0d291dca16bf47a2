"""The commands of docs/how-to/bring-a-vision-model-to-a-card-you-do-not-have.md run as they stand there."""

import json

import pytest
from doc_page import blocks, commands, run, working_folder

PAGE = "how-to/bring-a-vision-model-to-a-card-you-do-not-have.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the page's file of configs."""
    folder = working_folder(tmp_path_factory, "card", "resnet18")
    (folder / "layers.json").write_text(blocks(PAGE, "json")[0], encoding="utf-8")
    return folder


@pytest.mark.parametrize("command", commands(PAGE))
def test_commands_run(command, folder):
    assert command.startswith("tessera ")
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_config_names_a_node_and_is_obeyed(folder):
    done = run("tessera simulate m.onnx --device wormhole_n150 --null --layer-configs layers.json --format json", folder)
    assert done.returncode == 0, done.stderr
    steps = {step["node"]: step for step in json.loads(done.stdout)["steps"]}
    assert "act_block_h 32" in steps["layer1.0.conv1"]["config"]
