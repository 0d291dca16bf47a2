#!/usr/bin/env python3
"""What operators compute with when nothing is said. usage: compute_defaults.py OUT.json BOARD"""
import json
import re
import sys

import numpy
import ttnn

raw = ttnn._ttnn.graph
dev = ttnn.open_device(device_id=0, l1_small_size=16384)
FIELDS = re.compile(r"(math_fidelity|fp32_dest_acc_en|packer_l1_acc)=(\w+)")
records = []


def tensor(dtype):
    return ttnn.Tensor(numpy.zeros((1, 1, 64, 64), numpy.float32), dtype, layout=ttnn.TILE_LAYOUT).to(dev, ttnn.DRAM_MEMORY_CONFIG)


def ask(run, **case):
    raw.begin_graph_capture(ttnn.graph.RunMode.NORMAL)
    try:
        run()
    finally:
        found = dict(FIELDS.findall(json.dumps(raw.end_graph_capture())))
    records.append(dict(board=sys.argv[2], **case, fidelity=found["math_fidelity"], fp32=found["fp32_dest_acc_en"] == "1", l1acc=found["packer_l1_acc"] == "1"))


names = ("bfloat16", "float32", "bfloat8_b", "bfloat4_b")
for a in names:
    for b in names:
        for out in (a, "float32", "bfloat8_b"):
            for grid in (False, True):
                x, y = tensor(getattr(ttnn, a)), tensor(getattr(ttnn, b))
                more = {"core_grid": ttnn.CoreGrid(y=2, x=2)} if grid else {}
                ask(lambda: ttnn.matmul(x, y, dtype=getattr(ttnn, out), **more), op="matmul", a=a, b=b, out=out, grid=grid)
for a in names[:2]:
    x = tensor(getattr(ttnn, a))
    ask(lambda: ttnn.softmax(x, dim=-1), op="softmax", a=a)
image = ttnn.Tensor(numpy.zeros((1, 16, 16, 32), numpy.float32), ttnn.bfloat16, layout=ttnn.ROW_MAJOR_LAYOUT).to(dev, ttnn.DRAM_MEMORY_CONFIG)
ask(lambda: ttnn.global_avg_pool2d(image), op="global_avg", a="bfloat16")
open(sys.argv[1], "w").write('{"records": [\n' + ",\n".join(" " + json.dumps(r) for r in records) + "\n]}\n")
