"""Makes the golden cases beside this file with ncps 1.0.1 and PyTorch: for each a safetensors file with parameters,
inputs, outputs and gradients in float64, the outputs in float32, and the layer's description as metadata.

    pip install ncps==1.0.1 numpy torch safetensors
    python3 make.py [NAME...]

The loss is the sum of each output and final state times a random weight, which is stored as its gradient.
"""

import json
import pathlib
import sys

import ncps.wirings
import torch
from ncps.torch import CfC, LTC
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).resolve().parent
WIRINGS = {
    "NCP": ncps.wirings.NCP,
    "AutoNCP": ncps.wirings.AutoNCP,
    "FullyConnected": ncps.wirings.FullyConnected,
    "Random": ncps.wirings.Random,
}

NCP_19 = {
    "type": "NCP",
    "inter_neurons": 5,
    "command_neurons": 4,
    "motor_neurons": 2,
    "sensory_fanout": 3,
    "inter_fanout": 2,
    "recurrent_command_synapses": 3,
    "motor_fanin": 3,
    "seed": 7,
}
AUTO = {"type": "AutoNCP", "units": 10, "output_size": 2, "sparsity_level": 0.5, "seed": 22222}
RANDOM = {"type": "Random", "units": 6, "output_dim": 2, "sparsity_level": 0.4, "random_seed": 3}

# name: (layer, batch, steps, what is given). Batch 0 means input without a batch dimension.
CASES = {
    "cfc_default": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5]}, 2, 4, {"hx", "timespans"}),
    "cfc_plain": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5]}, 2, 3, set()),
    "cfc_silu_2": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5, 5], "activation": "silu"}, 2, 3, {"timespans"}),
    "cfc_relu_3": ({"type": "CfC", "input_size": 2, "units": 3, "backbone_units": [6, 6, 6], "activation": "relu"}, 1, 3, {"hx"}),
    "cfc_tanh": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5], "activation": "tanh"}, 2, 3, {"hx"}),
    "cfc_gelu": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5], "activation": "gelu"}, 2, 3, {"hx"}),
    "cfc_no_backbone": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": []}, 2, 3, {"hx", "timespans"}),
    "cfc_pure": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5], "mode": "pure"}, 2, 4, {"hx", "timespans"}),
    "cfc_no_gate": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5], "mode": "no_gate"}, 2, 3, {"timespans"}),
    "cfc_mixed": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5], "mixed_memory": True}, 2, 4, {"hx", "timespans"}),
    "cfc_projected": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5], "proj_size": 2}, 2, 3, {"hx"}),
    "cfc_last": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5], "proj_size": 2, "return_sequences": False}, 2, 3, set()),
    "cfc_time_first": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5], "batch_first": False}, 2, 4, {"hx", "timespans"}),
    "cfc_unbatched": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5]}, 0, 4, {"hx"}),
    "cfc_wired_ncp": ({"type": "CfC", "input_size": 3, "wiring": NCP_19}, 2, 4, {"hx", "timespans"}),
    "cfc_wired_auto": ({"type": "CfC", "input_size": 3, "wiring": AUTO, "mixed_memory": True, "proj_size": 3}, 2, 3, {"hx"}),
    "cfc_wired_random": ({"type": "CfC", "input_size": 3, "wiring": RANDOM, "mode": "no_gate"}, 2, 3, {"hx"}),
    "cfc_wired_pure": ({"type": "CfC", "input_size": 3, "wiring": AUTO, "mode": "pure"}, 2, 3, {"timespans"}),
    "ltc_full": ({"type": "LTC", "input_size": 3, "units": 4}, 2, 3, {"hx", "timespans"}),
    "ltc_ncp": ({"type": "LTC", "input_size": 3, "wiring": NCP_19}, 2, 3, {"hx", "timespans"}),
    "ltc_explicit": ({"type": "LTC", "input_size": 3, "wiring": AUTO, "implicit_param_constraints": False}, 2, 3, {"hx"}),
    "ltc_linear": ({"type": "LTC", "input_size": 3, "wiring": RANDOM, "input_mapping": "linear", "output_mapping": "none"}, 2, 3, set()),
    "ltc_unmapped": ({"type": "LTC", "input_size": 3, "units": 3, "input_mapping": "none", "output_mapping": "linear", "ode_unfolds": 2}, 2, 3, {"hx"}),
    "ltc_mixed": ({"type": "LTC", "input_size": 3, "wiring": AUTO, "mixed_memory": True}, 2, 3, {"hx", "timespans"}),
    "ltc_last": ({"type": "LTC", "input_size": 3, "wiring": AUTO, "return_sequences": False, "batch_first": False}, 2, 3, {"timespans"}),
    "cfc_unit_times": ({"type": "CfC", "input_size": 3, "units": 4, "backbone_units": [5]}, 3, 3, {"hx", "unit_timespans"}),
    "ltc_unit_times": ({"type": "LTC", "input_size": 3, "wiring": AUTO}, 3, 3, {"hx", "unit_timespans"}),
    "ltc_unbatched": ({"type": "LTC", "input_size": 3, "wiring": AUTO}, 0, 3, {"hx"}),
}


