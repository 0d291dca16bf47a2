"""The scripts in tests/oracle on Tessera, against what the real ttnn answered (tests/data/ttnn)."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from oracle_deviations import DEVIATIONS, agree, differing

TESTS = pathlib.Path(__file__).parents[1]
ANSWERS = TESTS / "data" / "ttnn"
MACHINES = {"n150": "wormhole_n150", "n300": "wormhole_n300", "p150": "blackhole_p150", "p100": "blackhole_p100"}
HARVESTED = """
inherits = "blackhole_p150"
title = "Blackhole p150 with {columns} columns of cores"
[sources]
harvest = {{ kind = "assumed", text = "columns switched off" }}
[chip]
grid_x = {{ value = {columns}, source = "harvest" }}
"""

excused: dict[str, int] = {}  # reason -> how often


def machine(board, folder):
    if board in MACHINES:
        return MACHINES[board]
    path = folder / f"{board}.toml"
    path.write_text(HARVESTED.format(columns=board.split("_")[1].split("x")[0]))
    return str(path)


def ask(script, board, folder):
    """Runs a script under the compatibility shim; its answers."""
    out = folder / "answers.json"
    package = str(pathlib.Path(sys.modules["tessera"].__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "tessera.compat", "--device", machine(board, folder), TESTS / "oracle" / f"{script}.py", out],
        env=dict(os.environ, PYTHONPATH=package), cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


def excuse(script, real, ours):
    for deviation in DEVIATIONS:
        if script in deviation.scripts.split() and deviation.excuses(real, ours):
            return deviation.reason
    return None


def questions():
    boards = [*MACHINES, "p150_12x10"]
    for path in sorted(ANSWERS.glob("*.json")):
        board = max((b for b in boards if path.stem.endswith("_" + b)), key=len, default="")
        script = path.stem.removesuffix("_" + board)
        if board and script != "program_reports" and not script.endswith("_buffers"):  # others are read by the C++ tests
            yield pytest.param(script, board, id=f"{script}-{board}")


@pytest.mark.parametrize(("script", "board"), list(questions()))
def test_answers_what_the_real_one_answers(script, board, tmp_path, record_property):
    import tessera  # noqa: F401 (which one `ask` runs)

    real, ours = json.loads((ANSWERS / f"{script}_{board}.json").read_text()), ask(script, board, tmp_path)
    assert ours["device"] == real["device"]
    assert len(ours["records"]) == len(real["records"])
    equal, wrong = 0, []
    for a, b in zip(real["records"], ours["records"], strict=True):
        if agree(a, b):
            equal += 1
        elif reason := excuse(script, a, b):
            excused[reason] = excused.get(reason, 0) + 1
        else:
            wrong.append("\n".join(f"  {key}: {a.get(key)} != {b.get(key)}" for key in sorted(differing(a, b))) + f"\n  of {a}")
    record_property("equal", f"{equal} of {len(real['records'])}")
    assert not wrong, f"{len(wrong)} answers differ, the first of them:\n" + "\n\n".join(wrong[:5])


def test_program_reports_have_the_rows_of_the_real_ones(tmp_path):
    import tessera  # noqa: F401

    real, ours = json.loads((ANSWERS / "program_reports_n150.json").read_text()), ask("program_reports", "n150", tmp_path)
    done = ours["steps"].index(None) if None in ours["steps"] else len(real["steps"])  # stops at operations that are not there yet
    assert done >= 15
    assert ours["steps"][:done] == real["steps"][:done]
    for name in ("program_detailed_memory_usage.csv", "program_l1_usage_summary.csv", "program_memory_usage_summary.csv"):
        assert len(ours["files"][name].splitlines()) > 10
        assert real["files"][name].startswith(ours["files"][name])


def test_no_deviation_is_stale(request):
    if len([item for item in request.session.items if "answers_what" in item.name]) < len(list(questions())):
        pytest.skip("only some of the questions were asked")
    assert [d.reason for d in DEVIATIONS if d.reason not in excused] == []
