#!/usr/bin/env python3
"""Bit-stream XOR: a CfC reads runs of equal bits, each with the time it lasted, and tells the parity of all bits.

    PYTHONPATH=build/python python3 examples/xor.py [--bits 12] [--samples 4000] [--epochs 60]

A small form of the task of the CfC paper, which `tessera ncp train --task xor` has in full.
"""

import argparse

import numpy as np

from tessera.ncps import CfC


def streams(count, bits, seed):
    """Runs as events: the bit, how long it lasted, how many runs there are, and the parity."""
    random = np.random.default_rng(seed)
    x, elapsed = np.zeros((count, bits, 1), np.float32), np.zeros((count, bits), np.float32)
    lengths, parity = np.zeros(count, np.int32), np.zeros(count, np.int64)
    for i in range(count):
        stream = random.integers(0, 2, random.integers(2, bits + 1))
        parity[i] = stream.sum() % 2
        edges = np.flatnonzero(np.diff(stream)) + 1
        begins = np.concatenate(([0], edges))
        runs = np.diff(np.concatenate((begins, [len(stream)])))
        lengths[i] = len(begins)
        x[i, : len(begins), 0] = stream[begins]
        elapsed[i, : len(begins)] = runs / bits
    return x, parity, elapsed, lengths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bits", type=int, default=12)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--epochs", type=int, default=60)
    given = parser.parse_args()
    x, y, elapsed, lengths = streams(given.samples, given.bits, 1)
    test = streams(1000, given.bits, 2)
    model = CfC(1, 48, proj_size=2, return_sequences=False, activation="relu", backbone_units=64, seed=1)

    def progress(report):
        if report["epoch"] % 10 == 0:
            print(f"epoch {report['epoch']}: loss {report['loss']:.4f}, accuracy {report['accuracy']:.3f}, {report['samples_per_second']:.0f}/s")

    model.fit(
        x, y, timespans=elapsed, lengths=lengths, loss="cross_entropy", epochs=given.epochs, batch_size=64,
        learning_rate=0.005, optimizer="adam", schedule="cosine", clip_norm=1.0, on_epoch=progress, seed=3,
    )  # fmt: skip
    found = model.evaluate(*test[:2], timespans=test[2], lengths=test[3], loss="cross_entropy")
    print(f"test accuracy {found['accuracy']:.3f} after {given.epochs} epochs")


if __name__ == "__main__":
    main()
