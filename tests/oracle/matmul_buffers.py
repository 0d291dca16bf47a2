#!/usr/bin/env python3
"""The buffers of matmul's programs, as NO_DISPATCH shows them. Real ttnn only. usage: matmul_buffers.py OUT.json"""
import sys

import matmul_cases as cases
import ttnn
from common import device_head, err, write
from ops_matmul import call, inputs

raw = ttnn._ttnn.graph
dev = ttnn.open_device(device_id=0, l1_small_size=0)
out = []
for c in cases.interleaved() + cases.kinds() + cases.sharded() + cases.near() + cases.random_cases(8, 150) + cases.small() + cases.long():
    rec = dict(case=c)
    try:
        ins = inputs(dev, c)
    except Exception as e:
        continue
    raw.begin_graph_capture(raw.RunMode.NO_DISPATCH)
    try:
        y = call(dev, c, *ins)
        rec["ok"] = True
        m = y.memory_config()
        rec["out"] = [str(m.memory_layout).split(".")[-1], str(m.buffer_type).split(".")[-1], list(m.shard_spec.shape) if m.shard_spec else None, str(m.shard_spec.grid) if m.shard_spec else None]
    except Exception as e:
        rec.update(ok=False, error=err(e))
    programs = []
    for n in raw.end_graph_capture():
        p = n["params"] or {}
        if n["node_type"] == "function_start" and p.get("name", "").endswith("DeviceOperation"):
            programs.append([p["name"].removesuffix("DeviceOperation")])
        elif n["node_type"] in ("dataflow_buffer_allocate", "circular_buffer_allocate") and programs:
            programs[-1].append([int(p["size"]), p["core_range_set"]])
    rec["programs"] = programs
    out.append(rec)
    for t in ins:
        ttnn.deallocate(t)
write(sys.argv[1], device_head(dev), out)
