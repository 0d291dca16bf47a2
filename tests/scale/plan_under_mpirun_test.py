"""`tessera plan` and `tessera tune` under mpirun: the same bytes as alone. Standard library only.

    plan_under_mpirun_test.py TESSERA
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
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
CARD = ["--device", "wormhole_n150"]
ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "TESSERA_THREADS": "1"}


def tessera(*arguments, ranks=0):
    command = [TESSERA, *map(str, arguments)]
    if ranks:
        command = [*MPIRUN, "-n", str(ranks), *command]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)


class PlanUnderMpirun(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-mpi-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_ranks_find_the_same_plan_as_one_process(self):
        plans, tables = [], []
        for ranks in (0, 1, 3):
            file = self.folder / f"by{ranks}.json"
            done = tessera("plan", "resnet18", *CARD, "--quiet", "-o", file, ranks=ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            plans.append(file.read_bytes())
            tables.append(done.stdout)
        self.assertEqual(plans[0], plans[1])
        self.assertEqual(plans[0], plans[2])
        self.assertEqual(tables[0], tables[2])  # printed once

    def test_ranks_choose_the_same_batch_as_one_process(self):
        plans, tables = [], []
        for ranks in (0, 2):
            file = self.folder / f"by{ranks}.json"
            done = tessera("plan", "resnet18", *CARD, "--batches", "1,3", "--min-pcc", 0.99, "--quiet", "-o", file, ranks=ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            plans.append(file.read_bytes())
            tables.append(done.stdout)
        self.assertEqual(plans[0], plans[1])
        self.assertEqual(tables[0], tables[1])
        none = tessera("plan", "resnet18", *CARD, "--batches", "1,2", "--max-latency", "1us", ranks=2)
        self.assertNotEqual(none.returncode, 0)
        self.assertEqual(none.stderr.count("no batch meets the limit of"), 1)

    def test_rows_of_a_table_come_to_the_same(self):
        known = pathlib.Path(__file__).parent.parent / "data" / "ttnn" / "conv_l1.csv"
        table = self.folder / "layers.csv"
        table.write_text("".join(known.read_text().splitlines(keepends=True)[:60]))
        outputs = []
        for ranks in (0, 3):
            output = self.folder / f"filled{ranks}.csv"
            done = tessera("tune", "conv2d", *CARD, "--table", table, "-o", output, ranks=ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            outputs.append((output.read_bytes(), done.stdout.replace(str(output), "")))
        self.assertEqual(outputs[0], outputs[1])

    def test_a_sweep_is_printed_once(self):
        layer = ["--height", 28, "--in-channels", 64, "--out-channels", 64, "--format", "csv"]
        alone, together = [tessera("tune", "conv2d", *CARD, *layer, ranks=ranks) for ranks in (0, 2)]
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertEqual(together.stdout, alone.stdout)

    def test_a_failure_ends_all_with_its_cause(self):
        done = tessera("plan", "resnet18", *CARD, "--pin", "layer9.*:shard=BLOCK", ranks=3)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("layer9", done.stderr)
        unwritable = tessera("plan", "resnet18", *CARD, "--quiet", "-o", self.folder / "none" / "plan.json", ranks=2)
        self.assertNotEqual(unwritable.returncode, 0)
        self.assertIn("plan.json", unwritable.stderr)

    def test_a_rank_that_is_killed_ends_the_others(self):
        file = self.folder / "plan.json"
        process = subprocess.Popen([*MPIRUN, "-n", "2", TESSERA, "plan", "resnet50", "--batch", "16", *CARD, "-o",
                                    str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=ENVIRONMENT, start_new_session=True)
        self.addCleanup(process.stderr.close)
        victim = None
        end = time.monotonic() + 30
        while victim is None and time.monotonic() < end:
            for entry in pathlib.Path("/proc").iterdir():
                try:
                    environment = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) if environment else 0
                except OSError:
                    continue
                if parent == process.pid and b"OMPI_COMM_WORLD_RANK=1" in environment:
                    victim = int(entry.name)
            time.sleep(0.02)
        self.assertIsNotNone(victim, "the second rank was not found")
        time.sleep(0.5)
        os.kill(victim, signal.SIGKILL)
        said = process.communicate(timeout=60)[1]
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("rank 1", said)
        self.assertFalse(file.exists())


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        sys.exit(77)
    unittest.main()
