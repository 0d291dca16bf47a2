"""The commands and examples of docs/queues-and-trace.md run as they stand there."""

import json

import pytest
from doc_page import BUILD, blocks, commands, run

PAGE = "queues-and-trace.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not (BUILD / "tessera").exists():
        pytest.skip(f"{BUILD}/tessera has not been built")
    return tmp_path_factory.mktemp("queues")


@pytest.mark.parametrize("command", commands(PAGE))
def test_commands_run(command, folder):
    assert command.startswith("tessera simulate ")
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    if "--format json" in command:
        time = json.loads(done.stdout)["time"]
        assert time["end_to_end_ms"] > time["device_ms"] > 0
    if "--trace" in command:
        assert json.loads((folder / "t.json").read_text())["otherData"]["times"] == "simulated"


def test_python_examples_run(capsys):
    for number, block in enumerate(blocks(PAGE, "python")):
        exec(compile(block, f"docs/{PAGE}, block {number + 1}", "exec"), {})
    largest, seconds, *shape = capsys.readouterr().out.split()
    assert float(largest) == 1
    assert 0 < float(seconds) < 1
    assert " ".join(shape) == "(4, 1, 32, 32)"
