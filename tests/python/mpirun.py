"""Scripts under mpirun, for tests of what goes over a communicator of mpi4py. Skipped without mpi4py or mpirun."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import tessera

LACKS_MPI = shutil.which("mpirun") is None or subprocess.run([sys.executable, "-c", "import mpi4py.MPI"], capture_output=True).returncode != 0
needs_mpi = pytest.mark.skipif(LACKS_MPI, reason="needs mpi4py and mpirun")


def under_mpirun(ranks, script, folder):
    """The lines that each rank printed, by rank. (mpirun mixes them.)"""
    own = f"import os, sys; sys.stdout = open(f'{folder}/printed.' + os.environ['OMPI_COMM_WORLD_RANK'], 'w')\n"
    path = folder / "script.py"
    path.write_text(own + script)
    packages = os.pathsep.join([str(pathlib.Path(tessera.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    done = subprocess.run([*command, sys.executable, str(path)], cwd=folder, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": packages, "TESSERA_THREADS": "1"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [(folder / f"printed.{rank}").read_text().splitlines() for rank in range(ranks)]
