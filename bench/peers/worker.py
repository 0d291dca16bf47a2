#!/usr/bin/env python3
"""One runtime in a process of its own, for compare.py: questions come as lines of JSON on standard input, answers go to
standard output, and whatever the runtime itself prints goes to standard error.

    python bench/peers/worker.py RUNTIME THREADS

    {"do": "load", "model": ONNX, "input": NPY, "dtype": "f32"|"bf16", "output": NPZ or left out}
        reads the model, makes it ready, runs it once, writes the outputs under "0", "1", ...
        -> load_s (until it is ready), first_s (until the first result), run_s (the run after it),
           before_kib, after_kib (the most memory until then, imports done / first result there)
    {"do": "run", "seconds": S, "warm": true|false}
        -> times: of runs, one after the other, until S have passed, at least one; after one that is not counted if warm

A run takes a float32 array of N C H W and gives such arrays, whatever happens in between.
"""

import importlib
import json
import os
import sys
import time

import numpy


def peak_memory_kib():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


class Worker:
    def __init__(self, runtime, threads):
        self.runtime = runtime
        self.threads = threads
        self.run = None

    def once(self):
        start = time.perf_counter()
        self.run()
        return time.perf_counter() - start

    def load(self, question):
        self.run = None
        x = numpy.load(question["input"])
        before = peak_memory_kib()
        start = time.perf_counter()
        self.run = self.runtime.load(question["model"], x, question["dtype"], self.threads)
        loaded = time.perf_counter() - start
        outputs = self.run()
        first = time.perf_counter() - start
        after = peak_memory_kib()
        if "output" in question:
            arrays = [numpy.asarray(array) for array in self.runtime.arrays(outputs)]
            numpy.savez(question["output"], **{str(i): array for i, array in enumerate(arrays)})
        return {"load_s": loaded, "first_s": first, "run_s": self.once(), "before_kib": before, "after_kib": after}

    def measure(self, question):
        if question["warm"]:
            self.once()
        times, end = [], time.perf_counter() + question["seconds"]
        while not times or time.perf_counter() < end:
            times.append(self.once())
        return {"times": times}

    def answer(self, question):
        if question["do"] == "load":
            return self.load(question)
        if question["do"] == "run":
            return self.measure(question)
        raise ValueError(f"there is no '{question['do']}' to do")


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer):
        print(json.dumps(answer), file=out, flush=True)

    name, threads = sys.argv[1], int(sys.argv[2])
    try:
        runtime = importlib.import_module(f"run_{name.replace('-', '_')}")
    except Exception as error:  # a missing package, or a library that does not load: a reason for the table
        say({"error": f"{type(error).__name__}: {error}"})
        return 1
    say({"ready": name, "version": runtime.VERSION})
    worker = Worker(runtime, threads)
    for line in sys.stdin:
        try:
            say(worker.answer(json.loads(line)))
        except Exception as error:  # the next question may be one that it can answer
            say({"error": f"{type(error).__name__}: {str(error)[:300]}"})
    return 0


if __name__ == "__main__":
    sys.exit(main())
