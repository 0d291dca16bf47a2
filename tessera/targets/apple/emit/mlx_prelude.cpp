#include "tessera/targets/apple/emit/mlx_prelude.h"

namespace tessera::apple {

const std::string_view kMlxHead = R"py(
import argparse
import json
import pathlib
import re
import time

import mlx.core as mx
import numpy as np


)py";

const std::string_view kMlxImages = R"py(
def nhwc(x):
    return mx.transpose(x, (0, 2, 3, 1))


def nchw(x):
    return mx.transpose(x, (0, 3, 1, 2))


def padded(x, pads, value=0.0):
    """Rows above and below, columns left and right; fewer than none cut off."""
    top, bottom, left, right = pads
    x = x[:, max(0, -top) : x.shape[1] - max(0, -bottom), max(0, -left) : x.shape[2] - max(0, -right)]
    top, bottom, left, right = (max(0, each) for each in pads)
    if not any((top, bottom, left, right)):
        return x
    return mx.pad(x, [(0, 0), (top, bottom), (left, right), (0, 0)], constant_values=value)


def taps(x, size, kernel, stride, dilation):
    """The pixels under each place of the window, for every window."""
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            bottom, right = top + stride[0] * (size[0] - 1) + 1, left + stride[1] * (size[1] - 1) + 1
            yield x[:, top : bottom : stride[0], left : right : stride[1]]


def max_pool(x, size, kernel, stride, dilation, pads):
    most = None
    for each in taps(padded(x, pads, -float("inf")), size, kernel, stride, dilation):
        most = each if most is None else mx.maximum(most, each)
    return most


def average_pool(x, size, kernel, stride, dilation, pads, outside, divisors):
    """outside: rows and columns beyond the padding that last windows reach into. divisors: pixels that count."""
    pads = [pads[0], pads[1] + outside[0], pads[2], pads[3] + outside[1]]
    total = 0.0
    for each in taps(padded(x, pads), size, kernel, stride, dilation):
        total = total + each
    return total / divisors


def resized(x, rows, columns):
    """Every pixel a weighted sum of pixels of its column, then of its row."""
    x = mx.moveaxis(mx.moveaxis(x, 1, -1) @ mx.transpose(rows), -1, 1)
    return mx.moveaxis(mx.moveaxis(x, 2, -1) @ mx.transpose(columns), -1, 2)


def layer_norm(x, scale, bias, axes, epsilon):
    if axes == (x.ndim - 1,):
        return mx.fast.layer_norm(x, scale, bias, epsilon)
    y = (x - mx.mean(x, axis=axes, keepdims=True)) * mx.rsqrt(mx.var(x, axis=axes, keepdims=True) + epsilon)
    y = y if scale is None else y * scale
    return y if bias is None else y + bias


def rms_norm(x, scale, axes, epsilon):
    if axes == (x.ndim - 1,):
        return mx.fast.rms_norm(x, scale, epsilon)
    y = x * mx.rsqrt(mx.mean(x * x, axis=axes, keepdims=True) + epsilon)
    return y if scale is None else y * scale


def group_norm(x, scale, bias, groups, epsilon):
    """Over pixels and the channels of a group; scale and bias of each channel."""
    parts = mx.reshape(x, (x.shape[0], -1, groups, x.shape[-1] // groups))
    parts = parts - mx.mean(parts, axis=(1, 3), keepdims=True)
    parts = parts * mx.rsqrt(mx.mean(parts * parts, axis=(1, 3), keepdims=True) + epsilon)
    return mx.reshape(parts, x.shape) * scale + bias


)py";

const std::string_view kMlxCfc = R"py(
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


)py";

const std::string_view kMlxLtc = R"py(
def linear(w, name, x):
    return mx.addmm(w[name + ".bias"], x, mx.transpose(w[name + ".weight"]))


def positive(x):
    return mx.logaddexp(x, 0.0) if SOFTPLUS else x


def synapses(w, kind, v):
    """Sums of current and conductance of each neuron."""
    name = "rnn_cell." + kind
    opened = mx.sigmoid(w[name + "sigma"] * (v[:, :, None] - w[name + "mu"]))
    r = positive(w[name + "w"]) * opened * w[name + "sparsity_mask"]
    return mx.sum(r * w[name + "erev"], axis=1), mx.sum(r, axis=1)


def rate(w, v, sensed):
    current, conductance = (a + b for a, b in zip(synapses(w, "", v), sensed))
    leak = positive(w["rnn_cell.gleak"]) * (w["rnn_cell.vleak"] - v)
    return (leak + current - v * conductance) / (positive(w["rnn_cell.cm"]) + EPSILON)


def step(w, x, v, elapsed):
    if "rnn_cell.input_w" in w:
        x = x * w["rnn_cell.input_w"]
    if "rnn_cell.input_b" in w:
        x = x + w["rnn_cell.input_b"]
    sensed, h = synapses(w, "sensory_", x), elapsed / UNFOLDS
    leak, capacity = positive(w["rnn_cell.gleak"]), positive(w["rnn_cell.cm"])
    for _ in range(UNFOLDS):
        if SOLVER == "explicit":
            v = v + h * rate(w, v, sensed)
        elif SOLVER == "runge_kutta":
            k1 = rate(w, v, sensed)
            k2 = rate(w, v + h / 2 * k1, sensed)
            k3 = rate(w, v + h / 2 * k2, sensed)
            v = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(w, v + h * k3, sensed))
        else:
            current, conductance = (a + b for a, b in zip(synapses(w, "", v), sensed))
            above = capacity * v + h * (leak * w["rnn_cell.vleak"] + current)
            v = above / (capacity + h * (leak + conductance + EPSILON))
    return v


def output(w, v):
    y = v[:, :READOUT]
    if "rnn_cell.output_w" in w:
        y = y * w["rnn_cell.output_w"]
    return y + w["rnn_cell.output_b"] if "rnn_cell.output_b" in w else y


)py";

const std::string_view kMlxLiquid = R"py(
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


)py";

const std::string_view kMlxTail = R"py(
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
)py";

}  // namespace tessera::apple
