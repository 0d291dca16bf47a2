"""The machine file of docs/fleet.md. (tests/pages runs the commands.)"""

import pytest
from doc_page import blocks, run, working_folder

PAGE = "fleet.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return working_folder(tmp_path_factory, "fleet", "resnet18")


def test_the_fleet_of_the_page_is_a_machine(folder):
    (block,) = blocks(PAGE, "toml")
    (folder / "ours.toml").write_text(block, encoding="utf-8")
    done = run("tessera simulate resnet18 --device ./ours.toml --format json", folder)
    assert done.returncode == 0, done.stderr
    assert '"chips": 92' in done.stdout  # 12 hosts of 4 cards of 2 chips, less 2 spare cards
