"""Whole networks planned and simulated from Python, and the page that shows it."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest
from doc_page import BUILD, ROOT, blocks, run

import tessera


@pytest.fixture(scope="module")
def planned():
    return tessera.plan("resnet18", device="wormhole_n150", budget_s=5)


def test_a_plan_says_what_runs_and_for_how_long(planned):
    assert planned.machine == "wormhole_n150"
    assert planned.batch == 1
    assert 0 < planned.seconds < 0.1
    assert planned.end_to_end_seconds is None or planned.end_to_end_seconds >= planned.seconds
    assert len(planned.steps) > 20
    assert sum(step.seconds for step in planned.steps) <= planned.seconds
    convolution = next(step for step in planned.steps if step.op == "conv2d")
    assert convolution.config and convolution.bound
    assert convolution.node in str(planned)
    assert convolution.node in planned.explain(convolution.node)
    assert repr(planned).startswith("<tessera.Plan for wormhole_n150: ")


def test_the_command_follows_a_plan_from_python(planned, tmp_path):
    planned.save(tmp_path / "plan.json")
    assert json.loads((tmp_path / "plan.json").read_text()) == json.loads(planned.to_json())
    planned.save_report(tmp_path / "report.html")
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    done = run(["tessera", "simulate", "plan.json", "--null", "--format", "json"], tmp_path)
    assert done.returncode == 0, done.stderr
    again = tessera.load_plan(tmp_path / "plan.json", "resnet18")
    assert again.seconds == pytest.approx(planned.seconds, rel=1e-6)  # files have picoseconds
    assert [step.config for step in again.steps] == [step.config for step in planned.steps]
    with pytest.raises(tessera.Error, match="resnet18|operators|network"):
        tessera.load_plan(tmp_path / "plan.json", "shallow_unet")


def test_a_plan_is_simulated(planned, tmp_path):
    quick = planned.simulate(values=False)
    assert quick.seconds > 0
    assert quick.outputs == []
    quick.save_html(tmp_path / "l1.html")
    quick.save_svg(tmp_path / "l1.svg")
    quick.save_trace(tmp_path / "trace.json")
    assert "<svg" in (tmp_path / "l1.svg").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "trace.json").read_text())
    assert json.loads(quick.to_json())
    assert str(quick)


def test_values_are_those_of_the_inputs():
    image = np.random.default_rng(0).random((1, 4, 1056, 160), np.float32)
    simulated = tessera.simulate("shallow_unet", "wormhole_n150", inputs=[image])
    (mask,) = tessera.Session("shallow_unet")(image)
    (simulated_mask,) = simulated.outputs
    assert simulated_mask.shape == mask.shape
    assert np.corrcoef(simulated_mask.ravel().astype(np.float64), mask.ravel())[0, 1] > 0.95


def test_mistakes_are_explained(planned, tmp_path):
    with pytest.raises(tessera.Error, match="wormhole_n150"):
        tessera.plan("resnet18", device="wormhole_n51")
    with pytest.raises(tessera.Error, match="resnet18"):
        tessera.plan("resnet81")
    for options, says in (
        ({"objective": "speed"}, "objective is 'device' or 'end_to_end', not 'speed'"),
        ({"min_pcc": 2}, "min_pcc is 2"),
        ({"budget_s": 0}, "budget_s is 0"),
        ({"mesh": 0}, "mesh is 0"),
        ({"command_queues": 3}, "command_queues is 3"),
        ({"shapes": {"x": [1]}}, "shapes of zoo networks are fixed"),
    ):
        with pytest.raises(tessera.InvalidArgument, match=says):
            tessera.plan("resnet18", device="wormhole_n150", **options)
    with pytest.raises(tessera.Error, match="input 'x' must be float32"):
        planned.simulate(inputs=[np.zeros((1, 3, 8, 8), np.float32)])
    with pytest.raises(TypeError, match="list of arrays"):
        planned.simulate(inputs=np.zeros(1))
    with pytest.raises(tessera.Error, match="nowhere"):
        planned.save("/nowhere/plan.json")


def test_ctrl_c_ends_a_search():
    code = (
        "import signal, tessera\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # in the background it may be ignored
        "print('searching', flush=True)\n"
        "while True: tessera.plan('resnet50', 'wormhole_n150', batch=16)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    child = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "searching\n"
    try:
        child.wait(2)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert "KeyboardInterrupt" in said


def test_the_page_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("how-to/install.md", "python")
    exec(compile(block, "docs/how-to/install.md", "exec"), {})
    assert len(capsys.readouterr().out.split()) == 4
    assert (tmp_path / "report.html").exists()
    (options,) = blocks("how-to/install.md", "toml")
    (tmp_path / "options.toml").write_text(options)
    done = run("tessera run resnet18 --config options.toml --format json", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


# --- Importing where it cannot work ---------------------------------------------------------------------------------


def check_of(python, folder):
    """What the package's own check says in another interpreter."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import _requirements"
    return subprocess.run([python, "-S", "-c", code], capture_output=True, text=True, check=False)


@pytest.fixture
def package(tmp_path):
    (tmp_path / "_requirements.py").write_text((ROOT / "python/tessera/_requirements.py").read_text())
    return tmp_path


def old_python():
    for path in sorted(pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")).glob("versions/3.*/bin/python3")):
        done = subprocess.run([path, "-c", "import sys; print(sys.version_info < (3, 10))"], capture_output=True, text=True)
        if done.stdout.strip() == "True":
            return path
    return None


def test_an_old_python_is_told_so(package):
    python = old_python()
    if python is None:
        pytest.skip("there is no Python older than 3.10 here")
    done = check_of(python, package)
    assert "tessera needs Python 3.10 or newer; this is Python 3." in done.stderr
    # The package itself, too, gets as far as to say so.
    code = f"import sys; sys.path.insert(0, {str(BUILD / 'python')!r}); import tessera"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: tessera needs Python 3.10 or newer" in done.stderr


def test_what_is_not_there_is_named(package):
    assert "has no compiled part: install tessera-tiles" in check_of(sys.executable, package).stderr
    (package / "_tessera.abi3.so").write_text("")
    assert "tessera needs numpy: " in check_of(sys.executable, package).stderr  # -S: no site-packages
