#!/usr/bin/env python3
"""A model of ncps for PyTorch run here, and one from here run there: the same outputs.

    PYTHONPATH=build/python python3 examples/weights_from_and_to_pytorch.py

Needs torch and ncps; says so and stops where they are missing.
"""

import sys

import numpy as np

import tessera.ncps as here
from tessera.ncps import wirings


def main():
    try:
        import ncps.torch as upstream
        import ncps.wirings as upstream_wirings
        import torch
    except ImportError as error:
        print(f"skipped: {error}; pip install torch ncps")
        return 0
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    x = random.standard_normal((8, 16, 5), dtype=np.float32)
    elapsed = random.uniform(0.2, 2, (8, 16)).astype(np.float32)
    pairs = [
        ("CfC(5, 32)", upstream.CfC(5, 32), here.CfC(5, 32)),
        ("CfC over NCP", upstream.CfC(5, upstream_wirings.NCP(12, 6, 2, 6, 4, 4, 6)), here.CfC(5, wirings.NCP(12, 6, 2, 6, 4, 4, 6))),
        ("LTC over AutoNCP", upstream.LTC(5, upstream_wirings.AutoNCP(20, 3)), here.LTC(5, wirings.AutoNCP(20, 3))),
        ("CfC, mixed memory", upstream.CfC(5, 12, mixed_memory=True, proj_size=3), here.CfC(5, 12, mixed_memory=True, proj_size=3)),
    ]
    for name, theirs, ours in pairs:
        ours.load_state_dict(theirs.state_dict())
        # One sample at a time, which is where upstream's timespans of (batch, steps) work.
        with torch.no_grad():
            wanted = [theirs(torch.from_numpy(x[b : b + 1]), timespans=torch.from_numpy(elapsed[b : b + 1]))[0] for b in range(8)]
        there = np.abs(ours(x, timespans=elapsed)[0] - torch.cat(wanted).numpy()).max()

        fresh = type(ours).from_config(ours.get_config())
        theirs.load_state_dict({key: torch.from_numpy(array) for key, array in fresh.state_dict().items()})
        with torch.no_grad():
            wanted = theirs(torch.from_numpy(x))[0].numpy()
        back = np.abs(fresh(x)[0] - wanted).max()
        print(f"{name}: from PyTorch {there:.1e}, to PyTorch {back:.1e}")
        assert max(there, back) < 1e-5
    return 0


if __name__ == "__main__":
    sys.exit(main())
