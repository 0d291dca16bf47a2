#!/usr/bin/env python3
"""What it costs `tessera run` to be several processes, or one under mpirun: ratios of runs by turns, medians over rounds.

    run_scaling.py [--build BUILD] [--model NAME] [--samples N] [--rounds N] [--check]

* weak scaling: samples per second of 2 ranks with 1 thread each, as a part of what 2 processes that know nothing of each
  other make of half the samples each at the same time, on the same two cores (bar: 0.95)
* overhead of mpirun: time that 1 rank takes for its samples, over that of a plain process (bar: 1.01), and the time from
  the start of the command to its end that mpirun adds, in seconds

Time is that of the work itself, as the command reports it, except for the last. --check: exit 1 if a bar is missed.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

MPIRUN = ["mpirun", "--allow-run-as-root", "--bind-to", "none"]  # cores are given by taskset below, to all alike
SAID = re.compile(r"^(\d+) samples in .*: .* measured, ([\d.]+) samples/s", re.MULTILINE)
EFFICIENCY_BAR, OVERHEAD_BAR = 0.95, 1.01


def bound(core, command):
    return ["taskset", "-c", str(core), *command]


def rates(commands):
    """Samples per second that each of these says it made, all started at once; and the seconds until the last ended."""
    environment = {**os.environ, "TESSERA_THREADS": "1", "NO_COLOR": "1"}
    start = time.perf_counter()
    running = [subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) for c in commands]
    found = []
    for process in running:
        said, complained = process.communicate()
        if process.returncode != 0:
            sys.exit(f"{' '.join(process.args)} ended with {process.returncode}: {complained}")
        found.append(float(SAID.search(said)[2]))
    return found, time.perf_counter() - start


def measure(args):
    first, second = sorted(os.sched_getaffinity(0))[:2]
    run = lambda samples: [str(args.build / "tessera"), "run", args.model, "--samples", str(samples)]  # noqa: E731
    # Each rank is bound to a core by itself, as independent processes are.
    rank = ["sh", "-c", f'if [ $OMPI_COMM_WORLD_RANK = 0 ]; then core={first}; else core={second}; fi; exec taskset -c $core "$@"', "rank"]
    kinds = {
        "together": [[*MPIRUN, "-n", "2", *rank, *run(2 * args.samples)]],
        "apart": [bound(first, run(args.samples)), bound(second, run(args.samples))],
        "one rank": [[*MPIRUN, "-n", "1", *rank, *run(args.samples)]],
        "plain": [bound(first, run(args.samples))],
    }
    found = {kind: [] for kind in kinds}
    for round_number in range(args.rounds + 1):  # the first warms up and is not counted
        for kind, commands in kinds.items():
            each, seconds = rates(commands)
            if round_number > 0:
                found[kind].append((sum(each), seconds))
    return found


def spread(values):
    middle = statistics.median(values)
    return middle, statistics.median(abs(value - middle) for value in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "build")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--samples", type=int, default=40, help="of each process")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    for program in ("mpirun", "taskset"):
        if shutil.which(program) is None:
            return print(f"run scaling: {program} is not installed")
    if len(os.sched_getaffinity(0)) < 2:
        return print("run scaling: there is one core alone")
    found = measure(args)
    by_turns = lambda a, b, i: [x[i] / y[i] for x, y in zip(found[a], found[b])]  # noqa: E731
    efficiency, about = spread(by_turns("together", "apart", 0))
    overhead, give_or_take = spread(by_turns("plain", "one rank", 0))
    start, start_spread = spread([x[1] - y[1] for x, y in zip(found["one rank"], found["plain"])])
    rate = statistics.median(x[0] for x in found["plain"])
    print(f"{args.model}, {args.samples} samples for each process of 1 thread, medians of {args.rounds} rounds by turns, "
          f"measured ({rate:.1f} samples/s by one)")  # fmt: skip
    print(f"  2 ranks, as a part of 2 processes apart   {efficiency:.3f} +- {about:.3f}  (bar: at least {EFFICIENCY_BAR})")
    print(f"  1 rank under mpirun, over a plain process {overhead:.3f} +- {give_or_take:.3f}  (bar: at most {OVERHEAD_BAR})")
    print(f"  start and end of mpirun                   {start:.2f} +- {start_spread:.2f} s more")
    if args.check and (efficiency < EFFICIENCY_BAR or overhead > OVERHEAD_BAR):
        sys.exit("run scaling: a bar was missed")


if __name__ == "__main__":
    main()
