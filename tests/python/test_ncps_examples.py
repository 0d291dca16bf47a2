"""The examples of liquid networks run as users run them."""

import os
import pathlib
import subprocess
import sys

import pytest

import tessera

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(pathlib.Path(tessera.__file__).parents[1])}


def run(name, *arguments):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_control_loop():
    assert "the loop and the sequence differ by" in run("control_loop.py")


def test_weights_from_and_to_pytorch():
    printed = run("weights_from_and_to_pytorch.py")
    assert "LTC over AutoNCP: from PyTorch" in printed or printed.startswith("skipped: No module named")


def test_xor():
    printed = run("xor.py", "--bits", "4", "--samples", "600", "--epochs", "30")
    assert float(printed.split("test accuracy ")[1].split()[0]) > 0.95


@pytest.mark.parametrize("layer", ["cfc", "ltc"])
def test_sine_regression(layer):
    assert "after 200 epochs" in run("sine_regression.py", "--layer", layer, "--epochs", "200")
