"""Scripts written for ttnn, run as users run them."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import tessera

ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "TESSERA_DEVICE"} | {"PYTHONPATH": str(pathlib.Path(tessera.__file__).parents[1])}


@pytest.fixture
def run(tmp_path):
    def run(script, *arguments, before=(), **environment):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(script))
        return subprocess.run(
            [sys.executable, "-m", "tessera.compat", *before, path, *arguments],
            env=ENVIRONMENT | environment, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def test_nki_brings_the_level_that_its_scripts_switch_logging_off_with(run):
    done = run("""
        import logging
        import neuronxcc.nki as nki
        logging.disable(logging.OFF)
        logging.critical("nobody sees this")
        print(logging.getLevelName(logging.OFF))
    """)
    assert (done.stdout, done.stderr) == ("OFF\n", "")


REPORT = """
    import sys
    import ttnn
    import ttnn.device
    from ttnn.device import open_device
    print(__name__, sys.argv[1:], open_device(device_id=0).machine, ttnn.device is sys.modules["ttnn.device"])
"""


def test_runs_a_script_as_main_with_its_arguments(run):
    done = run(REPORT, "--device", "mine")
    assert done.stdout.split(maxsplit=1) == ["__main__", "['--device', 'mine'] wormhole_n150 True\n"], done.stderr


def test_the_card_comes_from_the_option_or_the_environment(run):
    assert "blackhole_p100" in run(REPORT, TESSERA_DEVICE="blackhole_p100").stdout
    assert "blackhole_p150" in run(REPORT, before=["--device", "blackhole_p150"], TESSERA_DEVICE="blackhole_p100").stdout


def test_a_card_that_does_not_exist(run):
    done = run(REPORT, before=["--device", "wormhole_n151"])
    assert done.returncode == 2
    assert "wormhole_n150" in done.stderr


def test_a_script_that_does_not_exist():
    done = subprocess.run([sys.executable, "-m", "tessera.compat", "nowhere.py"], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "nowhere.py" in done.stderr


def test_child_processes_see_the_same_ttnn_and_the_same_card(run):
    done = run(
        """
        import subprocess, sys
        code = "import ttnn, ttnn.device; print(ttnn.__name__, ttnn.open_device(device_id=0).machine)"
        sys.exit(subprocess.run([sys.executable, "-c", code]).returncode)
        """,
        before=["--device", "blackhole_p100"],
    )
    assert done.stdout == "tessera.ttnn blackhole_p100\n", done.stderr


def test_names_of_later_work_are_absent(run):
    done = run("import ttnn; ttnn.all_gather")
    assert "ttnn.all_gather is part of TTNN and not there yet" in done.stderr


def test_importing_compat_is_enough():
    code = "import tessera.compat; import ttnn; from ttnn import Conv2dConfig; import tessera.ttnn; assert ttnn is tessera.ttnn"
    subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True)
