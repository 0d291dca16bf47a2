"""From nothing to the first result, and the most memory on the way: each in a fresh process, several times."""

import os
import statistics
import subprocess
import time

import cases
import rows
from processes import Peer, PeerError

NETWORK = "resnet50"
PROCESSES = 5
# Sums of what its process does; `tessera run` is a whole program.
COMMAND = "tessera run"


def run_command(args, case):
    """Seconds and KiB of the command from its start to its end."""
    command = [args.build / "tessera", "run", case.model, "--input", f"x={case.input}", "--quiet", "--threads",
               args.threads, "--dtype", args.dtype]
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise PeerError(f"it ended with status {process.returncode}")
    # Linux counts the memory of who started it too: this process has less than any network needs.
    return {"first_s": time.perf_counter() - start, "after_kib": usage.ru_maxrss, "before_kib": 0}


def run_peer(args, case, name, log):
    peer = Peer(name, args.threads, args.build, log, keep_memory=False)
    try:
        return peer.ask(do="load", model=str(case.model), input=str(case.input), dtype=args.dtype)
    finally:
        peer.close()


def measure(args, folder):
    case = cases.network_case(args.build / "tessera", NETWORK, 1, folder)
    names = [COMMAND, *dict.fromkeys(["tessera", "tessera-python", *args.peers])]
    found, reasons = {name: [] for name in names}, {}
    with open(folder / "peers.log", "a", encoding="utf-8") as log:
        for number in range(PROCESSES + 1):  # the first brings files into memory and is not counted
            for name in names:
                if name in reasons:
                    continue
                try:
                    told = run_command(args, case) if name == COMMAND else run_peer(args, case, name, log)
                    if number > 0:
                        found[name].append(told)
                except PeerError as error:
                    reasons[name] = str(error)
    out = []
    for name in names:
        row = {"name": name}
        if name in reasons:
            row["error"] = reasons[name]
        else:
            for key in ("load_s", "first_s", "before_kib", "after_kib"):
                if all(key in told for told in found[name]):
                    row[key] = statistics.median(told[key] for told in found[name])
        out.append(row)
    return out


def report(args, results, folder):
    key = f"{NETWORK} {args.dtype} {args.threads}"
    kept = results.find(key, "startup")
    if kept is None and not args.show:
        kept = {"key": key, "rows": measure(args, folder)}
        results.add(kept, "startup")
    if kept is None:
        return
    lines = [["ms and MiB", "load and plan", "with the first run", "most memory", "before loading", "more"]]
    for row in kept["rows"]:
        if "error" in row:
            lines.append([row["name"], "-", "-", "-", "-", "-"])
            continue
        memory = [row["after_kib"] / 1024, row["before_kib"] / 1024, (row["after_kib"] - row["before_kib"]) / 1024]
        load = rows.figure(row["load_s"] * 1e3, 1) if "load_s" in row else "-"
        lines.append([row["name"], load, rows.figure(row["first_s"] * 1e3, 1), *(f"{mib:.1f}" for mib in memory)])
    print(f"\n{NETWORK}, batch 1, {args.dtype}, {args.threads} threads, fresh processes (medians of {PROCESSES})\n")
    print(rows.aligned(lines))
    for row in kept["rows"]:
        if "error" in row:
            print(f"{row['name']}: {row['error']}")
    print(f"\nmeasured; '{COMMAND}' is the whole program from start to end; the others have their imports behind them")
