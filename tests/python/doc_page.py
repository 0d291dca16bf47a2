"""Code blocks of a page of docs/, and how its commands are run."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build"))


def blocks(page, language):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(command, folder):
    """A line of shell, or a list of words, where `tessera` is the one that was built."""
    path = f"{BUILD}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        shell=isinstance(command, str),
    )


def working_folder(tmp_path_factory, name, network):
    """A folder with the project's files of layers, and a network of the zoo as m.onnx."""
    if not (BUILD / "tessera").exists():
        pytest.skip(f"{BUILD}/tessera has not been built")
    folder = tmp_path_factory.mktemp(name)
    (folder / "shapes").symlink_to(ROOT / "shapes")
    done = run(["tessera", "export", network, "m.onnx"], folder)
    assert done.returncode == 0, done.stderr
    return folder
