#!/usr/bin/env python3
"""Every buffer that pools in slices of DRAM, and pools with indices, allocate. Real ttnn only. usage: pool_slice_buffers.py OUT.json"""
import sys

import pool_cases as cases
import ttnn
from common import device_head, err, mem, write
from ops_pool import call, inputs

raw = ttnn._ttnn.graph
dev = ttnn.open_device(device_id=0, l1_small_size=16384)
KINDS = {"DRAM_WIDTH": ttnn.Op2DDRAMSliceWidth, "DRAM_HEIGHT": ttnn.Op2DDRAMSliceHeight}


def sliced(c, x):
    kind, count = c.get("slice") or (None, 0)
    if kind is None:
        return call(c, x)
    slices = ttnn.Op2DL1FullSliceConfig if kind == "L1_FULL" else ttnn.Op2DSliceConfig(slice_type=KINDS[kind], num_slices=count)
    return call(c, x, dram_slice_config=slices)


def events(graph):
    ops = []
    for n in graph:
        p, t = n["params"] or {}, n["node_type"]
        if t == "function_start" and "::" not in p.get("name", ""):
            ops.append([p["name"]])
        elif t == "circular_buffer_allocate":
            ops[-1].append(["cb", int(p["size"]), int(p["globally_allocated"])])
        elif t in ("buffer_allocate", "buffer_deallocate"):
            if not ops:
                ops.append(["start"])
            sign = ("+" if t == "buffer_allocate" else "-") + ("" if p["type"] == "L1" else p["type"])
            cores = int(p["num_cores"])
            ops[-1].append([sign, int(p.get("buffer_type", -1)), int(p["address"]), int(p["size"]) // max(1, cores), cores])
    return ops


def describe(z):
    return dict(shape=list(z.shape), mem=mem(z.memory_config()), addr=z.buffer_address(), dtype=str(z.dtype).split(".")[-1], layout=str(z.layout).split(".")[-1])


out = []
for c in cases.slices() + cases.indices():
    rec, results = dict(case=c), []
    ins = inputs(dev, c)
    raw.begin_graph_capture(raw.RunMode.NORMAL)
    try:
        y = sliced(c, *ins)
        results = list(y) if isinstance(y, (list, tuple)) else [y]
        rec.update(ok=True, out=[describe(z) for z in results])
    except Exception as e:
        rec.update(ok=False, error=err(e))
    rec["ops"] = events(raw.end_graph_capture())
    out.append(rec)
    for t in ins + results:
        if t.is_allocated():
            ttnn.deallocate(t)
    dev.clear_program_cache()
write(sys.argv[1], device_head(dev), out)
