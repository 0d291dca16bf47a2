#!/usr/bin/env python3
"""to_layout, tilize, untilize, typecast, to_dtype on device tensors. usage: ops_layout.py OUT.json"""
import sys

import ttnn
from common import LAYOUTS, device_head, write
from ops_common import CONFIGS, Recorder, source

dev = ttnn.open_device(device_id=0, l1_small_size=0)
R = Recorder(dev)
OTHER = {"TILE": "RM", "RM": "TILE"}
for lay in ("TILE", "RM"):
    for s in ("dram", "l1", "hs4", "hs2", "ws4", "ws2", "bs22", "bs42c", "dhs4"):
        for t in (None, "dram", "l1", "hs4", "ws4", "bs22"):
            R.ask("to_layout", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.to_layout(x, LAYOUTS[OTHER[lay]], memory_config=CONFIGS[t]() if t else None),
                  src_layout=lay, src=s, dst=t)
        R.ask("to_layout same", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.to_layout(x, LAYOUTS[lay]), src_layout=lay, src=s)
    for s in ("hs48", "ws24"):
        R.ask("to_layout", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.to_layout(x, LAYOUTS[OTHER[lay]]), src_layout=lay, src=s, dst=None)
    for shape in ([1, 1, 50, 70], [50, 70], [70], [3, 1, 1], [2, 3, 33, 1], [1, 1, 32, 64], [1, 2, 1, 64, 40], []):
        for s in ("dram", "l1"):
            for dt in ("bfloat16", "float32", "uint32", "int32", "uint16", "uint8"):
                if dt == "bfloat16" or shape in ([1, 1, 50, 70], [1, 1, 32, 64]):
                    R.ask("to_layout", lambda: [source(dev, s, shape, dt, lay)], lambda x: ttnn.to_layout(x, LAYOUTS[OTHER[lay]]), src_layout=lay, src=s, shape=shape, dtype=dt)
    for dt in ("bfloat16", "float32", "bfloat8_b", "bfloat4_b", "uint16"):
        R.ask("to_layout dtype", lambda: [source(dev, "dram", lay=lay)], lambda x: ttnn.to_layout(x, LAYOUTS[OTHER[lay]], getattr(ttnn, dt)), src_layout=lay, to=dt)
        R.ask("to_layout same dtype", lambda: [source(dev, "dram", lay=lay)], lambda x: ttnn.to_layout(x, LAYOUTS[lay], getattr(ttnn, dt)), src_layout=lay, to=dt)
for dt in ("bfloat8_b", "bfloat4_b"):
    R.ask("to_layout", lambda: [source(dev, "dram", dt=dt)], lambda x: ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT), src_layout="TILE", dtype=dt)
    R.ask("to_layout", lambda: [source(dev, "hs4", dt=dt)], lambda x: ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT), src_layout="TILE", src="hs4", dtype=dt)
for op, lay in (("tilize", "RM"), ("untilize", "TILE"), ("tilize", "TILE"), ("untilize", "RM")):
    for s in ("dram", "hs4", "bs22", "ws4"):
        R.ask(op, lambda: [source(dev, s, lay=lay)], lambda x: getattr(ttnn, op)(x), src_layout=lay, src=s)
    R.ask(op, lambda: [source(dev, "dram", [1, 1, 50, 70], lay=lay)], lambda x: getattr(ttnn, op)(x), src_layout=lay, src="dram", shape=[1, 1, 50, 70])
ALL = ["bfloat16", "float32", "bfloat8_b", "bfloat4_b", "uint8", "uint16", "uint32", "int32"]
for a in ALL:
    for b in ALL:
        R.ask("typecast", lambda: [source(dev, "dram", dt=a)], lambda x: ttnn.typecast(x, getattr(ttnn, b)), src_layout="TILE", a=a, b=b)
for s in ("hs4", "ws4", "bs22", "l1", "dhs4"):
    for t in (None, "dram", "l1", "hs4", "hs2", "ws4"):
        R.ask("typecast", lambda: [source(dev, s)], lambda x: ttnn.typecast(x, ttnn.float32, memory_config=CONFIGS[t]() if t else None), src_layout="TILE", src=s, dst=t)
for s in ("dram", "hs4", "bs22"):
    for b in ("float32", "bfloat16", "uint32", "bfloat8_b"):
        R.ask("typecast", lambda: [source(dev, s, lay="RM")], lambda x: ttnn.typecast(x, getattr(ttnn, b)), src_layout="RM", src=s, b=b)
R.ask("to_dtype device", lambda: [source(dev, "dram")], lambda x: ttnn.to_dtype(x, ttnn.float32))
write(sys.argv[1], device_head(dev), R.out)
