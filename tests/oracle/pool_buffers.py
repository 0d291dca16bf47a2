#!/usr/bin/env python3
"""Every buffer that pools allocate, in order, with addresses. Real ttnn only. usage: pool_buffers.py OUT.json"""
import sys

import pool_cases as cases
import ttnn
from common import device_head, err, mem, write
from ops_pool import call, inputs

raw = ttnn._ttnn.graph
dev = ttnn.open_device(device_id=0, l1_small_size=16384)
out = []
for c in cases.plain() + cases.kinds() + cases.refused() + cases.random_cases(8, 120):
    rec = dict(case=c)
    ins, y = [], None
    try:
        ins = inputs(dev, c)
    except Exception as e:
        continue
    raw.begin_graph_capture(raw.RunMode.NORMAL)
    try:
        y = call(c, *ins)
        rec["ok"] = True
        z = y[0] if isinstance(y, (list, tuple)) else y
        rec["out"] = dict(shape=list(z.shape), mem=mem(z.memory_config()), addr=z.buffer_address(), dtype=str(z.dtype).split(".")[-1], layout=str(z.layout).split(".")[-1])
    except Exception as e:
        rec.update(ok=False, error=err(e))
    ops = []
    for n in raw.end_graph_capture():
        p = n["params"] or {}
        t = n["node_type"]
        if t == "function_start" and "::" not in p.get("name", ""):
            ops.append([p["name"]])
        elif t == "circular_buffer_allocate":
            ops[-1].append(["cb", int(p["size"]), int(p["globally_allocated"])])
        elif t in ("buffer_allocate", "buffer_deallocate") and p["type"] == "L1":
            if not ops:
                ops.append(["start"])
            ops[-1].append(["+" if t == "buffer_allocate" else "-", int(p["buffer_type"]), int(p["address"]), int(p["size"]) // max(1, int(p["num_cores"]))])
    rec["ops"] = ops
    out.append(rec)
    for t in ins + (list(y) if isinstance(y, (list, tuple)) else [y]):
        if isinstance(t, ttnn.Tensor) and t.is_allocated():
            ttnn.deallocate(t)
    dev.clear_program_cache()
write(sys.argv[1], device_head(dev), out)
