"""Session.run_over: a network over many samples by the ranks of an mpi4py communicator."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from mpirun import needs_mpi, under_mpirun

import tessera

def test_importing_tessera_does_not_import_mpi():
    packages = str(pathlib.Path(tessera.__file__).parent.parent)
    code = "import sys, tessera; sys.exit(any(name.startswith('mpi4py') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": packages}).returncode == 0


@needs_mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_come_to_the_same_bits_as_one_session(tmp_path, ranks):
    x = np.random.default_rng(0).standard_normal((7, 3, 224, 224), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    tessera.export_onnx("mobilenet_v2", tmp_path / "m.onnx", batch=2)
    script = """
import numpy as np, os, tessera
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank > 0:
    os.chdir("/")  # no model and no samples there
session = tessera.load("m.onnx", comm=comm)
x = np.load("x.npy") if comm.rank == 0 else None
y = session.run_over(comm, None if x is None else [x])
named = session.run_over(comm, None if x is None else {"x": x})
print(y is None, named is None)
if y is not None:
    np.savez("y.npz", y=y[0], named=named["classifier"])
"""
    printed = under_mpirun(ranks, script, tmp_path)
    assert printed[0] == ["False False"]
    assert all(printed[rank] == ["True True"] for rank in range(1, ranks))
    session = tessera.Session("mobilenet_v2", batch=2, threads=1)
    padded = np.concatenate([x, x[-1:]])
    expected = np.concatenate([session(padded[i : i + 2])[0] for i in range(0, 8, 2)])[:7]
    with np.load(tmp_path / "y.npz") as found:
        np.testing.assert_array_equal(found["y"], expected)
        np.testing.assert_array_equal(found["named"], expected)


@needs_mpi
def test_weights_in_files_of_their_own_go_to_all(tmp_path):
    x = np.random.default_rng(0).standard_normal((3, 3, 224, 224), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    tessera.export_onnx("mobilenet_v2", tmp_path / "whole.onnx")
    onnx.save(onnx.load(tmp_path / "whole.onnx"), tmp_path / "m.onnx", save_as_external_data=True, location="weights.bin")
    script = """
import numpy as np, os, tempfile, tessera
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank > 0:
    os.environ["TMPDIR"] = tempfile.mkdtemp()
    os.chdir("/")
session = tessera.load("m.onnx", comm=comm)
y = session.run_over(comm, [np.load("x.npy")] if comm.rank == 0 else None)
if comm.rank == 0:
    np.save("y.npy", y[0])
else:
    print(os.listdir(os.environ["TMPDIR"]))
"""
    assert under_mpirun(3, script, tmp_path)[1:] == [["[]"], ["[]"]], "no copy is left behind"
    session = tessera.load(tmp_path / "whole.onnx", threads=1)
    expected = np.concatenate([session(x[i : i + 1])[0] for i in range(3)])
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected)


@needs_mpi
def test_a_rank_that_fails_is_named_to_all(tmp_path):
    script = """
import numpy as np, tessera
from mpi4py import MPI
comm = MPI.COMM_WORLD
def attempt(what):
    try:
        what()
        print("fine")
    except tessera.Error as error:
        print(str(error).partition("hint:")[0].replace("\\n", " "))
attempt(lambda: tessera.load("missing.onnx", comm=comm))
session = tessera.Session("resnet18", storage="bfloat16" if comm.rank == 1 else "float32")
attempt(lambda: session.run_over(comm, [np.zeros((2, 3, 224, 224), np.float32)] if comm.rank == 0 else None))
session = tessera.Session("resnet18")
attempt(lambda: session.run_over(comm, [np.zeros((2, 3, 224, 220), np.float32)] if comm.rank == 0 else None))
attempt(lambda: session.run_over(comm, [np.zeros((2, 3, 224, 224), np.float32)] if comm.rank == 0 else None))
"""
    printed = under_mpirun(2, script, tmp_path)
    for rank in range(2):
        missing, differs, shape, fine = printed[rank]
        assert "missing.onnx" in missing
        assert "the network differs between processes: rank 0 of 2" in differs
        assert "[2, 3, 224, 220]" in shape
        assert fine == "fine"
    assert "rank 0 of 2" in printed[1][2]


@needs_mpi
def test_something_else_than_a_communicator_is_refused():
    with pytest.raises(TypeError, match="communicator of mpi4py"):
        tessera.Session("resnet18").run_over("COMM_WORLD", [])
