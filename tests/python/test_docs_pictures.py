"""The commands and examples of docs/how-to/run-on-pictures.md run as they stand there."""

import shutil

import pytest
from doc_page import BUILD, ROOT, blocks, run

PAGE = "how-to/run-on-pictures.md"
PICTURES = ROOT / "examples" / "pictures"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not (BUILD / "tessera").exists():
        pytest.skip(f"{BUILD}/tessera has not been built")
    folder = tmp_path_factory.mktemp("pictures")
    shutil.copy(PICTURES / "seven.png", folder)
    shutil.copytree(PICTURES, folder / "pictures")
    (folder / "classes.txt").write_text("".join(f"class {i}\n" for i in range(1000)))
    (toml,) = blocks(PAGE, "toml")
    (folder / "preprocessing.toml").write_text(toml)
    return folder


COMMANDS = [line.split("#")[0].strip() for block in blocks(PAGE, "sh") for line in block.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command, folder):
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    assert "pictures/" in done.stdout or "seven.png" in done.stdout


def test_commands_leave_what_the_page_says(folder):
    run("tessera run unet --input seven.png --output out", folder)
    assert (folder / "out" / "seven.mask.png").exists() and (folder / "out" / "seven.png").exists()


def test_the_python_example_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    (block,) = blocks(PAGE, "python")
    exec(compile(block, PAGE, "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("7 (0.") and printed.splitlines()[0].endswith(" 7")
    assert (folder / "answered.png").exists()


def test_the_cpp_example_is_the_one_that_is_built(folder):
    (block,) = blocks(PAGE, "cpp")
    assert block == (ROOT / "examples" / "recognize.cpp").read_text(encoding="utf-8")
    program = BUILD / "examples" / "example_recognize"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    done = run([program, "digits", "seven.png"], folder)
    assert done.returncode == 0 and done.stdout.startswith("7 (0."), done.stderr
    wrong = run([program, "digits", "nothing.png"], folder)
    assert wrong.returncode == 1 and "nothing.png" in wrong.stderr
