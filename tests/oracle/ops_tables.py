#!/usr/bin/env python3
"""Operators that are lines of tables: which dtypes they take, and what their results are. usage: ops_tables.py OUT.json"""
import sys

import ttnn
from common import device_head, write
from ops_common import Recorder, source

dev = ttnn.open_device(device_id=0, l1_small_size=0)


class OneOfThree(Recorder):
    """Asks every third question: there are more than a test has time for."""

    count = -1

    def ask(self, *args, **note):
        self.count += 1
        if self.count % 3 == 0:
            super().ask(*args, **note)


R = OneOfThree(dev)
DTYPES = ("bfloat16", "float32", "bfloat8_b", "int32", "uint32", "uint16", "uint8")

UNARY = (
    "acos acosh asin asinh atan atanh cbrt ceil cos cosh deg2rad digamma eqz erf erfc erfinv exp2 expm1 floor frac gez gtz hardmish i0 i1 isfinite isinf isnan isneginf "
    "isposinf lez lgamma log10 log1p log2 log_sigmoid logical_not ltz nez rad2deg sigmoid_accurate sign signbit sin sinh softsign tan tanhshrink trunc bitwise_not"
).split()
WITH_NUMBERS = {
    "celu": {"alpha": 0.5}, "hardshrink": {"lambd": 0.25}, "softshrink": {"lambd": 0.25}, "hardtanh": {"min_val": -2.0, "max_val": 2.0}, "selu": {"scale": 1.5, "alpha": 0.5},
    "softplus": {"beta": 2.0, "threshold": 10.0}, "round": {"decimals": 1},
}  # fmt: skip
BY_POSITION = {"heaviside": (0.5,), "fill": (2.0,), "relu_max": (3.0,), "relu_min": (1.0,), "threshold": (1.0, 2.0), "polygamma": (2,), "rpow": (2.0,), "leaky_relu": (0.1,)}
BINARY = (
    "add subtract multiply divide minimum maximum rsub squared_difference eq ne lt le gt ge logical_and logical_or logical_xor ldexp logaddexp logaddexp2 bias_gelu xlogy atan2 "
    "pow remainder fmod bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift logical_right_shift gcd lcm"
).split()
IN_PLACE = "add_ subtract_ multiply_ divide_ eq_ ne_ lt_ le_ gt_ ge_ logical_and_ logical_or_ logical_xor_ ldexp_ logaddexp_ logaddexp2_ bias_gelu_ rsub_ squared_difference_".split()

for dt in DTYPES:
    for op in UNARY:
        R.ask(op, lambda: [source(dev, "dram", dt=dt)], lambda x: getattr(ttnn, op)(x), dtype=dt)
    for op, numbers in WITH_NUMBERS.items():
        R.ask(op, lambda: [source(dev, "dram", dt=dt)], lambda x: getattr(ttnn, op)(x, **numbers), dtype=dt)
    for op, numbers in BY_POSITION.items():
        R.ask(op, lambda: [source(dev, "dram", dt=dt)], lambda x: getattr(ttnn, op)(x, *numbers), dtype=dt)
    for op in BINARY:
        R.ask(op, lambda: [source(dev, "dram", dt=dt), source(dev, "dram", dt=dt)], lambda x, y: getattr(ttnn, op)(x, y), dtype=dt)
        R.ask(op, lambda: [source(dev, "dram", dt=dt), source(dev, "dram", [1, 1, 1, 128], dt=dt)], lambda x, y: getattr(ttnn, op)(x, y), dtype=dt, row=True)
    for op in IN_PLACE:
        R.ask(op, lambda: [source(dev, "dram", dt=dt), source(dev, "dram", dt=dt)], lambda x, y: getattr(ttnn, op)(x, y), dtype=dt)
for op in BINARY:
    R.ask(op, lambda: [source(dev, "dram"), source(dev, "dram", dt="bfloat8_b")], lambda x, y: getattr(ttnn, op)(x, y), dtypes=["bfloat16", "bfloat8_b"])
    R.ask(op, lambda: [source(dev, "dram"), source(dev, "dram", dt="int32")], lambda x, y: getattr(ttnn, op)(x, y), dtypes=["bfloat16", "int32"])
    R.ask(op, lambda: [source(dev, "hs4"), source(dev, "hs4")], lambda x, y: getattr(ttnn, op)(x, y), src="hs4")
    R.ask(op, lambda: [source(dev, "dram", [1, 1, 3, 70]), source(dev, "dram", [1, 1, 4, 70])], lambda x, y: getattr(ttnn, op)(x, y), shapes="do not go together")
for op in ("eq", "lt", "logical_and", "pow", "atan2", "rsub", "fmod", "remainder"):
    R.ask(op, lambda: [source(dev, "dram")], lambda x: getattr(ttnn, op)(x, 2.0), scalar=2.0)
