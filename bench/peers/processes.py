"""The processes of the runtimes, which take turns: all but the one whose turn it is are stopped, so that threads that
spin while they wait for work cannot slow the others."""

import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
ANSWER_S = 600  # the longest that a runtime may take for one question


class PeerError(Exception):
    """Why a runtime cannot take part."""


def environment(name, threads, build, keep_memory):
    """The same for all, but for OpenMP. keep_memory: what is freed stays mapped, so that a large result is not paid for
    with page faults each time."""
    out = dict(os.environ)
    if keep_memory:
        out["MALLOC_MMAP_THRESHOLD_"] = "4294967295"
        out["MALLOC_TRIM_THRESHOLD_"] = "8589934592"
    if name in ("ncnn", "torch", "torch-compile"):
        processors = sorted(os.sched_getaffinity(0))
        out["OMP_NUM_THREADS"] = str(threads)
        out["OMP_PROC_BIND"] = "true"
        if threads <= len(processors):
            out["OMP_PLACES"] = ",".join("{%d}" % p for p in processors[:threads])
    if name == "tessera-python":
        out["PYTHONPATH"] = str(build / "python")
    return out


class Peer:
    """One runtime. It runs from wake() to rest() only."""

    def __init__(self, name, threads, build, log, keep_memory=True):
        self.name = name
        program = [str(build / "bench/peers/tessera_peer_worker")]
        if name != "tessera":
            program = [sys.executable, str(HERE / "worker.py"), name]
        try:
            self.process = subprocess.Popen(
                [*program, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env=environment(name, threads, build, keep_memory))
        except OSError as error:
            raise PeerError(str(error)) from error
        self.answers = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()
        self.version = self.answer().get("version", name)
        self.rest()

    def listen(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def answer(self):
        try:
            line = self.answers.get(timeout=ANSWER_S)
        except queue.Empty:
            self.close()
            raise PeerError(f"no answer within {ANSWER_S} s") from None
        if not line:
            raise PeerError(f"its process ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"].splitlines()[0])
        return answer

    def ask(self, **question):
        """Wakes it, waits for the answer, and puts it to rest again."""
        try:
            self.wake()
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            return self.answer()
        except BrokenPipeError:
            raise PeerError(f"its process ended with status {self.process.wait()}") from None
        finally:
            self.rest()

    def wake(self):
        self.signal(signal.SIGCONT)

    def rest(self):
        self.signal(signal.SIGSTOP)

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def alive(self):
        return self.process.poll() is None

    def close(self):
        if self.alive():
            self.wake()
            self.process.kill()
            self.process.wait()
