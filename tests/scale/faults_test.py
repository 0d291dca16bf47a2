"""What can go wrong while `tessera run` or `tessera ncp train` works on several hosts: each rank ends with one message that names rank, host and
cause, within seconds; nothing stays running, nothing is torn, and --resume comes to the same bits. The hosts are
namespaces (hosts.py); where the kernel refuses those, the test is skipped. Standard library only.

    faults_test.py TESSERA
"""

import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import hosts

TESSERA = os.path.abspath(sys.argv[1])
MODEL = "shallow_unet"
SECONDS_ALONE = 3  # of a run whose middle something is to happen in, long after its first part is written
PEER_TIMEOUT_S = 4  # hosts.KEEPALIVE lies between this and three times as much
MOST_SECONDS = 40
ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "TESSERA_THREADS": "1", "TESSERA_PEER_TIMEOUT": str(PEER_TIMEOUT_S)}

# Keeps what a rank says where no network is needed to read it.
RANK = """#!/bin/sh
folder=$1
shift
exec "$@" 2>"$folder/said.$OMPI_COMM_WORLD_RANK"
"""


def npy(shape, seed):
    """A small .npy file of float32 without NumPy."""
    header = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    count = 1
    for extent in shape:
        count *= extent
    values = b"".join(struct.pack("<f", ((i * 7919 + seed) % 1000) / 500 - 1) for i in range(1000))
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + (values * (count // 1000 + 1))[: 4 * count]


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = hosts.Hosts(["a", "b", "c"])
        cls.all = pathlib.Path(tempfile.mkdtemp(prefix="tessera-faults-"))
        cls.addClassCleanup(shutil.rmtree, cls.all)
        cls.rank = cls.all / "rank"
        cls.rank.write_text(RANK)
        cls.rank.chmod(0o755)
        rate = float(re.search(r"([\d.]+) samples/s", cls.run_alone("--samples", "20"))[1])
        cls.samples = max(60, int(rate * SECONDS_ALONE))
        cls.run_alone("--samples", str(cls.samples), "--output", str(cls.all / "alone"))
        cls.alone = cls.files(cls.all / "alone")

    @staticmethod
    def run_alone(*arguments):
        done = subprocess.run([TESSERA, "run", MODEL, *arguments], check=True, capture_output=True, text=True,
                              env={**ENVIRONMENT, "TESSERA_THREADS": "2"})  # fmt: skip
        return done.stdout + done.stderr

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.all))
        self.output = self.folder / "out"

    @staticmethod
    def files(folder):
        return {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    def start(self, *arguments, placed="a,b,c", programs=()):
        """mpirun with one rank on each host. `programs`: of ranks that run another one, by rank."""
        for file in self.folder.glob("said.*"):
            file.unlink()
        words = []
        for rank, host in enumerate(placed.split(",")):
            command = dict(programs).get(rank, [TESSERA, "run", MODEL, *arguments])
            words += [":"] * bool(words) + ["--host", host, "-n", "1", self.rank, self.folder, *command]
        self.log = open(self.folder / "mpirun.log", "w+")
        self.addCleanup(self.log.close)
        return subprocess.Popen(self.hosts.mpirun(*words), stdout=self.log, stderr=subprocess.STDOUT, env=ENVIRONMENT)

    def said(self, rank):
        file = self.folder / f"said.{rank}"
        return file.read_text() if file.exists() else ""

    def all_said(self):
        """For messages of this test: what each rank and mpirun have printed."""
        said = {file.name: file.read_text() for file in sorted(self.folder.glob("said.*"))}
        return f"Ranks: {said}; mpirun: {self.printed}"

    def end(self, process, seconds=MOST_SECONDS):
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"still running after {seconds} s: {hosts.running()}")
        hosts.wait_until("nothing runs any more", lambda: not hosts.running(), 10)
        self.log.seek(0)
        self.printed = self.log.read()

    def assert_ended(self, process, ranks, *patterns, launcher=None):
        """Not with 0, and each of these ranks with one message that matches. `launcher`: what mpirun prints where it has
        seen the loss first. It may have ended ranks before they knew then, but not all of them."""
        self.end(process)
        self.assertNotEqual(process.returncode, 0, self.printed)
        silent = 0
        for rank in ranks:
            messages = [line for line in self.said(rank).splitlines() if "error:" in line]
            if not messages and launcher and re.search(launcher, self.printed):
                silent += 1
                continue
            self.assertEqual(len(messages), 1, f"rank {rank} is to say one error. {self.all_said()}")
            self.assertRegex(messages[0], rf"^rank {rank} of \d on [abc]: error: ")
            for pattern in patterns:
                self.assertRegex(messages[0], pattern)
        self.assertLess(silent, len(ranks), f"one rank at least is to say what has happened. {self.all_said()}")

    def run_into_its_middle(self, *arguments, **options):
        process = self.start("--samples", self.samples, "--output", self.output, *arguments, **options)
        there = lambda: list(self.output.glob(".unfinished/*.part"))  # noqa: E731
        hosts.wait_until("something is finished", lambda: there() or process.poll() is not None)
        self.assertIsNone(process.poll(), "it ended before anything could go wrong")
        return process

    def assert_nothing_is_torn(self):
        """An output is there as a whole, if it was finished just before, or not at all."""
        for file in self.output.rglob("*.npy"):
            self.assertTrue(self.alone[file.name] == file.read_bytes(), file.name)

    def resume(self, **options):
        process = self.start("--samples", self.samples, "--output", self.output, "--resume", **options)
        self.end(process, 120)
        self.assertEqual(process.returncode, 0, self.printed + self.said(0))
        self.assertRegex(self.printed, r"[1-9]\d* of them done before")
        self.assertEqual(self.files(self.output), self.alone)

    def test_a_rank_is_killed(self):
        process = self.run_into_its_middle()
        os.kill(hosts.ranks_running(TESSERA)[1], signal.SIGKILL)
        self.assert_ended(process, [0, 2], "rank 1 of 3 on b is gone: .*ended")
        self.assert_nothing_is_torn()
        self.resume(placed="a,c")

    def test_rank_0_is_killed(self):
        process = self.run_into_its_middle()
        os.kill(hosts.ranks_running(TESSERA)[0], signal.SIGKILL)
        self.assert_ended(process, [1, 2], "rank 0 of 3 on a is gone: .*ended")
        self.assert_nothing_is_torn()
        self.resume()

    def test_a_host_vanishes(self):
        process = self.run_into_its_middle(placed="a,b,c,c")
        self.hosts.vanish("c")
        self.assert_ended(process, [0, 1], r"rank [23] of 4 on c is gone: .*ended", launcher="Remote daemon: .* on node c")
        self.assert_nothing_is_torn()

    def test_a_cable_is_taken_out(self):
        process = self.run_into_its_middle()
        self.hosts.cut("c")
        self.addCleanup(self.hosts.mend, "c")
        self.assert_ended(process, [0, 1], r"rank 2 of 3 on c is gone: nothing was heard of it for [\d.]+ s")
        for rank in (0, 1):
            self.assertLess(float(re.search(r"heard of it for ([\d.]+) s", self.said(rank))[1]), 2 * PEER_TIMEOUT_S)
        self.assertRegex(self.said(2), r"^rank 2 of 3 on c: error: rank 0 of 3 on a is gone: nothing was heard of it")
        self.assert_nothing_is_torn()
        self.hosts.mend("c")
        self.resume()

    def test_mpirun_is_told_to_end(self):
        process = self.run_into_its_middle()
        (mpirun,) = [pid for pid, words in hosts.running().items() if words[0] == "mpirun"]
        os.kill(mpirun, signal.SIGTERM)
        self.assert_ended(process, [0, 1, 2], r"rank \d of 3 on [abc] (was told to end|is gone)")
        self.assert_nothing_is_torn()

    def test_the_disk_is_full(self):
        self.output.mkdir()
        tmpfs = ["mount", "-t", "tmpfs", "-o"]
        subprocess.run([*tmpfs, "size=12m", "none", self.output], check=True)
        self.addCleanup(subprocess.run, ["umount", self.output], check=True)
        process = self.start("--samples", self.samples, "--output", self.output)
        self.assert_ended(process, [0, 1, 2], "No space left on device")
        for rank in (1, 2):
            self.assertIn("rank 0 of 3 on a failed: cannot write", self.said(rank))
        self.assert_nothing_is_torn()
        self.assertTrue(list(self.output.glob(".unfinished/*.part")), "what could be written is to be there")
        subprocess.run(["mount", "-o", "remount,size=4g", self.output], check=True)
        self.resume()

    def test_an_input_file_is_cut_short(self):
        inputs = self.folder / "in"
        inputs.mkdir()
        for i in range(3):
            (inputs / f"{i}.npy").write_bytes(npy((4, 1056, 160), i))
        whole = (inputs / "1.npy").read_bytes()
        (inputs / "1.npy").write_bytes(whole[: len(whole) // 2])
        process = self.start("--input", inputs, "--output", self.output)
        self.assert_ended(process, [0, 1, 2], "needs 2703360 bytes of data, the file has 1351616")
        for rank in range(3):
            self.assertIn(str(inputs / "1.npy"), self.said(rank))
        self.assertFalse(self.output.exists())
        (inputs / "1.npy").write_bytes(whole)
        process = self.start("--input", inputs, "--output", self.output)
        self.end(process)
        self.assertEqual(process.returncode, 0, self.said(0))

    def test_a_model_is_cut_short(self):
        model = self.folder / "m.onnx"
        subprocess.run([TESSERA, "export", MODEL, model], check=True, stdout=subprocess.DEVNULL)
        model.write_bytes(model.read_bytes()[:-1000])
        command = [TESSERA, "run", model, "--samples", 3]
        process = self.start(programs=dict.fromkeys(range(3), command))
        self.assert_ended(process, [0, 1, 2], "not an ONNX model, or not all of one")

    def test_a_rank_of_another_version_is_named(self):
        version = subprocess.run([TESSERA, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
        other = self.folder / "other"
        other.mkdir()
        changed = re.sub(rb"\d+$", lambda last: b"9" * len(last[0]), version.encode())
        program = other / "tessera"
        program.write_bytes(pathlib.Path(TESSERA).read_bytes().replace(b"\0" + version.encode() + b"\0", b"\0" + changed + b"\0"))
        program.chmod(0o755)
        process = self.start("--samples", 5, programs={2: [program, "run", MODEL, "--samples", 5]})
        self.assert_ended(process, [0, 1, 2], rf"the version differs .*rank 0 of 3 on a has {re.escape(version)}, "
                          rf"rank 2 of 3 on c has {re.escape(changed.decode())}")  # fmt: skip

    def test_a_rank_with_another_model_is_named(self):
        process = self.start("--samples", 5, programs={1: [TESSERA, "run", "resnet18", "--samples", 5]})
        self.assert_ended(process, [0, 1, 2], "what to run differs .*rank 0 of 3 on a has shallow_unet.*rank 1 of 3 on b has resnet18")

    def test_hosts_run_the_model_of_the_first_to_the_same_bits(self):
        subprocess.run([TESSERA, "export", MODEL, self.folder / "m.onnx"], check=True, stdout=subprocess.DEVNULL)
        other = self.folder / "other"
        other.mkdir()
        (other / "m.onnx").write_text("not a model at all")
        run = [TESSERA, "run", "m.onnx", "--samples", self.samples, "--output", self.output]
        within = lambda folder: ["env", "-C", folder, *run]  # noqa: E731
        process = self.start(programs={0: within(self.folder), 1: within(other), 2: within("/")})
        self.end(process, 120)
        self.assertEqual(process.returncode, 0, self.said(0) + self.said(1))
        for rank, host in enumerate("abc"):
            self.assertIn(f"rank {rank} of 3 on {host}: ", self.printed)
        self.assertEqual(self.files(self.output), self.alone)


    def train(self, *arguments):
        return [TESSERA, "ncp", "train", "--task", "xor", "--samples", "3000", "--units", "32", "--batch", "100",
                "--epochs", "500", "--checkpoint", self.folder / "checkpoint", *arguments]  # fmt: skip

    def train_into_the_middle(self):
        process = self.start(programs=dict.fromkeys(range(3), self.train("--deterministic")))
        there = lambda: (self.folder / "checkpoint" / "checkpoint.safetensors").exists()  # noqa: E731
        hosts.wait_until("there is a checkpoint", lambda: there() or process.poll() is not None)
        self.assertIsNone(process.poll(), self.said(0))
        return process

    def go_on_alone(self):
        command = self.train("--resume", "--max-seconds", "1e-6")
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("continuing", done.stderr)

    def test_a_rank_that_trains_is_killed(self):
        process = self.train_into_the_middle()
        os.kill(hosts.ranks_running(TESSERA)[2], signal.SIGKILL)
        self.assert_ended(process, [0, 1], "rank 2 of 3 on c is gone: .*ended")
        self.go_on_alone()

    def test_a_cable_is_taken_out_in_training(self):
        process = self.train_into_the_middle()
        self.hosts.cut("b")
        self.addCleanup(self.hosts.mend, "b")
        self.assert_ended(process, [0, 2], r"rank 1 of 3 on b is gone: nothing was heard of it for [\d.]+ s")
        self.go_on_alone()


if __name__ == "__main__":
    hosts.enter()
    sys.argv.pop(1)
    unittest.main()
