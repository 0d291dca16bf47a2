#!/usr/bin/env python3
"""Element-wise operations of one and two tensors: where results go, what is refused. usage: ops_elementwise.py OUT.json"""
import sys

import ttnn
from common import device_head, write
from ops_common import CONFIGS, Recorder, source

dev = ttnn.open_device(device_id=0, l1_small_size=0)
R = Recorder(dev)
RELU = ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)
PLACES = ("dram", "l1", "hs4", "hs4c", "hs3", "ws4", "bs22", "bs42c", "dhs4")


def cfg(t):
    return CONFIGS[t]() if t else None


def kw(t):
    return {"memory_config": cfg(t)} if t else {}


# one tensor
for lay in ("TILE", "RM"):
    for s in PLACES:
        for t in (None, "dram", "l1", "hs4", "ws4", "bs22", "none_hs"):
            R.ask("relu", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.relu(x, **kw(t)), layout=lay, src=s, dst=t)
    for dt in ("bfloat8_b", "bfloat4_b", "float32", "uint32", "int32", "uint16", "uint8"):
        for op in ("relu", "exp", "abs"):
            R.ask(op, lambda: [source(dev, "dram", dt=dt, lay=lay)], getattr(ttnn, op), layout=lay, dtype=dt)
    for shape in ([1, 1, 50, 70], [3, 5, 7], [64], [1, 2, 3, 4, 5], [2, 0, 32]):
        R.ask("relu", lambda: [source(dev, "dram", shape, lay=lay)], ttnn.relu, layout=lay, shape=shape)
    for name in ("relu6", "silu", "gelu", "sigmoid", "tanh", "hardswish", "exp", "sqrt", "rsqrt", "square", "neg", "abs", "log", "elu", "mish", "softplus", "hardsigmoid",
                 "swish", "reciprocal", "leaky_relu", "clamp"):
        for s in ("dram", "hs4"):
            args = {"leaky_relu": (0.1,), "clamp": (0.0, 6.0)}.get(name, ())
            R.ask(name, lambda: [source(dev, s, lay=lay)], lambda x: getattr(ttnn, name)(x, *args), layout=lay, src=s)
R.ask("relu", lambda: [source(dev, "dram"), source(dev, "l1")], lambda x, y: ttnn.relu(x, output_tensor=y), out="l1")
R.ask("relu", lambda: [source(dev, "dram"), source(dev, "dram", [1, 1, 64, 64])], lambda x, y: ttnn.relu(x, output_tensor=y), out="small")
R.ask("relu", lambda: [source(dev, "dram")], lambda x: ttnn.relu(x, output_tensor=x), out="itself")
R.ask("relu", lambda: [source(dev, "dram"), source(dev, "dram", dt="bfloat8_b")], lambda x, y: ttnn.relu(x, output_tensor=y), out="bfp8")
# two tensors
for lay in ("TILE", "RM"):
    for a in PLACES:
        for b in ("dram", "l1", "hs4", "hs2", "ws4", "bs22"):
            for t in (None, "dram", "hs4") if a in ("dram", "hs4", "bs22") else (None,):
                R.ask("add", lambda: [source(dev, a, lay=lay), source(dev, b, lay=lay)], lambda x, y: ttnn.add(x, y, **kw(t)), layout=lay, src=[a, b], dst=t)
    for x, y in (([1, 1, 128, 128], [1, 1, 1, 128]), ([1, 1, 128, 128], [1, 1, 128, 1]), ([1, 1, 128, 128], [1, 1, 1, 1]), ([1, 1, 1, 128], [1, 1, 128, 128]), ([1, 1, 1, 128], [1, 1, 128, 1]), ([2, 3, 32, 32], [1, 3, 32, 32]),
                 ([2, 3, 32, 32], [3, 32, 32]), ([2, 3, 32, 32], [32]), ([2, 3, 32, 32], [2, 1, 1, 1]), ([50, 70], [50, 70]), ([50, 70], [1, 70]), ([4, 5], [4, 6]), ([2, 3, 32, 32], [3, 3, 32, 32]), ([64], [64]), ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])):
        for s in ("dram", "l1"):
            R.ask("add", lambda: [source(dev, s, x, lay=lay), source(dev, s, y, lay=lay)], ttnn.add, layout=lay, shapes=[x, y], src=s)
    for a in ("hs4", "ws4", "bs22"):
        for y in ([1, 1, 1, 128], [1, 1, 128, 1], [1, 1, 1, 1]):
            for s in ("dram", "l1"):
                R.ask("multiply", lambda: [source(dev, a, lay=lay), source(dev, s, y, lay=lay)], ttnn.multiply, layout=lay, src=[a, s], shape=y)
                R.ask("multiply", lambda: [source(dev, s, y, lay=lay), source(dev, a, lay=lay)], ttnn.multiply, layout=lay, src=[s, a], shape=y)
    for op in ("subtract", "multiply", "maximum", "minimum", "divide"):
        for a in ("dram", "hs4"):
            R.ask(op, lambda: [source(dev, a, lay=lay), source(dev, a, lay=lay)], getattr(ttnn, op), layout=lay, src=a)
            R.ask(op, lambda: [source(dev, a, lay=lay)], lambda x: getattr(ttnn, op)(x, 2.5), layout=lay, src=a, scalar=2.5)
    for op in ("add_", "subtract_", "multiply_"):
        for a, b in (("dram", "dram"), ("hs4", "hs4"), ("hs4", "dram"), ("hs4", "bs22"), ("dram", "hs4"), ("bs22", "bs22")):
            R.ask(op, lambda: [source(dev, a, lay=lay), source(dev, b, lay=lay)], lambda x, y: getattr(ttnn, op)(x, y, activations=[RELU]), layout=lay, src=[a, b])
        R.ask(op, lambda: [source(dev, "dram", lay=lay)], lambda x: getattr(ttnn, op)(x, 2.0), layout=lay, scalar=2.0)
        R.ask(op, lambda: [source(dev, "dram", [1, 1, 1, 128], lay=lay), source(dev, "dram", lay=lay)], getattr(ttnn, op), layout=lay, shapes="output too small")
        R.ask(op, lambda: [source(dev, "dram", lay=lay), source(dev, "dram", [1, 1, 1, 128], lay=lay)], getattr(ttnn, op), layout=lay, shapes="broadcast")
