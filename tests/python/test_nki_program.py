"""Any kernel of a script: its results, its time and why it takes that, as users ask for them."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tessera
from tessera.nki import _program

SCRIPT = """
    import neuronxcc.nki as nki
    import neuronxcc.nki.isa as nisa
    import neuronxcc.nki.language as nl
    import numpy as np

    print("a script may print")

    @nki.jit
    def scaled_sum(a, b, factor=0.5):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        print("a kernel too")
        nl.store(out, nisa.tensor_scalar(nl.load(a) + nl.load(b), op0=nl.multiply, operand0=factor))
        return out

    @nki.jit
    def loads_again(a, b):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for row in nl.affine_range(a.shape[0] // 128):
            here = slice(row * 128, (row + 1) * 128)
            nl.store(out[here, :], nl.load(a[here, :]) + nl.load(b))
        return out

    @nki.jit
    def windows(a):
        out = nl.ndarray((128, 32, a.shape[1] - 31), dtype=a.dtype, buffer=nl.shared_hbm)
        for at in nl.affine_range(32):
            nl.store(out[:, at, :], nl.load(a[:, at : at + a.shape[1] - 31]))
        return out

    def writes_its_argument(a, out):
        nl.store(out, nl.load(a) + 1.0)

    @nki.jit
    def by_program(a):
        out = nl.ndarray((nl.num_programs(0), *a.shape), dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out[nl.program_id(0)], nl.load(a))
        return out

    @nki.jit
    def wrong(a):
        return nl.load(a[0:200, :])
"""


# The line of the loop in loads_again that loads and stores.
LINE = 1 + textwrap.dedent(SCRIPT).splitlines().index("        nl.store(out[here, :], nl.load(a[here, :]) + nl.load(b))")


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(SCRIPT))
    return path


@pytest.fixture
def ask(script, capsys):
    def ask(action, *words, status=0):
        assert _program.main([action, str(script), *words]) == status
        done = capsys.readouterr()
        return done.out if status == 0 else done.err

    return ask


def test_gives_what_the_kernel_gives_and_its_time(ask, script, tmp_path):
    random = np.random.default_rng(1)
    a, b = random.random((2, 128, 512)).astype(np.float16)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    words = ["--kernel", "scaled_sum", "--input", f"a={tmp_path}/a.npy", "--input", f"b={tmp_path}/b.npy"]
    rows = json.loads(ask("run", *words, "--set", "factor=2", "--format", "json", "--output", str(tmp_path / "out")))["rows"]
    found = np.load(tmp_path / "out" / "output.npy")
    assert found.dtype == np.float16
    assert np.allclose(found, 2 * (a.astype(np.float32) + b), rtol=2**-10)

    kernel = _program.kernel_named(script, "scaled_sum")
    bench = tessera.nki.benchmark(kernel)
    bench(a, b, factor=2)
    assert {row["key"]: row["value"] for row in rows}["total_time"] == bench.benchmark_result.summary["total_time"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["output.npy"]


def test_makes_numbers_of_a_seed_and_shows_what_came_out(ask, tmp_path):
    words = ["--kernel", "scaled_sum", "--input", "a=128x64", "--input", "b=128x64:bfloat16"]
    first, again = ask("run", *words), ask("run", *words)
    assert first == again
    assert first.startswith("output: 128x64 float32, from ")
    assert ask("run", *words, "--seed", "7") != first
    assert "output:" not in ask("run", *words, "--without-values")
    assert "output:" not in ask("run", *words, "--quiet")
    assert "a kernel too" not in first  # what a script prints goes to standard error


def test_finds_what_a_kernel_wrote_into_its_arguments(ask, tmp_path):
    ask("run", "--kernel", "writes_its_argument", "--input", "a=128x8", "--input", "out=128x8", "--output", str(tmp_path))
    assert np.load(tmp_path / "out.npy").min() >= 1


def test_launches_a_grid(ask):
    shown = ask("run", "--kernel", "by_program", "--input", "a=128x8", "--grid", "3")
    assert "output: 3x128x8 float32" in shown


def explained(ask, *words):
    return json.loads(ask("explain", *words, "--format", "json"))


def test_the_longest_chain_adds_up_and_names_lines(ask, script):
    told = explained(ask, "--kernel", "loads_again", "--input", "a=2048x512", "--input", "b=128x512")
    assert sum(row["chain_us"] for row in told["rows"]) == pytest.approx(told["chain_us"])
    assert sum(each["chain_us"] for each in told["engines"]) == pytest.approx(told["chain_us"])
    assert told["total_us"] - told["chain_us"] == pytest.approx(10)  # to start a kernel
    lines = {row["line"].rpartition(":")[0] for row in told["rows"]}
    assert lines == {str(script)}
    assert {each["tensor"]: each["loads"] for each in told["tensors"] if each["loads"]} == {"a": 16, "b": 16}


def test_says_that_loads_can_be_hoisted(ask):
    told = explained(ask, "--kernel", "loads_again", "--input", "a=2048x512", "--input", "b=128x512")
    said = {each["what"]: each["why"] for each in told["advice"]}
    assert "hoist the loads of b out of a loop, or reorder the loops" in said
    assert "each part of it is loaded 16.0 times: 4.2 MB in all, of which 0.3 MB differ" in said.values()
    assert not any(tensor in what for tensor in ("loads of a ", "rows of a ") for what in said)


def test_says_that_rows_can_be_kept(ask):
    told = explained(ask, "--kernel", "windows", "--input", "a=128x256")
    assert "keep rows of a with their halo in SBUF" in [each["what"] for each in told["advice"]]


def test_a_kernel_without_waste_gets_no_advice_on_copies(ask):
    told = explained(ask, "--kernel", "scaled_sum", "--input", "a=128x512", "--input", "b=128x512")
    assert not any(word in each["what"] for each in told["advice"] for word in ("hoist", "halo", "fuse", "more at a time"))


def test_shows_people_the_chain_and_the_advice(ask):
    text = ask("explain", "--kernel", "loads_again", "--input", "a=2048x512", "--input", "b=128x512")
    assert text.startswith("loads_again on trainium2\n")
    assert "The longest chain:" in text
    assert "what would help" in text
    assert f"script.py:{LINE}" in text


def test_writes_a_trace_and_a_page(ask, tmp_path):
    words = ["--kernel", "loads_again", "--input", "a=1024x512", "--input", "b=128x512"]
    ask("run", *words, "--trace", str(tmp_path / "t.json"), "--html", str(tmp_path / "p.html"))
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {"vector", "dma queue", "dma 0"} <= {each["args"]["name"] for each in events if each.get("name") == "thread_name"}
    page = (tmp_path / "p.html").read_text()
    for wanted in ("How busy each was, over the whole run", ">dma 0..15<", "hoist the loads of b", f"script.py:{LINE}", "Tensors in HBM"):
        assert wanted in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--input", "a=128x8"], "has 5 kernels (by_program, loads_again, scaled_sum, windows, wrong): say which with --kernel NAME"),
        (["--kernel", "scaled"], "has no kernel 'scaled'; it has by_program, loads_again"),
        (["--kernel", "scaled_sum", "--input", "a=128x8"], "the kernel needs 'b': it is scaled_sum(a, b, factor=0.5)"),
        (["--kernel", "windows", "--input", "a=128x64", "--set", "b=3"], "the kernel has no argument 'b': it is windows(a)"),
        (["--kernel", "windows", "--input", "a=128by64"], "'128by64' is no array"),
        (["--kernel", "windows", "--input", "a=0x64"], "'0x64' is no array"),
        (["--kernel", "windows", "--input", "a=1x64:complex64"], "'complex64' is no element type"),
        (["--kernel", "windows", "--input", "a=none.npy"], "cannot read 'none.npy'"),
        (["--kernel", "windows", "--input", "a"], "--input a: that is not NAME=VALUE"),
        (["--kernel", "windows", "--input", "a=1x64", "--input", "a=1x64"], "'a' is given twice"),
        (["--kernel", "by_program", "--input", "a=1x64", "--grid", "0"], "'0' is no number of programs"),
        (["--kernel", "wrong", "--input", "a=256x8"], "200 partitions"),
        (["--kernel", "windows", "--input", "a=128x64", "--device", "wormhole_n150"], "a neuron machine is needed"),
        (["--kernel", "windows", "--input", "a=128x64", "--without-values", "--output", "o"], "--output needs values"),
    ],
)
def test_says_what_is_wrong(ask, words, told):
    error = ask("run", *words, status=1)
    assert error.count("error: ") == 1
    assert told in error


def test_an_error_in_the_kernel_names_its_line(ask, script):
    assert f"{script}:4" in ask("run", "--kernel", "wrong", "--input", "a=256x8", status=1)


def test_runs_as_a_module(script):
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(tessera.__file__).parents[1])}
    words = [sys.executable, "-m", "tessera.nki", "explain", script, "--kernel", "windows", "--input", "a=128x64"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("windows on trainium2\n")
    assert "a script may print" in done.stderr


BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", pathlib.Path(__file__).parents[2] / "build"))


def command(script, action, *words):
    words = [BUILD / "tessera", "trainium", action, script, "--python", sys.executable, *words]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_command_runs_and_explains_a_script(script, ask):
    words = ["--kernel", "loads_again", "--input", "a=1024x512", "--input", "b=128x512", "--format", "json"]
    ran = command(script, "run", *words)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == json.loads(ask("run", *words))
    told = command(script, "explain", *words)
    assert json.loads(told.stdout) == json.loads(ask("explain", *words))


def test_the_command_says_what_is_wrong_once(script):
    failed = command(script, "run", "--kernel", "nobody")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr.count("error:") == 1
    assert "has no kernel 'nobody'" in failed.stderr
