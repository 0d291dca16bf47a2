#!/usr/bin/env python3
"""The task `xor` of `tessera ncp train`, trained by ncps with PyTorch: what an epoch takes, from some of its batches.

    python3 train_ncps.py [--mixed-memory] [--batches 10] [--threads 2]

ncps takes times of a batch only as (batch, steps, units), so they are repeated for each unit. A batch is as long as its
longest sequence; shorter ones are read out at their own last step.
"""

import argparse
import time

import numpy as np
import torch
from ncps.torch import CfC

STREAMS, STEPS, BATCH = 100_000, 32, 128


def draw(streams, seed=1234984):
    """Events, elapsed times, numbers of events and labels, as the CfC paper draws them."""
    random = np.random.RandomState(seed)
    events, elapsed = np.zeros((streams, STEPS), np.float32), np.zeros((streams, STEPS), np.float32)
    counts, labels = np.zeros(streams, np.int64), np.zeros(streams, np.int64)
    for s in range(streams):
        last, since, count = -1, 0, 0
        for bit in random.randint(0, 2, size=random.randint(2, STEPS)):
            labels[s] ^= bit
            since += 1
            if bit != last:
                events[s, count], elapsed[s, count] = bit, since / STEPS
                last, since, count = bit, 0, count + 1
        if since > 0:
            events[s, count], elapsed[s, count] = last, since / STEPS
            count += 1
        counts[s] = count
    return events, elapsed, counts, labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--mixed-memory", action="store_true")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    units = 64 if options.mixed_memory else 192
    model = CfC(1, units, proj_size=2, mixed_memory=options.mixed_memory, activation="relu")
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.005, alpha=0.9, eps=1e-7)
    events, elapsed, counts, labels = draw(BATCH * (options.batches + 1))
    start = None
    for b in range(options.batches + 1):
        if b == 1:  # the first is not counted
            start = time.perf_counter()
        at = slice(b * BATCH, (b + 1) * BATCH)
        steps = int(counts[at].max())
        x = torch.from_numpy(events[at, :steps, None])
        times = torch.from_numpy(elapsed[at, :steps, None]).expand(-1, -1, units)
        y = model(x, timespans=times)[0][torch.arange(BATCH), torch.from_numpy(counts[at]) - 1]
        loss = torch.nn.functional.cross_entropy(y, torch.from_numpy(labels[at]))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    seconds = (time.perf_counter() - start) / options.batches
    print(f"{units} units{', mixed memory' if options.mixed_memory else ''}: {seconds * 1e3:.1f} ms a batch, "
          f"{seconds * STREAMS / BATCH:.1f} s an epoch of {STREAMS} sequences, {BATCH / seconds:.0f} samples/s")


if __name__ == "__main__":
    main()
