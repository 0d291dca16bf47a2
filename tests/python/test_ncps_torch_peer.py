"""tessera.ncps.torch beside ncps itself: the same seed, the same numbers. Wants PyTorch and ncps: make test-torch.

TESSERA_LAYERS=1000 says how many random layers (100).
"""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch brings it")
theirs = pytest.importorskip("ncps.torch", reason="ncps is not installed: make test-torch brings it")

import ncps  # noqa: E402

from tessera.ncps import torch as ours  # noqa: E402
from tessera.ncps import wirings  # noqa: E402


def random_layer(random, number):
    """Makers of one layer by ours and by theirs, its inputs, and whether it starts from a pair of states."""
    inputs, units = int(random.integers(1, 9)), int(random.integers(2, 33))
    options = {
        "return_sequences": bool(random.integers(2)),
        "batch_first": bool(random.integers(2)),
        "mixed_memory": bool(random.integers(2)),
    }
    wired = random.integers(2) and units >= 6
    what = {}
    for name, library in (("ours", wirings), ("theirs", ncps.wirings)):
        what[name] = library.AutoNCP(units, 1 + units // 8, seed=number) if wired else units
    if random.integers(3) == 0:
        options |= {"ode_unfolds": int(random.integers(1, 7)), "implicit_param_constraints": bool(random.integers(2))}
        kind = "LTC"
    else:
        kind = "CfC"
        options |= {"mode": str(random.choice(["default", "pure", "no_gate"])), "proj_size": [None, 3][random.integers(2)]}
        if not wired:
            options |= {
                "activation": str(random.choice(["lecun_tanh", "silu", "relu", "tanh", "gelu"])),
                "backbone_layers": int(random.integers(0, 3)),
                "backbone_units": int(random.integers(1, 65)),
            }
    makers = [
        lambda: getattr(ours, kind)(inputs, what["ours"], **options),
        lambda: getattr(theirs, kind)(inputs, what["theirs"], **options),
    ]
    return makers, inputs, options, bool(wired)


def test_random_layers_begin_compute_and_learn_alike():
    worst = {"output": 0.0, "gradient": 0.0}
    for number in range(int(os.environ.get("TESSERA_LAYERS", "100"))):
        random = np.random.default_rng(number)
        makers, inputs, options, wired = random_layer(random, number)
        layers = []
        for make in makers:
            torch.manual_seed(number)
            layers.append(make())
        mine, other = layers
        assert [name for name, _ in mine.named_parameters()] == [name for name, _ in other.named_parameters()]
        for (name, a), (_, b) in zip(mine.named_parameters(), other.named_parameters(), strict=True):
            assert torch.equal(a, b) and a.requires_grad == b.requires_grad, name
        other = other.double()
        # Theirs takes timespans right in two forms: one for each unit, and those of one sample.
        batch, steps = 1 if wired else int(random.integers(2, 6)), int(random.integers(1, 8))
        lead = (batch, steps) if options["batch_first"] else (steps, batch)
        x = torch.randn(*lead, inputs)
        times = torch.rand(*lead) + 0.5
        if not wired:
            times = times[..., None].repeat(1, 1, mine.state_size)
        found, wanted = [], []
        for layer, dtype, out in ((mine, torch.float32, found), (other, torch.float64, wanted)):
            given = [each.to(dtype, copy=True).requires_grad_() for each in (x, times)]
            states = [torch.zeros(batch, mine.state_size, dtype=dtype, requires_grad=True) for _ in range(2)]
            hx = tuple(states) if options["mixed_memory"] else states[0]
            output, new = layer(given[0], hx, timespans=given[1])
            results = [output, *(new if isinstance(new, tuple) else [new])]
            sum((each * (i + 1)).sin().sum() for i, each in enumerate(results)).backward()
            parameters = [each for each in layer.parameters() if each.requires_grad]
            used = [*given, *(states if options["mixed_memory"] else states[:1]), *parameters]
            out += [(each.detach(), "output") for each in results]
            out += [(torch.zeros_like(each) if each.grad is None else each.grad, "gradient") for each in used]
        for (a, kind), (b, _) in zip(found, wanted, strict=True):
            off = float((a.double() - b).abs().max() / max(1.0, float(b.abs().max())))
            worst[kind] = max(worst[kind], off)
            assert off <= {"output": 2e-6, "gradient": 5e-6}[kind], (number, options, kind, off)
    print(worst)
