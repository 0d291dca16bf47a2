#!/usr/bin/env python3
"""Plans networks for cards, writes each plan as a TTNN script and lets the real ttnn, on a mocked card, say what it
thinks of every layer. Needs the built `tessera` and a Python with ttnn 0.81.1 (its compiler may be a stand-in: nothing
is dispatched).

    plan_layers.py [--tessera build/tessera] [--python PYTHON] [--clusters DIR] [--folder DIR] [MODEL[:BATCH] ...]

CLUSTERS has a description of each board: n150.yaml, n300.yaml, p100.yaml, p150.yaml; those beside this script will do. Without
models: the whole zoo.
Every step is tried in the order of the plan on what the steps before it left: layers, and the moves between them. Prints
a line for each plan; then for each kind of step how many were tried, accepted, found with the peak of L1 that was planned,
with their result where it was planned, and the largest difference of peaks in bytes. Exits with 1 if a step was refused.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

ZOO = [
    "resnet18", "resnet50", "resnet50:16", "mobilenet_v2", "vgg16", "unet", "vanilla_unet", "shallow_unet",
    "efficientnet_like", "yolo_like",
]  # fmt: skip
# An n300 dispatches from Ethernet cores and has 8x8 others. A mocked one says so too, but holds the programs of newer operators
# against the 8x7 of a card that dispatches from Tensix cores (tt-metal#54475), unless the host launches programs itself.
MOCK = {"n300": {"TT_METAL_SLOW_DISPATCH_MODE": "1"}}
CARDS = {"n150": "wormhole_n150", "n300": "wormhole_n300", "p100": "blackhole_p100", "p150": "blackhole_p150"}


class Kinds:
    """What a script's lines say about its steps, kind by kind."""

    def __init__(self):
        self.rows = {}

    def row(self, kind):
        return self.rows.setdefault(kind, {"tried": 0, "accepted": 0, "peak": 0, "elsewhere": 0, "worst": 0})

    def take(self, text):
        for line in text.splitlines():
            if found := re.match(r".* \((\w+)\): L1 (\d+) B planned, (\d+) B found", line):
                row, difference = self.row(found[1]), int(found[3]) - int(found[2])
                row["tried"] += 1
                row["accepted"] += 1
                row["peak"] += difference == 0
                row["worst"] = max(row["worst"], difference, key=abs)
            elif found := re.match(r".* \((\w+)\): refused: ", line):
                self.row(found[1])["tried"] += 1
            elif found := re.match(r".* \((\w+)\): its result lies elsewhere", line):
                self.row(found[1])["elsewhere"] += 1

    def table(self):
        lines = [f"{'kind':<18} {'tried':>6} {'accepted':>9} {'peak equal':>11} {'place equal':>12} {'worst difference':>17}"]
        total = {key: sum(row[key] for row in self.rows.values()) for key in ("tried", "accepted", "peak", "elsewhere")}
        total["worst"] = max((row["worst"] for row in self.rows.values()), key=abs, default=0)
        for kind, row in [*sorted(self.rows.items(), key=lambda each: -each[1]["tried"]), ("all", total)]:
            lines.append(f"{kind:<18} {row['tried']:>6} {row['accepted']:>9} {row['peak']:>11} "
                         f"{row['accepted'] - row['elsewhere']:>12} {row['worst']:>15} B")  # fmt: skip
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", default="build/tessera")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--clusters", type=pathlib.Path, default=pathlib.Path(__file__).parent / "clusters")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("plan_layers"))
    parser.add_argument("--cards", default="n150,p150,p100,n300")
    parser.add_argument("models", nargs="*", default=ZOO)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    plans = failed = 0
    kinds = Kinds()
    for card in given.cards.split(","):
        quiet = {"TT_LOGGER_LEVEL": "fatal", "TT_METAL_LOGGER_LEVEL": "FATAL", "LOGURU_LEVEL": "ERROR"}
        mock = {"TT_METAL_MOCK_CLUSTER_DESC_PATH": str((given.clusters / f"{card}.yaml").resolve()),
                "TT_METAL_LOGS_PATH": str(given.folder.resolve()), **MOCK.get(card, {})}  # fmt: skip
        for each in given.models:
            model, _, batch = each.partition(":")
            name = f"{model}_b{batch or 1}_{card}"
            script = given.folder / f"{name}.py"
            command = [given.tessera, "plan", model, "--batch", batch or "1", "--device", CARDS[card],
                       "--emit", "ttnn", str(script), "--quiet", "--format", "csv"]  # fmt: skip
            planned = subprocess.run(command, capture_output=True, text=True)
            if planned.returncode:
                print(f"{name}: no plan: {planned.stderr.strip().splitlines()[0] if planned.stderr else ''}", flush=True)
                continue
            done = subprocess.run([given.python, script.name], cwd=given.folder, capture_output=True, text=True,
                                  env={**os.environ, **quiet, **mock})  # fmt: skip
            (given.folder / f"{name}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
            told = re.search(r"(\d+) of (\d+) layers accepted", done.stdout)
            peaks = re.search(r"(\d+) of (\d+) peaks of L1 as planned", done.stdout)
            failed += done.returncode != 0
            if told is None:
                print(f"{name}: failed with {done.returncode}: see {name}.log", flush=True)
                continue
            plans += 1
            kinds.take(done.stdout)
            print(f"{name}: {told[0]}, {peaks[0] if peaks else 'no peaks'}", flush=True)
    print(kinds.table())
    print(f"{plans - failed} of {plans} plans accepted whole")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