def build(layer):
    arguments = dict(layer)
    kind, inputs = arguments.pop("type"), arguments.pop("input_size")
    if "wiring" in arguments:
        wiring = dict(arguments.pop("wiring"))
        units = WIRINGS[wiring.pop("type")](**wiring)
    else:
        units = arguments.pop("units")
    if "backbone_units" in arguments:
        widths = arguments.pop("backbone_units")
        arguments |= {"backbone_units": widths[0] if widths else 0, "backbone_layers": len(widths)}
    return (CfC if kind == "CfC" else LTC)(inputs, units, **arguments)


def make(name, layer, batch, steps, given):
    # Not hash(), which differs from run to run.
    torch.manual_seed(sum(ord(c) * 31**i for i, c in enumerate(name)) % 2**31)
    model = build(layer).double()
    with torch.no_grad():  # no parameter keeps a value that hides a mistake
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += 0.1 * torch.randn_like(parameter)
    state = model.state_size
    batch_first = layer.get("batch_first", True)
    count = max(batch, 1)
    shape = (count, steps) if batch_first else (steps, count)
    x = torch.randn(*shape, layer["input_size"], dtype=torch.float64)
    ts = (0.2 + 2 * torch.rand(*shape, dtype=torch.float64)) if "timespans" in given else None
    if "unit_timespans" in given:
        ts = 0.2 + 2 * torch.rand(*shape, state, dtype=torch.float64)
    h = torch.randn(count, state, dtype=torch.float64) * 0.5 if "hx" in given else torch.zeros(count, state, dtype=torch.float64)
    c = torch.randn(count, state, dtype=torch.float64) * 0.5 if "hx" in given else torch.zeros(count, state, dtype=torch.float64)
    mixed = layer.get("mixed_memory", False)
    for leaf in (x, h, c):
        leaf.requires_grad_()

    def run(module, x, h, c, spans):
        # One sample at a time: upstream gives timespans of (batch, steps) a meaning only where the batch is 1.
        pieces = []
        for b in range(count):
            pick = (lambda v: v[b : b + 1]) if batch_first else (lambda v: v[:, b : b + 1])
            hx = (h[b : b + 1], c[b : b + 1]) if mixed else h[b : b + 1]
            pieces.append(module(pick(x), hx, None if spans is None else pick(spans)))
        sequences = layer.get("return_sequences", True)
        output = torch.cat([p[0] for p in pieces], dim=0 if batch_first or not sequences else 1)
        last = torch.cat([p[1][0] if mixed else p[1] for p in pieces])
        memory = torch.cat([p[1][1] for p in pieces]) if mixed else None
        return output, last, memory

    if batch == 0:
        hx = (h[0], c[0]) if mixed else h[0]
        output, last = model(x[0], hx)
        output, last, memory = output[None], last[None], None
    else:
        output, last, memory = run(model, x, h, c, ts)
    d_output, d_state = torch.randn_like(output), torch.randn_like(last)
    d_memory = torch.randn_like(memory) if mixed else None
    loss = (output * d_output).sum() + (last * d_state).sum() + ((memory * d_memory).sum() if mixed else 0)
    loss.backward()
    tensors = {"input": x, "output": output, "state": last, "d_output": d_output, "d_state": d_state, "d_input": x.grad}
    if ts is not None:
        tensors["timespans"] = ts
    if "hx" in given:
        tensors["initial_state"] = h
        tensors["d_initial_state"] = h.grad
    if mixed:
        tensors |= {"memory": memory, "d_memory": d_memory}
        if "hx" in given:
            tensors |= {"initial_memory": c, "d_initial_memory": c.grad}
    for key, parameter in model.state_dict().items():
        tensors["parameters." + key] = parameter
    for key, parameter in model.named_parameters():
        if parameter.grad is not None:
            tensors["gradients." + key] = parameter.grad
    single = build(layer).float()
    single.load_state_dict(model.state_dict())
    with torch.no_grad():
        narrow = [v.detach().float() for v in (x, h, c)]
        tensors["output_f32"] = run(single, *narrow, None if ts is None else ts.float())[0]
    tensors = {key: value.detach().clone().contiguous() for key, value in tensors.items()}
    save_file(tensors, FOLDER / f"{name}.safetensors", metadata={"layer": json.dumps(layer), "batch": str(batch), "steps": str(steps)})


def main():
    torch.set_num_threads(1)
    chosen = sys.argv[1:] or list(CASES)
    for name in chosen:
        make(name, *CASES[name])
    print(f"{len(chosen)} cases with torch {torch.__version__}")


if __name__ == "__main__":
    main()
