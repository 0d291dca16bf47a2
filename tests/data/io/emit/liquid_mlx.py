"""liquid: a liquid layer (CfC) in MLX, written by Tessera.

    python FILE.py [--input x=x.npy] [--input elapsed=t.npy] [--output DIR] [--runs N] [--cpu]

Needs mlx and numpy, and its weights beside it. x: batch, time, inputs; elapsed: batch, time. Results are the outputs
and the last state.
"""

import argparse
import json
import pathlib
import re
import time

import mlx.core as mx
import numpy as np


def read_safetensors(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    found = {}
    for name, each in header.items():
        first, last = each["data_offsets"]
        found[name] = np.frombuffer(data[first:last], np.float32).reshape(each["shape"]).copy()
    return found


WEIGHTS_FILE = "liquid.safetensors"
INPUTS = {"x": (1, 16, 3), "elapsed": (1, 16)}  # by default
OUTPUTS = ["y", "state"]
FIXED = False
STATE, READOUT, SEQUENCES, BATCH_FIRST = 8, 8, True, True
MODE, ACTIVATION, HEAD, TIME_SIGN = "default", "lecun_tanh", "tanh", 1
CELLS = [("rnn_cell.", 8, [0, 2])]


def linear(w, name, x):
    return mx.addmm(w[name + ".bias"], x, mx.transpose(w[name + ".weight"]))


def lecun_tanh(x):
    return 1.7159 * mx.tanh(0.666 * x)


ACTIVATIONS = {
    "lecun_tanh": lecun_tanh,
    "silu": lambda x: x * mx.sigmoid(x),
    "relu": lambda x: mx.maximum(x, 0.0),
    "tanh": mx.tanh,
    "gelu": lambda x: 0.5 * x * (1 + mx.erf(x * 0.5**0.5)),
    "none": lambda x: x,
}


def cfc_cell(w, prefix, backbone, x, h, elapsed):
    z = mx.concatenate([x, h], axis=-1)
    for index in backbone:
        z = ACTIVATIONS[ACTIVATION](linear(w, f"{prefix}backbone.{index}", z))
    mask = w.get(prefix + "sparsity_mask")

    def head(name):
        weight = w[f"{prefix}{name}.weight"]
        return mx.addmm(w[f"{prefix}{name}.bias"], z, mx.transpose(weight if mask is None else weight * mask))

    first = head("ff1")
    if MODE == "pure":
        amplitude = w[prefix + "A"]
        decay = mx.exp(-elapsed * (mx.abs(w[prefix + "w_tau"]) + mx.abs(first)))
        return amplitude - amplitude * decay * first
    timed, base = linear(w, prefix + "time_a", z) * elapsed, linear(w, prefix + "time_b", z)
    gate = mx.sigmoid(base + timed if TIME_SIGN > 0 else base - timed)
    first, second = ACTIVATIONS[HEAD](first), ACTIVATIONS[HEAD](head("ff2"))
    return (first if MODE == "no_gate" else first * (1 - gate)) + gate * second


def step(w, x, h, elapsed):
    parts, at = [], 0
    for prefix, hidden, backbone in CELLS:
        x = cfc_cell(w, prefix, backbone, x, h[:, at : at + hidden], elapsed)
        parts.append(x)
        at += hidden
    return mx.concatenate(parts, axis=-1)


def output(w, h):
    y = h[:, h.shape[1] - READOUT :]
    return linear(w, "fc", y) if "fc.weight" in w else y


def remember(w, x, h, c):
    """An LSTM cell that makes the state the cell starts from."""
    z = linear(w, "lstm.input_map", x) + h @ mx.transpose(w["lstm.recurrent_map.weight"])
    value, enter, forget, leave = mx.split(z, 4, axis=-1)
    c = c * mx.sigmoid(forget + 1) + mx.tanh(value) * mx.sigmoid(enter)
    return mx.tanh(c) * mx.sigmoid(leave), c


def network(w, x, elapsed):
    """x: batch, time, inputs; elapsed: batch, time; time comes first in both without BATCH_FIRST."""
    if not BATCH_FIRST:
        x, elapsed = mx.swapaxes(x, 0, 1), mx.swapaxes(elapsed, 0, 1)
    h = mx.zeros((x.shape[0], STATE))
    c, outputs = mx.zeros((x.shape[0], STATE)), []
    for t in range(x.shape[1]):
        if "lstm.input_map.weight" in w:
            h, c = remember(w, x[:, t], h, c)
        h = step(w, x[:, t], h, elapsed[:, t : t + 1])
        outputs.append(output(w, h))
    return (mx.stack(outputs, axis=1 if BATCH_FIRST else 0) if SEQUENCES else outputs[-1], h)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="default: normal numbers")
    parser.add_argument("--output", metavar="DIR", help="write each output as NAME.npy")
    parser.add_argument("--runs", type=int, default=0, metavar="N", help="time so many runs")
    parser.add_argument("--cpu", action="store_true", help="not on the GPU")
    parser.add_argument("--plain", action="store_true", help="without mx.compile")
    arguments = parser.parse_args()
    if arguments.cpu:
        mx.set_default_device(mx.cpu)
    w = read_safetensors(pathlib.Path(__file__).resolve().parent / WEIGHTS_FILE) if WEIGHTS_FILE else {}
    w = {name: mx.array(values) for name, values in w.items()}
    random = np.random.default_rng(0)
    arrays = {}
    for name, shape in INPUTS.items():
        arrays[name] = np.abs(random.standard_normal(shape)) if name == "elapsed" else random.standard_normal(shape)
    for each in arguments.input:
        name, _, file = each.rpartition("=")
        name = name or next(iter(INPUTS))
        if name not in INPUTS:
            parser.error(f"there is no input '{name}': {', '.join(INPUTS)}")
        arrays[name] = np.load(file)
        if FIXED and arrays[name].shape != INPUTS[name]:
            parser.error(f"'{file}' is {arrays[name].shape}, but '{name}' is {INPUTS[name]}")
    inputs = [mx.array(x.astype(np.float32)) for x in arrays.values()]
    run = network if arguments.plain else mx.compile(network)
    results = run(w, *inputs)
    mx.eval(*results)
    if arguments.runs:
        began = time.perf_counter()
        for _ in range(arguments.runs):
            mx.eval(*run(w, *inputs))
        print(f"{1e3 * (time.perf_counter() - began) / arguments.runs:.3f} ms a run over {arguments.runs} runs")
    for name, y in zip(OUTPUTS, results):
        print(f"{name}: {list(y.shape)}, mean {float(mx.mean(y)):.6g}")
        if arguments.output:
            folder = pathlib.Path(arguments.output)
            folder.mkdir(parents=True, exist_ok=True)
            np.save(folder / (re.sub(r"[^\w.-]", "_", name) + ".npy"), np.array(y))


if __name__ == "__main__":
    main()