DTS = ("bfloat16", "bfloat8_b", "bfloat4_b", "float32", "int32", "uint32", "uint16")
for da in DTS:
    for db in DTS:
        for op in ("add", "multiply"):
            R.ask(op, lambda: [source(dev, "dram", dt=da), source(dev, "dram", dt=db)], getattr(ttnn, op), dtypes=[da, db])
for dt in DTS:
    R.ask("add", lambda: [source(dev, "dram"), source(dev, "dram")], lambda x, y: ttnn.add(x, y, dtype=getattr(ttnn, dt)), dtype=dt)
    R.ask("add", lambda: [source(dev, "hs4"), source(dev, "hs4")], lambda x, y: ttnn.add(x, y, dtype=getattr(ttnn, dt)), dtype=dt, src="hs4")
    R.ask("add_", lambda: [source(dev, "dram", dt=dt), source(dev, "dram")], ttnn.add_, dtype=dt)
R.ask("add", lambda: [source(dev, "dram"), source(dev, "dram", lay="RM")], ttnn.add, layouts="mixed")
R.ask("add", lambda: [source(dev, "dram", lay="RM"), source(dev, "dram")], ttnn.add, layouts="mixed, rows first")
R.ask("add", lambda: [source(dev, "dram"), source(dev, "dram"), source(dev, "l1")], lambda x, y, z: ttnn.add(x, y, output_tensor=z), out="l1")
R.ask("add", lambda: [source(dev, "dram"), source(dev, "dram"), source(dev, "l1", dt="bfloat8_b")], lambda x, y, z: ttnn.add(x, y, output_tensor=z), out="l1 bfp8")
R.ask("add", lambda: [source(dev, "dram"), source(dev, "dram"), source(dev, "l1", [1, 1, 64, 128])], lambda x, y, z: ttnn.add(x, y, output_tensor=z), out="too small")
for what, value in (("RELU", ttnn.UnaryOpType.RELU), ("with param", RELU), ("string", "relu"), ("leaky", ttnn.UnaryWithParam(ttnn.UnaryOpType.LEAKY_RELU, 0.1)), ("silu", ttnn.UnaryWithParam(ttnn.UnaryOpType.SILU))):
    R.ask("add", lambda: [source(dev, "dram"), source(dev, "dram")], lambda x, y: ttnn.add(x, y, activations=[value]), activation=what)
    R.ask("add", lambda: [source(dev, "dram"), source(dev, "dram")], lambda x, y: ttnn.add(x, y, input_tensor_a_activations=[value]), activation_of_a=what)
R.ask("add", lambda: [source(dev, "dram")], lambda x: x + 1.0, operator="+ scalar")
R.ask("add", lambda: [source(dev, "dram"), source(dev, "dram")], lambda x, y: x + y, operator="+")
R.ask("multiply", lambda: [source(dev, "dram"), source(dev, "dram")], lambda x, y: x * y, operator="*")
R.ask("subtract", lambda: [source(dev, "dram"), source(dev, "dram")], lambda x, y: x - y, operator="-")
R.ask("add", lambda: [source(dev, "dram")], lambda x: ttnn.add(1.0, x), operator="scalar first")
# softmax
for lay in ("TILE", "RM"):
    for shape in ([1, 1, 128, 128], [1, 1, 50, 70], [8, 1000], [64], [2, 3, 32, 32]):
        for dim in (-1, -2, 0, 1, 5):
            R.ask("softmax", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.softmax(x, dim), layout=lay, shape=shape, dim=dim)
    for s in ("l1", "hs4", "ws4", "bs22"):
        for t in (None, "dram", "hs4"):
            R.ask("softmax", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.softmax(x, dim=-1, **kw(t)), layout=lay, src=s, dst=t)
for dt in ("bfloat8_b", "float32", "uint32"):
    R.ask("softmax", lambda: [source(dev, "dram", dt=dt)], lambda x: ttnn.softmax(x), dtype=dt)
write(sys.argv[1], device_head(dev), R.out)
