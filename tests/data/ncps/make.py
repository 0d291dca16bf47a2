"""Makes random.safetensors beside this file with ncps 1.0.1 and PyTorch: layers with random arguments, their parameters,
inputs and outputs, all in float32; arguments as metadata.

    pip install ncps==1.0.1 numpy torch safetensors
    python3 make.py
"""

import json
import pathlib
import random

import ncps.wirings
import torch
from ncps.torch import CfC, LTC
from safetensors.torch import save_file

CASES = 40


def wiring(draw):
    kind = draw.choice(["AutoNCP", "NCP", "FullyConnected", "Random"])
    return kind, {
        "AutoNCP": lambda: [draw.randint(7, 14), draw.randint(1, 3), draw.choice([0.2, 0.5, 0.8]), draw.randint(0, 9999)],
        "NCP": lambda: [draw.randint(4, 6), draw.randint(3, 4), draw.randint(1, 3), draw.randint(1, 4), draw.randint(1, 3), draw.randint(0, 4), draw.randint(1, 3), draw.randint(0, 9999)],
        "FullyConnected": lambda: [draw.randint(2, 7), None, draw.randint(0, 9999), draw.choice([True, False])],
        "Random": lambda: [draw.randint(3, 8), None, draw.choice([0.0, 0.3, 0.7]), draw.randint(0, 9999)],
    }[kind]()  # fmt: skip


def layer(draw):
    kind, wired = draw.choice(["CfC", "LTC"]), draw.random() < 0.6
    options = {
        "return_sequences": draw.random() < 0.7,
        "batch_first": draw.random() < 0.7,
        "mixed_memory": draw.random() < 0.3,
    }
    if kind == "CfC":
        options |= {"mode": draw.choice(["default", "pure", "no_gate"]), "proj_size": draw.choice([None, 2])}
        if not wired:
            options |= {
                "activation": draw.choice(["lecun_tanh", "silu", "relu", "tanh", "gelu"]),
                "backbone_units": draw.randint(2, 9),
                "backbone_layers": draw.randint(0, 3),
            }
    else:
        options |= {
            "ode_unfolds": draw.randint(1, 7),
            "input_mapping": draw.choice(["affine", "linear", None]),
            "output_mapping": draw.choice(["affine", "linear", None]),
            "implicit_param_constraints": draw.random() < 0.5,
        }
    return {"kind": kind, "inputs": draw.randint(1, 5), "units": wiring(draw) if wired else draw.randint(2, 7), "options": options}


def main():
    torch.set_num_threads(1)
    torch.manual_seed(11)
    draw = random.Random(11)
    cases, tensors = [], {}
    for i in range(CASES):
        case = layer(draw)
        units = case["units"]
        made = units if isinstance(units, int) else getattr(ncps.wirings, units[0])(*units[1])
        model = (CfC if case["kind"] == "CfC" else LTC)(case["inputs"], made, **case["options"])
        batch, steps = draw.randint(1, 4), draw.randint(1, 5)
        leading = (batch, steps) if case["options"]["batch_first"] else (steps, batch)
        x, h, c = torch.randn(*leading, case["inputs"]), torch.randn(batch, model.state_size), torch.randn(batch, model.state_size)
        # Upstream's only batched form is (batch, steps, units), and that not for a wired CfC.
        one = case["kind"] == "CfC" and not isinstance(units, int)
        ts = 0.1 + 2 * torch.rand(*leading, 1 if one else model.state_size)
        mixed = case["options"]["mixed_memory"]
        case["timespans"] = draw.random() < 0.7
        with torch.no_grad():
            if one and case["timespans"]:  # sample by sample
                axis = 0 if case["options"]["batch_first"] else 1
                parts = []
                for b in range(batch):
                    pick = lambda v: v[b : b + 1] if axis == 0 else v[:, b : b + 1]  # noqa: B023, E731
                    parts.append(model(pick(x), (h[b : b + 1], c[b : b + 1]) if mixed else h[b : b + 1], pick(ts)))
                output = torch.cat([p[0] for p in parts], dim=axis if case["options"]["return_sequences"] else 0)
                state = torch.cat([p[1][0] if mixed else p[1] for p in parts])
            else:
                output, state = model(x, (h, c) if mixed else h, ts if case["timespans"] else None)
                state = state[0] if mixed else state
        own = {"input": x, "h": h, "output": output, "state": state}
        own |= {"c": c} if mixed else {}
        own |= {"timespans": ts} if case["timespans"] else {}
        own |= {f"parameters.{key}": value for key, value in model.state_dict().items()}
        tensors |= {f"{i}.{key}": value.detach().clone().contiguous() for key, value in own.items()}
        cases.append(case)
    path = pathlib.Path(__file__).resolve().parent / "random.safetensors"
    save_file(tensors, path, metadata={"cases": json.dumps(cases)})
    print(f"{CASES} cases with torch {torch.__version__}, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
