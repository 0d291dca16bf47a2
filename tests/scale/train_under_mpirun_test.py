"""`tessera ncp train` under mpirun: the bits of one process, ranks that end together, and what is left of a run that
was killed. Standard library only.

    train_under_mpirun_test.py TESSERA
"""

import json
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
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "TESSERA_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
TRAIN = ["ncp", "train", "--task", "xor", "--samples", "300", "--units", "12", "--batch", "100"]
MODELS = ["model.safetensors", "best.safetensors"]


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=ENVIRONMENT, timeout=120,
                          **options)


def train(*arguments, ranks=0, epochs=3):
    launch = [*MPIRUN, "-n", ranks] if ranks else []
    return run([*launch, TESSERA, *TRAIN, "--epochs", epochs, *arguments])


class TrainUnderMpirun(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-train-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def models(self, name):
        return [(self.folder / name / model).read_bytes() for model in MODELS]

    def trained(self, name, *arguments, ranks=0):
        done = train("--checkpoint", self.folder / name, *arguments, ranks=ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def history(self, name):
        return json.loads((self.folder / name / "training.json").read_text())["history"]

    def test_ranks_train_to_the_bits_of_one_process(self):
        self.trained("alone")
        for ranks in (1, 3):
            done = self.trained(f"by{ranks}", "--deterministic", ranks=ranks)
            self.assertEqual(self.models(f"by{ranks}"), self.models("alone"))
            self.assertEqual(done.stdout.count("xor "), 2, "one rank prints, two rows")
        self.assertIn("3 ranks: ", done.stderr)
        self.assertIn("rank 2 of 3 on ", done.stderr)

    def test_in_any_order_losses_are_those_of_one_process_but_for_rounding(self):
        self.trained("alone")
        self.trained("any", ranks=3)
        for alone, by_three in zip(self.history("alone"), self.history("any"), strict=True):
            for loss in ("loss", "validation_loss"):
                # Nine steps, each from parameters that differ by roundings of sums of 100 samples of 32 steps.
                self.assertAlmostEqual(by_three[loss], alone[loss], delta=9 * 3200 * 2**-24 * alone[loss])

    def test_a_run_goes_on_with_another_number_of_ranks(self):
        self.trained("whole")
        for ranks in (2, 3, 2):  # one batch each
            stopped = train("--checkpoint", self.folder / "parts", "--resume", "--deterministic",
                            "--max-seconds", "1e-6", ranks=ranks)
            self.assertEqual(stopped.returncode, 0, stopped.stderr)
            self.assertIn("--resume goes on", stopped.stderr)
        last = self.trained("parts", "--resume")
        self.assertIn("continuing", last.stderr)
        self.assertEqual(self.models("parts"), self.models("whole"))

    def test_a_loss_that_is_not_finite_ends_all_with_the_checkpoint_intact(self):
        done = train("--checkpoint", self.folder / "run", "--lr", "1e38", ranks=3)
        self.assertNotEqual(done.returncode, 0)
        for rank in range(3):
            self.assertRegex(done.stderr, rf"rank {rank} of 3 on .*error: .* is not finite at step")
        self.assertIn("checkpoint.safetensors", done.stderr)
        again = train("--checkpoint", self.folder / "run", "--resume", "--max-seconds", "1e-6")
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_ranks_that_were_asked_for_different_things_do_not_start(self):
        one = ["-n", "1", TESSERA, *TRAIN, "--checkpoint", self.folder / "run"]
        done = run([*MPIRUN, *one, ":", *one, "--lr", "0.5"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("'learning_rate' differs between processes: rank 0 of 2", done.stderr)
        self.assertIn("has 0.5", done.stderr)
        done = run([*MPIRUN, *one, ":", *one, "--deterministic"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--deterministic differs", done.stderr)
        self.assertFalse((self.folder / "run").exists())

    def test_ranks_with_different_data_do_not_start(self):
        for name, value in (("a", "0.5"), ("b", "0.25")):
            (self.folder / name).mkdir()
            (self.folder / name / "data.csv").write_text("x,target\n" + f"{value},1\n" * 640)
        csv = [TESSERA, "ncp", "train", "--task", "csv:data.csv", "--epochs", "1", "--units", "4"]
        in_a, in_b = (["-n", "1", "--wdir", self.folder / name, *csv] for name in ("a", "b"))
        done = run([*MPIRUN, *in_a, ":", *in_b])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the data to train on differs between processes", done.stderr)

    def test_a_file_that_cannot_be_written_ends_all_with_its_cause(self):
        (self.folder / "taken").write_text("a file, where a folder has to be")
        done = train("--checkpoint", self.folder / "taken" / "run", ranks=3)
        self.assertNotEqual(done.returncode, 0)
        for rank in range(3):
            self.assertIn(f"rank {rank} of 3", done.stderr)
        self.assertIn("rank 0 of 3 on", done.stderr)
        self.assertIn("taken", done.stderr)

    def test_a_rank_that_is_killed_ends_the_others_and_training_goes_on_from_the_checkpoint(self):
        more = ["--epochs", "2000", "--checkpoint-seconds", "0.05", "--deterministic"]
        output = self.folder / "killed"
        process = subprocess.Popen([*MPIRUN, "-n", "2", TESSERA, *TRAIN, *more, "--checkpoint", str(output)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
                                   start_new_session=True)
        try:
            checkpoint = output / "checkpoint.safetensors"
            end = time.monotonic() + 60
            first = None
            while first is None or checkpoint.stat().st_mtime_ns == first:  # until it was replaced once
                self.assertIsNone(process.poll(), "it ended before it was to be killed")
                self.assertLess(time.monotonic(), end)
                if first is None and checkpoint.exists():
                    first = checkpoint.stat().st_mtime_ns
                time.sleep(0.02)
            os.kill(self.rank_process(process.pid, 1), signal.SIGKILL)
            _, said = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(timeout=30)
            process.stderr.close()
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("rank 1", said)  # mpirun's words: which rank, which node, which signal
        # The lock of a process that was killed holds nobody up.
        self.assertEqual([file.name for file in output.iterdir() if file.name != "in_use.lock"], ["checkpoint.safetensors"])
        on = train("--checkpoint", output, "--resume", "--max-seconds", "1e-6", ranks=3, epochs=2000)
        self.assertEqual(on.returncode, 0, on.stderr)
        self.assertIn("continuing", on.stderr)

    @staticmethod
    def rank_process(launcher, rank):
        """The process of a rank, by what mpirun has put into its environment."""
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "environ").read_bytes().split(b"\0")
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            if parent == launcher and f"OMPI_COMM_WORLD_RANK={rank}".encode() in words:
                return int(entry.name)
        raise AssertionError("mpirun has not started such a rank")


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        sys.exit(77)
    unittest.main()
