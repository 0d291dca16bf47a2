#!/usr/bin/env python3
"""How much faster than the real ttnn do we convert a 4096x4096 float32 array to block floats on the host?

    PYTHONPATH=build/python .venv/bin/python bench/peers/ttnn_convert.py --ttnn-python PYTHON [--rounds 15] [--format json]

PYTHON is an interpreter with `ttnn` and numpy installed (ttnn 0.81.1 has wheels for Python 3.10 and 3.12). Without a card it
needs a mock cluster in TT_METAL_MOCK_CLUSTER_DESC_PATH, which is handed on. Each side is a process of its own with all its
threads; rounds alternate between them, so a busy moment hurts both. The result is compared first: the same bits back.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

SIZE = 4096
DTYPES = ("bfloat8_b", "bfloat4_b")
ANSWER = "answer:"


def worker(module_name):
    import importlib

    import numpy as np

    ttnn = importlib.import_module(module_name)
    x = np.random.default_rng(0).standard_normal((SIZE, SIZE), dtype=np.float32)
    for line in sys.stdin:
        what, dtype = line.split()
        start = time.perf_counter()
        if what == "pack":
            packed = ttnn.Tensor(x, getattr(ttnn, dtype), layout=ttnn.TILE_LAYOUT)
            took = time.perf_counter() - start
        else:
            y = packed.to_numpy()
            took = time.perf_counter() - start
            if what == "digest":
                import hashlib

                took = hashlib.sha256(np.ascontiguousarray(y).tobytes()).hexdigest()
        print(ANSWER, took if what == "digest" else took * 1e3, flush=True)


class Side:
    def __init__(self, python, module_name, env):
        self.process = subprocess.Popen([python, os.path.abspath(__file__), "--worker", module_name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)

    def ask(self, what, dtype):
        self.process.stdin.write(f"{what} {dtype}\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith(ANSWER):  # the real one logs to stdout too
                return line.split()[1]
        sys.exit(f"the worker ended while it was asked to {what} {dtype}: run it by hand to see why")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ttnn-python", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    args = parser.parse_args()
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    ours = Side(sys.executable, "tessera.ttnn", dict(os.environ))
    real = Side(args.ttnn_python, "ttnn", clean)
    rows = []
    for dtype in DTYPES:
        for side in (ours, real):
            side.ask("pack", dtype)
        if ours.ask("digest", dtype) != real.ask("digest", dtype):
            sys.exit(f"{dtype}: the two do not give the same values back")
        for what in ("pack", "unpack"):
            times = {"ours": [], "real": []}
            for _ in range(args.rounds):
                times["ours"].append(float(ours.ask(what, dtype)))
                times["real"].append(float(real.ask(what, dtype)))
            a, b = (statistics.median(times[k]) for k in ("ours", "real"))
            ratios = sorted(r / o for o, r in zip(times["ours"], times["real"]))
            rows.append(dict(what=what, dtype=dtype, ours_ms=round(a, 2), ttnn_ms=round(b, 2), times_faster=round(statistics.median(ratios), 1),
                             lowest=round(ratios[0], 1), highest=round(ratios[-1], 1)))
    if args.format == "json":
        print(json.dumps({"schema": 1, "kind": "measured", "size": SIZE, "rounds": args.rounds, "rows": rows}, indent=1))
        return
    print(f"{SIZE}x{SIZE} float32, measured, median of {args.rounds} alternating rounds")
    print(f"{'':24}{'ours ms':>10}{'ttnn ms':>10}{'times faster':>14}   (lowest to highest round)")
    for r in rows:
        print(f"{r['what'] + ' ' + r['dtype']:24}{r['ours_ms']:10.2f}{r['ttnn_ms']:10.2f}{r['times_faster']:14.1f}   ({r['lowest']} to {r['highest']})")


if __name__ == "__main__":
    worker(sys.argv[2]) if sys.argv[1:2] == ["--worker"] else main()