for mode in (None, "floor", "trunc", "up"):
    for dt in ("bfloat16", "float32", "int32"):
        R.ask("div", lambda: [source(dev, "dram", dt=dt), source(dev, "dram", dt=dt)], lambda x, y: ttnn.div(x, y, rounding_mode=mode), dtype=dt, rounding=mode)
# three operands
for dt in DTYPES:
    for op in ("where", "addcmul", "addcdiv", "mac", "lerp"):
        R.ask(op, lambda: [source(dev, "dram", dt=dt) for _ in range(3)], lambda x, y, z: getattr(ttnn, op)(x, y, z), dtype=dt)
    R.ask("where", lambda: [source(dev, "dram"), source(dev, "dram", dt=dt)], lambda x, y: ttnn.where(x, y, 2.0), dtype=dt, numbers="false")
    R.ask("where", lambda: [source(dev, "dram"), source(dev, "dram", dt=dt)], lambda x, y: ttnn.where(x, 2.0, y), dtype=dt, numbers="true")
R.ask("where", lambda: [source(dev, "dram")], lambda x: ttnn.where(x, 1.0, 2.0), numbers="both")
# all values along dimensions
for op in ("sum", "mean", "max", "min", "var", "std"):
    for dt in DTYPES:
        R.ask(op, lambda: [source(dev, "dram", [2, 3, 64, 96], dt=dt)], lambda x: getattr(ttnn, op)(x, dim=-1), dtype=dt)
    for shape in ([2, 3, 64, 96], [50, 70], [3, 5, 7]):
        for dim in (None, -1, -2, 0, 1, [-1, -2], [0, 1], 5):
            for keep in (False, True):
                R.ask(op, lambda: [source(dev, "dram", shape)], lambda x: getattr(ttnn, op)(x, dim, keep), shape=shape, dim=dim, keep=keep)
for op in ("cumsum", "cumprod"):
    for dt in DTYPES:
        R.ask(op, lambda: [source(dev, "dram", [2, 3, 64, 96], dt=dt)], lambda x: getattr(ttnn, op)(x, 1), dtype=dt)
    for dim in (0, -1, 4):
        R.ask(op, lambda: [source(dev, "dram", [2, 3, 64, 96])], lambda x: getattr(ttnn, op)(x, dim), dim=dim)
# shapes
for lay in ("TILE", "RM"):
    for shape in ([2, 3, 64, 96], [2, 3, 50, 70], [64, 96]):
        for a, b in ((0, 1), (-1, -2), (1, -1), (0, 7)):
            R.ask("transpose", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.transpose(x, a, b), layout=lay, shape=shape, dims=[a, b])
        for size in (1, 2, 32, [32, 32], [1, 1]):
            for dim in (0, -1, -2):
                R.ask("split", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.split(x, size, dim), layout=lay, shape=shape, size=size, dim=dim)
        for n in (1, 2, 3):
            R.ask("chunk", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.chunk(x, n, -1), layout=lay, shape=shape, n=n)
        for dim in (0, 1, -1, 9):
            R.ask("stack", lambda: [source(dev, "dram", shape, lay=lay) for _ in range(2)], lambda x, y: ttnn.stack([x, y], dim), layout=lay, shape=shape, dim=dim)
            R.ask("repeat_interleave", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.repeat_interleave(x, 3, dim), layout=lay, shape=shape, dim=dim)
        for counts in ([1, 1], [2, 1], [1, 2], [2, 1, 1, 1], [1, 2, 3, 1]):
            R.ask("repeat", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.repeat(x, ttnn.Shape(counts)), layout=lay, shape=shape, counts=counts)
    for shape, to in (([1, 3, 1, 64], [2, 3, 32, 64]), ([1, 64], [32, -1]), ([2, 64], [3, 64])):
        R.ask("expand", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.expand(x, to), layout=lay, shape=shape, to=to)
# norms
for dt in DTYPES:
    for op in ("layer_norm", "rms_norm"):
        R.ask(op, lambda: [source(dev, "dram", dt=dt)], lambda x: getattr(ttnn, op)(x), dtype=dt)
for op in ("layer_norm", "rms_norm"):
    R.ask(op, lambda: [source(dev, "dram"), source(dev, "dram", [1, 128])], lambda x, w: getattr(ttnn, op)(x, weight=w, epsilon=1e-5), weight=True)
    R.ask(op, lambda: [source(dev, "dram"), source(dev, "dram", [1, 96])], lambda x, w: getattr(ttnn, op)(x, weight=w), weight="too short")
    R.ask(op, lambda: [source(dev, "dram", lay="RM")], lambda x: getattr(ttnn, op)(x), layout="RM")
write(sys.argv[1], device_head(dev), R.out)
