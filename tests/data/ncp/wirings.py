"""Prints the lines of wirings.txt: counts and digests of wirings made by ncps 1.0.1.

    pip install ncps==1.0.1 numpy torch
    python3 wirings.py
"""

import hashlib
import random

import numpy as np
from ncps.wirings import NCP, AutoNCP, FullyConnected, Random


def line(text, inputs, wiring):
    wiring.build(inputs)
    adjacency, sensory = wiring.adjacency_matrix.astype(np.int8), wiring.sensory_adjacency_matrix.astype(np.int8)
    digest = hashlib.sha256(adjacency.tobytes() + sensory.tobytes()).hexdigest()[:16]
    counts = [(adjacency != 0).sum(), (adjacency > 0).sum(), (sensory != 0).sum(), (sensory > 0).sum()]
    print(f"{text} | {inputs} | {', '.join(map(str, counts))} | {digest}")


def main():
    for arguments, inputs in [((10, 10, 8, 6, 6, 4, 6), 8), ((12, 6, 1, 4, 5, 6, 4), 7), ((12, 6, 1, 6, 4, 4, 6), 32)]:
        line(f"NCP({','.join(map(str, arguments))})", inputs, NCP(*arguments))
    line("NCP(8,4,2,1,1,1,1,seed=7)", 1, NCP(8, 4, 2, 1, 1, 1, 1, seed=7))
    line("AutoNCP(8,1)", 2, AutoNCP(8, 1))
    line("AutoNCP(16,4)", 8, AutoNCP(16, 4))
    line("AutoNCP(64,8,0.75,seed=3)", 20, AutoNCP(64, 8, 0.75, seed=3))
    line("FullyConnected(8,4)", 8, FullyConnected(8, 4))
    line("FullyConnected(32,self_connections=false)", 8, FullyConnected(32, self_connections=False))
    line("Random(16,sparsity=0.5,seed=1111)", 8, Random(16, sparsity_level=0.5, random_seed=1111))
    line("Random(128,sparsity=0.5)", 90, Random(128, sparsity_level=0.5))
    rng = random.Random(20261115)
    for _ in range(20):
        inter, command, motor = rng.randint(1, 30), rng.randint(1, 20), rng.randint(1, 10)
        arguments = (inter, command, motor, rng.randint(1, inter), rng.randint(1, command), rng.randint(0, 20), rng.randint(1, command))
        seed = rng.randrange(2**32)
        line(f"NCP({','.join(map(str, arguments))},{seed})", rng.randint(1, 40), NCP(*arguments, seed=seed))
    for _ in range(12):
        units = rng.randint(6, 120)
        arguments = (units, rng.randint(1, units - 3), round(rng.uniform(0.1, 1.0), 3), rng.randrange(2**32))
        line(f"AutoNCP({','.join(map(str, arguments))})", rng.randint(1, 40), AutoNCP(*arguments))
    for _ in range(8):
        units, sparsity, seed = rng.randint(1, 150), round(rng.uniform(0.0, 0.99), 3), rng.randrange(2**40)
        line(f"Random({units},None,{sparsity},{seed})", rng.randint(1, 100), Random(units, None, sparsity, seed))
    for _ in range(4):
        units, seed = rng.randint(1, 40), rng.randrange(2**40)
        line(f"FullyConnected({units},None,{seed})", rng.randint(1, 20), FullyConnected(units, None, seed))


if __name__ == "__main__":
    main()
