"""The file of configs of docs/how-to/bring-a-vision-model-to-a-card-you-do-not-have.md. (tests/pages runs the commands.)"""

import json

import pytest
from doc_page import blocks, run, working_folder

PAGE = "how-to/bring-a-vision-model-to-a-card-you-do-not-have.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the page's file of configs."""
    folder = working_folder(tmp_path_factory, "card", "resnet18")
    (folder / "layers.json").write_text(blocks(PAGE, "json")[0], encoding="utf-8")
    return folder


def test_the_config_names_a_node_and_is_obeyed(folder):
    done = run("tessera simulate m.onnx --device wormhole_n150 --null --layer-configs layers.json --format json", folder)
    assert done.returncode == 0, done.stderr
    steps = {step["node"]: step for step in json.loads(done.stdout)["steps"]}
    assert "act_block_h 32" in steps["layer1.0.conv1"]["config"]
