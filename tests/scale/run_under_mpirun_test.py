"""`tessera run` under mpirun: the same bits as alone, and ranks that end together. Standard library only.

    run_under_mpirun_test.py TESSERA
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TESSERA = sys.argv.pop(1)
MODEL = "shallow_unet"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]


def tessera(*arguments, ranks=0, **options):
    command = [TESSERA, *map(str, arguments)]
    if ranks:
        command = [*MPIRUN, "-n", str(ranks), *command]
    environment = {**os.environ, "NO_COLOR": "1", "TESSERA_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, **options)


class RunUnderMpirun(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-mpi-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_to(self, name, *arguments, ranks=0):
        done = tessera("run", MODEL, "--samples", 5, "--output", self.folder / name, *arguments, ranks=ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {file.name: file.read_bytes() for file in (self.folder / name).iterdir()}, done.stdout

    def test_ranks_give_the_same_bits_as_one_process(self):
        alone, _ = self.run_to("alone")
        self.assertTrue(alone)
        for ranks in (1, 3):
            together, said = self.run_to(f"by{ranks}", ranks=ranks)
            self.assertEqual(together, alone)
            self.assertIn(f"on {ranks} rank", said)

    def test_a_failure_ends_all_with_its_cause(self):
        (self.folder / "taken").write_text("a file, where a folder has to be")
        done = tessera("run", MODEL, "--samples", 5, "--output", self.folder / "taken" / "out", ranks=3)
        self.assertNotEqual(done.returncode, 0)
        for rank in range(3):
            self.assertIn(f"rank {rank} of 3", done.stderr)
        self.assertIn("rank 0 of 3", done.stderr)
        self.assertIn("taken", done.stderr)

    def test_what_was_finished_when_it_was_killed_is_not_computed_again(self):
        output = self.folder / "killed"
        command = [TESSERA, "run", MODEL, "--samples", "80", "--output", str(output)]
        process = subprocess.Popen([*MPIRUN, "-n", "2", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "TESSERA_THREADS": "1"}, start_new_session=True)
        end = time.monotonic() + 60
        while not list(output.glob(".unfinished/*.part")):
            self.assertIsNone(process.poll(), "it ended before it was to be killed")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
        end = time.monotonic() + 30
        refused = tessera("run", MODEL, "--samples", 80, "--output", output)
        while "is in use" in refused.stderr and time.monotonic() < end:  # ranks outlive mpirun until they miss it
            time.sleep(0.2)
            refused = tessera("run", MODEL, "--samples", 80, "--output", output)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--resume goes on", refused.stderr)
        other = tessera("run", MODEL, "--samples", 79, "--output", output, "--resume")
        self.assertEqual(other.returncode, 1)
        self.assertIn("belongs to another run", other.stderr)
        done = tessera("run", MODEL, "--samples", 80, "--output", output, "--resume", ranks=2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("done before", done.stdout)
        self.assertEqual([file.suffix for file in output.iterdir()], [".npy"])


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        sys.exit(77)
    unittest.main()
