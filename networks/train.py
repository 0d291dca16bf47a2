#!/usr/bin/env python3
"""Trains the networks that come with Tessera, and writes them beside this file. The same seed gives the same data and
the same first weights; results differ by rounding between machines.

    make train-networks                      # or: networks/train.py [digits] [shapes] [--output FOLDER]
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "training"))

import digits  # noqa: E402
import shapes  # noqa: E402

NETWORKS = {"digits": digits, "shapes": shapes}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; otherwise all")
    parser.add_argument("--output", type=pathlib.Path, default=HERE, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NETWORKS)
    if unknown:
        parser.error(f"there is no network {', '.join(sorted(unknown))}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or NETWORKS:
        trained, accuracy = NETWORKS[name].train(arguments.seed)
        path = arguments.output / f"{name}.onnx"
        NETWORKS[name].save(path, trained, accuracy)
        print(f"{name}: {path}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
