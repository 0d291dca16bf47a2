"""What the examples of docs/run.md print. (tests/pages runs the commands.)"""

import pytest
from doc_page import BUILD, ROOT, blocks, run, working_folder

PAGE = "run.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return working_folder(tmp_path_factory, "run", "mobilenet_v2")


def test_python_examples_run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    names = {}
    for block in blocks(PAGE, "python"):
        exec(compile(block, "docs/run.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "<tessera.Port x float32[1, 3, 224, 224]>" in printed
    assert "'flops'" in printed
    assert float(printed.split()[-1]) > 0.999999  # one instruction set against another


def test_the_cpp_example_is_the_one_that_is_built(folder):
    (block,) = blocks(PAGE, "cpp")
    assert block == (ROOT / "examples" / "run_network.cpp").read_text(encoding="utf-8")
    program = BUILD / "examples" / "example_run_network"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    done = run([program], folder)
    assert (done.returncode, done.stdout) == (0, "classifier: [1, 1000] float32\n"), done.stderr
    wrong = run([program, "nothing.onnx"], folder)
    assert wrong.returncode == 1 and "nothing.onnx" in wrong.stderr
