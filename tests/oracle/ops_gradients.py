#!/usr/bin/env python3
"""Gradients: which operands they take, and what their results are. usage: ops_gradients.py OUT.json"""
import sys

import ttnn
from common import device_head, write
from ops_common import SpecRecorder, source

dev = ttnn.open_device(device_id=0, l1_small_size=0)
R = SpecRecorder(dev)

ONE = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac hardsigmoid hardswish i0 lgamma log log10 log1p log2 log_sigmoid logit "
    "multigammaln neg rad2deg reciprocal relu relu6 round rsqrt selu sigmoid sign silu sin sinh softsign sqrt square tan tanh tanhshrink trunc fill_zero celu elu hardshrink leaky_relu logiteps "
    "softshrink hardtanh softplus assign"
).split()
NUMBERS = {"polygamma": (2,), "pow": (2.0,), "rdiv": (2.0,), "rpow": (2.0,), "threshold": (0.5, 1.0), "clamp": (0.0, 1.0), "clip": (0.0, 1.0)}
TWO = "add sub mul div rsub atan2 hypot ldexp logaddexp logaddexp2 max min squared_difference xlogy addalpha subalpha concat".split()
THREE = "where lerp".split()


def put(shape=(1, 1, 64, 96), dt="bfloat16", lay="TILE", cfg="dram"):
    return source(dev, cfg, shape, dt, lay)


for dt in ("bfloat16", "float32", "bfloat8_b"):
    for op in ONE:
        R.ask(op, lambda: [put(dt=dt), put(dt=dt)], lambda g, x: getattr(ttnn, op + "_bw")(g, x), dtype=dt)
    for op, numbers in NUMBERS.items():
        R.ask(op, lambda: [put(dt=dt), put(dt=dt)], lambda g, x: getattr(ttnn, op + "_bw")(g, x, *numbers), dtype=dt)
    for op in TWO:
        shape = (2, 1, 64, 96) if op == "concat" else (1, 1, 64, 96)
        R.ask(op, lambda: [put(shape, dt), put(dt=dt), put(dt=dt)], lambda g, a, b: getattr(ttnn, op + "_bw")(g, a, b), dtype=dt)
    for op in THREE:
        R.ask(op, lambda: [put(dt=dt) for _ in range(4)], lambda g, a, b, c: getattr(ttnn, op + "_bw")(g, a, b, c), dtype=dt)
    for op in ("addcmul", "addcdiv"):
        R.ask(op, lambda: [put(dt=dt) for _ in range(4)], lambda g, a, b, c: getattr(ttnn, op + "_bw")(g, a, b, c, 2.0), dtype=dt)
for op in ("add", "sub", "mul", "div"):
    R.ask(op, lambda: [put(), put()], lambda g, a: getattr(ttnn, op + "_bw")(g, a, 2.0), number=True)
for op in ("tanh", "log", "relu"):
    R.ask(op, lambda: [put((2, 3, 50, 70)), put((2, 3, 50, 70))], lambda g, x: getattr(ttnn, op + "_bw")(g, x), shape=[2, 3, 50, 70])
    R.ask(op, lambda: [put(), put()], lambda g, x: getattr(ttnn, op + "_bw")(g, x, memory_config=ttnn.L1_MEMORY_CONFIG), to="l1")
write(sys.argv[1], device_head(dev), R.out)
