#!/usr/bin/env python3
"""Layers and networks on Tessera and on other runtimes: how long each takes, by turns, and the ratio to the best.

    python bench/peers/compare.py [--layers | --networks | --startup] [--rows TEXT] [--dtype bf16] [--json FILE]

Every runtime is a process of its own. In each round each of them runs for a few milliseconds while all others are
stopped; times are medians and minima over all rounds. A run goes from a float32 array of N C H W to float32 arrays
of N C H W: what a runtime converts in between is part of it. A ratio above 1 means that Tessera is faster than the best
of the others. The peak is that of float32 multiply-adds, measured in the same rounds. Freed memory stays with the
process that had it; --plain-malloc leaves that to the system. Everything printed is measured.

With --json every row is kept as soon as it is there, and rows that are kept already are not measured again:
the same command goes on where it was interrupted, and --stop-after bounds how long it takes at a time.
"""

import argparse
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import cases
import numpy
import rows
import startup
from processes import Peer, PeerError

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ("onnxruntime", "openvino", "torch", "ncnn")
EXTRA_PEERS = ("torch-compile", "tessera-python")
PEAK_S = 0.004  # for the loop of multiply-adds in each round
WARM_BELOW_S = 0.05  # runs that are longer find the caches cold anyway: none is left uncounted


def bar(text):
    group, _, value = text.rpartition("=")
    return group, float(value)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], epilog="\n\n".join(__doc__.split("\n\n")[2:]),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_argument_group("what is compared; layers and networks if nothing is said")
    what.add_argument("--layers", nargs="*", metavar="FILE", help=f"files of layers: {', '.join(cases.LAYER_FILES)}")
    what.add_argument("--networks", nargs="*", metavar="NAME", help=f"of the zoo: {', '.join(cases.NETWORKS)}")
    what.add_argument("--all", action="store_true", help="layers, networks, and startup")
    what.add_argument("--startup", action="store_true", help="from nothing to the first result, and memory")
    what.add_argument("--rows", action="append", metavar="TEXT", help="only rows with this in their name; repeatable")
    what.add_argument("--batch", type=int, action="append", metavar="N", help="of networks; 1 and 8 if left out")
    what.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    what.add_argument("--threads", type=int, default=min(2, len(os.sched_getaffinity(0))))
    what.add_argument(
        "--peers", default=",".join(PEERS), metavar="A,B", help=f"of {', '.join(PEERS + EXTRA_PEERS)}; %(default)s"
    )
    what.add_argument("--plain-malloc", action="store_true",
                      help="let freed memory go back to the system, and page faults be paid for again in each run")
    how = parser.add_argument_group("how long")
    how.add_argument("--rounds", type=int, default=20, help="at most; %(default)s")
    how.add_argument("--block", type=float, default=0.03, metavar="S", help="of one runtime in a round; %(default)s")
    how.add_argument("--seconds", type=float, default=8, metavar="S",
                     help="for all rounds of a row, after three; %(default)s")
    how.add_argument("--stop-after", type=float, metavar="S", help="begin no row after this time; needs --json")
    out = parser.add_argument_group("results")
    out.add_argument("--json", type=pathlib.Path, metavar="FILE", help="keep every row here, and do not repeat those")
    out.add_argument("--redo", action="store_true", help="measure rows again that are kept already")
    out.add_argument("--show", action="store_true", help="measure nothing: print what --json has")
    out.add_argument("--bar", type=bar, action="append", default=[], metavar="[GROUP=]RATIO",
                     help="what the mean of a group has to reach; missing it makes the exit status 1")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="%(default)s")
    args = parser.parse_args()
    args.peers = ["tessera", *(name for name in args.peers.split(",") if name and name != "tessera")]
    unknown = set(args.peers) - {"tessera", *PEERS, *EXTRA_PEERS}
    if unknown:
        parser.error(f"there is no peer {', '.join(sorted(unknown))}")
    if (args.stop_after or args.show) and not args.json:
        parser.error("--stop-after and --show need --json FILE")
    if args.layers is None and args.networks is None and not args.startup:
        args.layers, args.networks = [], []
    args.startup |= args.all
    return args


