"""The commands of docs/liquid-hardware-guide.md run, and its tables are what they print."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build"))
PAGE = (ROOT / "docs" / "liquid-hardware-guide.md").read_text(encoding="utf-8")
OUTPUTS = re.findall(r"<!-- output: (.*?) -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run(command, folder):
    path = f"{BUILD}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, shell=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not (BUILD / "tessera").exists():
        pytest.skip(f"{BUILD}/tessera has not been built")
    return tmp_path_factory.mktemp("liquid")


@pytest.mark.parametrize(("command", "table"), OUTPUTS, ids=[command for command, _ in OUTPUTS])
def test_tables_are_what_the_commands_print(command, table, folder):
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == table


def test_there_are_tables():
    assert len(OUTPUTS) == 3


def test_python_example_runs(folder, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    names = {}
    for block in blocks("python"):
        exec(compile(block, "docs/liquid-hardware-guide.md", "exec"), names)
    printed = capsys.readouterr().out
    assert printed.startswith("modelled ")
    assert "measured" in printed
