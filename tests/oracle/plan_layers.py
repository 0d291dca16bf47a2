#!/usr/bin/env python3
"""Plans networks for cards, writes each plan as a TTNN script and lets the real ttnn, on a mocked card, say what it
thinks of every layer. Needs the built `tessera` and a Python with ttnn 0.81.1 (its compiler may be a stand-in: nothing
is dispatched).

    plan_layers.py [--tessera build/tessera] [--python PYTHON] [--clusters DIR] [--folder DIR] [MODEL[:BATCH] ...]

CLUSTERS has a description of each board: n150.yaml, p150.yaml. Without models: the whole zoo. Prints a line for each
plan, and at the end how many layers of how many plans were accepted, and how many peaks of L1 were as planned. Exits
with 1 if a layer was refused.
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
CARDS = {"n150": "wormhole_n150", "p150": "blackhole_p150"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", default="build/tessera")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--clusters", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("plan_layers"))
    parser.add_argument("--cards", default="n150,p150")
    parser.add_argument("models", nargs="*", default=ZOO)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    plans = accepted = layers = same = measured = 0
    for card in given.cards.split(","):
        quiet = {"TT_LOGGER_LEVEL": "fatal", "TT_METAL_LOGGER_LEVEL": "FATAL", "LOGURU_LEVEL": "ERROR"}
        mock = {"TT_METAL_MOCK_CLUSTER_DESC_PATH": str((given.clusters / f"{card}.yaml").resolve()),
                "TT_METAL_LOGS_PATH": str(given.folder.resolve())}  # fmt: skip
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
            if told is None:
                print(f"{name}: failed with {done.returncode}: see {name}.log", flush=True)
                layers += 1
                continue
            plans += 1
            accepted += int(told[1])
            layers += int(told[2])
            if peaks:
                same += int(peaks[1])
                measured += int(peaks[2])
            print(f"{name}: {told[0]}, {peaks[0] if peaks else 'no peaks'}", flush=True)
    print(f"{accepted} of {layers} layers of {plans} plans accepted, {same} of {measured} peaks of L1 as planned")
    return 0 if accepted == layers else 1


if __name__ == "__main__":
    sys.exit(main())