class Progress:
    """One line on standard error that says what is going on."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def __call__(self, text):
        if self.shown:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def done(self, text):
        self("")
        print(text, file=sys.stderr, flush=True)


def waiting_s():
    """Seconds since the machine started in which something waited for a processor; 0 where Linux does not say."""
    try:
        return int(pathlib.Path("/proc/pressure/cpu").read_text().split("total=")[1].split()[0]) * 1e-6
    except (OSError, IndexError):
        return 0.0


def git_state():
    try:
        command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


class Results:
    """The rows so far, in a file if there is one."""

    def __init__(self, path):
        self.path = path
        self.content = {"schema": 1, "kind": "measured", "rows": [], "startup": []}
        if path and path.exists():
            self.content = json.loads(path.read_text())

    def find(self, row_key, part="rows"):
        return next((row for row in self.content[part] if row["key"] == row_key), None)

    def add(self, row, part="rows"):
        """In place of one with the same key."""
        self.content[part] = [kept for kept in self.content[part] if kept["key"] != row["key"]]
        self.content[part].append(row)
        if self.path:
            temporary = self.path.with_suffix(".part")
            temporary.write_text(json.dumps(self.content, indent=1) + "\n")
            temporary.replace(self.path)


def difference(ours, theirs):
    """The largest difference of any output, in parts of its largest value."""
    if len(ours) != len(theirs):
        raise PeerError(f"{len(theirs)} outputs instead of {len(ours)}")
    worst = 0.0
    for i, mine in ours.items():
        if mine.size != theirs[i].size:
            raise PeerError(f"output {i} has the shape {theirs[i].shape} instead of {mine.shape}")
        largest = float(numpy.abs(mine).max()) or 1.0
        largest_difference = float(numpy.abs(mine - theirs[i].reshape(mine.shape)).max())
        if math.isnan(largest_difference):
            raise PeerError(f"output {i} has values that are no numbers")
        worst = max(worst, largest_difference / largest)
    return worst


class Comparison:
    def __init__(self, args, folder, progress):
        self.args, self.folder, self.progress = args, folder, progress
        self.log = open(folder / "peers.log", "w", encoding="utf-8")
        self.peers, self.versions, self.missing = {}, {}, {}

    def peer(self, name):
        """Its process; started anew where an earlier row ended it."""
        if name in self.missing:
            raise PeerError(self.missing[name])
        if name not in self.peers or not self.peers[name].alive():
            again = name in self.peers
            try:
                keep = not self.args.plain_malloc
                self.peers[name] = Peer(name, self.args.threads, self.args.build, self.log, keep)
            except PeerError as error:
                if not again:
                    self.missing[name] = str(error)
                raise
            self.versions[name] = self.peers[name].version
        return self.peers[name]

    def load(self, name, case, results):
        output = self.folder / f"y_{name}.npz"
        peer = self.peer(name)
        told = peer.ask(do="load", model=str(case.model), input=str(case.input), dtype=self.args.dtype,
                        output=str(output))
        with numpy.load(output) as arrays:
            results[name] = {key: arrays[key] for key in arrays.files}
        output.unlink()
        if name != "tessera":
            told["difference"] = difference(results["tessera"], results.pop(name))
        return told

    def row(self, case, key):
        told, results, times, peaks = {}, {}, {}, []
        for name in self.args.peers:
            self.progress(f"{case.name}: {name} loads")
            try:
                told[name] = self.load(name, case, results)
                times[name] = []
            except PeerError as error:
                told[name] = {"error": str(error)}
                if name == "tessera":
                    raise
        results.clear()
        start, rounds, waited = time.monotonic(), 0, waiting_s()
        while times and rounds < self.args.rounds and (rounds < 3 or time.monotonic() - start < self.args.seconds):
            self.progress(f"{case.name}: round {rounds + 1} of {self.args.rounds}")
            peaks.append(self.peer("tessera").ask(do="peak", seconds=PEAK_S)["flop_per_s"])
            for name in list(times):
                try:
                    warm = told[name]["run_s"] < WARM_BELOW_S
                    times[name] += self.peer(name).ask(do="run", seconds=self.args.block, warm=warm)["times"]
                except PeerError as error:
                    told[name] = {"error": str(error)}
                    del times[name]
            rounds += 1
        waited = (waiting_s() - waited) / (time.monotonic() - start)
        peers = {}
        for name in self.args.peers:
            peers[name] = {k: told[name][k] for k in ("error", "difference", "load_s", "first_s") if k in told[name]}
            if of := times.get(name):
                peers[name].update(median_s=statistics.median(of), min_s=min(of), runs=len(of))
        flops = case.flops or told["tessera"].get("flops")
        return {"key": key, "name": case.name, "group": case.group, "dtype": self.args.dtype,
                "threads": self.args.threads, "flops": flops, "peak_flop_per_s": max(peaks), "rounds": rounds,
                "waited": waited, "versions": {n: v for n, v in self.versions.items() if n in peers},
                "state": git_state(), "peers": peers}

    def close(self):
        for peer in self.peers.values():
            peer.close()


def wanted_cases(args, folder):
    """Made one after the other, since large networks take their time."""
    program = args.build / "tessera"

    def wanted(name):
        return not args.rows or any(text in name for text in args.rows)

    if args.layers is not None:
        files = args.layers or [ROOT / file for file in cases.LAYER_FILES]
        for case in cases.layer_cases(program, files, folder, wanted):
            yield case.name, lambda case=case: case
    if args.networks is not None:
        for network in args.networks or cases.NETWORKS:
            for batch in args.batch or cases.BATCHES:
                if wanted(f"{network}_b{batch}"):
                    yield f"{network}_b{batch}", lambda n=network, b=batch: cases.network_case(program, n, b, folder)


def measure(args, results, folder):
    """Returns the rows that were asked for, and how many are still to be measured."""
    progress, start = Progress(), time.monotonic()
    comparison = Comparison(args, folder, progress)
    shown, left = [], 0
    todo = list(wanted_cases(args, folder))
    try:
        for number, (name, make) in enumerate(todo, start=1):
            key = f"{name} {args.dtype} {args.threads}" + (" plain malloc" if args.plain_malloc else "")
            row = None if args.redo else results.find(key)
            if row is None and args.stop_after and time.monotonic() - start > args.stop_after:
                left += 1
                continue
            if row is None:
                row = comparison.row(make(), key)
                results.add(row)
                to_best = rows.figure(rows.ratio(row, "median_s"))
                ours = rows.milliseconds(row["peers"]["tessera"])
                progress.done(f"[{number}/{len(todo)}] {name}: {ours} ms, ratio to the best {to_best}")
            shown.append(row)
    finally:
        progress("")
        comparison.close()
    return shown, left


def report(args, shown):
    """Prints the tables; True if every bar is met."""
    bars = dict(args.bar)
    peers = [peer for peer in args.peers if any(peer in row["peers"] for row in shown)]
    versions = {version for row in shown for version in row["versions"].values()}
    print(f"{args.dtype}, {args.threads} threads; {', '.join(sorted(versions))}\n")
    print(rows.table(shown, peers), "\n")
    print(rows.group_table(shown, peers, bars))
    remarks = rows.remarks(shown)
    if remarks:
        print("\n" + "\n".join(remarks))
    print("\nmeasured; a run is N C H W to N C H W; ratio: the best peer's time / Tessera's, above 1 Tessera is faster")
    return all("missed" not in line for line in rows.group_table(shown, peers, bars).splitlines())


def main():
    args = arguments()
    folder = ROOT / ".cache" / "peers"
    folder.mkdir(parents=True, exist_ok=True)
    if not (args.build / "bench/peers/tessera_peer_worker").exists():
        sys.exit(f"error: {args.build} has no bench/peers/tessera_peer_worker\nhint: make bench-peers")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no stopped process stays behind
    results = Results(args.json)
    met, left = True, 0
    if args.layers is not None or args.networks is not None:
        if args.show:
            shown = [row for row in results.content["rows"] if row["dtype"] == args.dtype]
            shown = [row for row in shown if not args.rows or any(text in row["name"] for text in args.rows)]
        else:
            shown, left = measure(args, results, folder)
        if shown:
            met = report(args, shown)
        if left:
            print(f"\n{left} rows are left: the same command goes on with them")
    if args.startup:
        startup.report(args, results, folder)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
