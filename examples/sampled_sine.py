#!/usr/bin/env python3
"""Prints a table for `tessera ncp train --task csv:FILE`: a sine sampled at irregular times, and what it is 5 units later.

    python3 examples/sampled_sine.py > signal.csv
"""

import math
import random

random.seed(1)
time = 0.0
print("x,elapsed,target")
for _ in range(2000):
    elapsed = random.uniform(0.5, 1.5)
    time += elapsed
    print(f"{math.sin(time / 10):.5f},{elapsed:.5f},{math.sin((time + 5) / 10):.5f}")
