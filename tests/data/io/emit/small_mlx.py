"""small in MLX, written by Tessera.

    python FILE.py [--input x.npy] [--output DIR] [--runs N] [--cpu]

Needs mlx and numpy, and its weights beside it. Inputs and outputs are N C H W.
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


WEIGHTS_FILE = "small.safetensors"
INPUTS = {"x": (1, 16, 8, 8)}
OUTPUTS = ["fc"]
FIXED = True


def network(w, v0):
    v0 = nhwc(v0)
    # conv1
    v3 = mx.conv2d(v0, w["conv1.weight"], stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1)
    v3 = v3 + w["conv1.bias"]
    v4 = mx.maximum(v3, 0.0)  # relu1
    # pool1
    v5 = max_pool(v4, (4, 4), (2, 2), (2, 2), (1, 1), [0, 0, 0, 0])
    # conv2
    v7 = mx.conv2d(v5, w["conv2.weight"], stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1)
    v7 = v7 + w["conv1.bias"]
    v8 = v7 + v5  # sum
    v9 = mx.maximum(v8, 0.0)  # relu2
    v10 = mx.reshape(nchw(v9), (1, 512))  # flat
    v13 = v10 @ mx.transpose(w["fc.weight"]) + w["fc.bias"]  # fc
    return (v13,)


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
