#!/usr/bin/env python3
"""The programs of bilinear upsampling, as NO_DISPATCH shows them. Real ttnn only. usage: bilinear_buffers.py OUT.json

Of each program its name and the circular buffers that a core has of its own; tensors in L1 that come (+) and go (-) with their
bytes in a bank; and where the result lies."""
import re
import sys

import ttnn
from common import device_head, err, events_of, grid, last, rng, write

raw = ttnn._ttnn.graph
dev = ttnn.open_device(device_id=0, l1_small_size=16384)
g = dev.compute_with_storage_grid_size()
X, CORES = g.x, g.x * g.y
r = rng(5)


def first(n):
    full, rest = divmod(n, X)
    return grid(*(([(0, 0, X - 1, full - 1)] if full else []) + ([(0, full, rest - 1, full)] if rest else [])))


def shards(rows, c, cores, spare):
    h = -(-rows // cores)
    used = cores if spare else -(-rows // h)
    return ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1,
                             ttnn.ShardSpec(first(used), [h, c], ttnn.ShardOrientation.ROW_MAJOR))


def ask(n, h, w, c, scale, place, spare=False, f32=None):
    rec = dict(case=dict(n=n, h=h, w=w, c=c, scale=scale, place=place, spare=spare, f32=f32))
    memory = {"L1": ttnn.L1_MEMORY_CONFIG, "DRAM": ttnn.DRAM_MEMORY_CONFIG}.get(place) or shards(n * h * w, c, place, spare)
    try:
        x = ttnn.allocate_tensor_on_device(ttnn.Shape([n, h, w, c]), ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT, dev, memory)
    except Exception:
        return
    more, y = {}, None
    if f32 is not None:
        more["compute_kernel_config"] = ttnn.init_device_compute_kernel_config(
            dev.arch(), math_fidelity=ttnn.MathFidelity.LoFi, math_approx_mode=True, fp32_dest_acc_en=f32, packer_l1_acc=True)
    raw.begin_graph_capture(raw.RunMode.NO_DISPATCH)
    try:
        y = ttnn.upsample(x, scale, mode="bilinear", **more)
        rec["ok"] = True
    except Exception as e:
        rec.update(ok=False, error=err(e)["text"][:160])
    events = events_of(raw.end_graph_capture())
    if y is not None:
        s = y.memory_config().shard_spec
        cores = [[int(i) for i in each] for each in re.findall(r"(\d+)-(\d+) - (\d+)-(\d+)", str(s.grid))]
        rec.update(out=[list(y.shape), last(y.memory_config().memory_layout), list(s.shape), cores], events=events)
        ttnn.deallocate(y)
    out.append(rec)
    ttnn.deallocate(x)
    dev.clear_program_cache()


out = []
for c in (32, 64, 96, 128, 224, 256, 288, 512, 1024):
    ask(1, 16, 16, c, [2, 2], "L1")
for f32 in (False, True):
    ask(1, 16, 16, 64, [2, 2], "DRAM", f32=f32)
for h, w in ((1, 1), (2, 3), (4, 4), (5, 13), (9, 15), (33, 40), (66, 10), (30, 40)):
    for n in (1, 3):
        for place in ("DRAM", "L1"):
            ask(n, h, w, 32, [2, 2], place)
for _ in range(80):
    n, h, w = r.choice([1, 1, 2, 3]), r.choice([4, 7, 10, 20, 33, 40]), r.choice([4, 7, 10, 20, 32, 40])
    scale = r.choice([[2, 2], [2, 2], [3, 3], [4, 4], [2, 3], [1, 2]])
    ask(n, h, w, r.choice([32, 64, 96, 160, 256, 320]), scale, r.choice(["DRAM", "L1", 8, 20, CORES, CORES - 1]), r.random() < 0.5)
for _ in range(60):
    n, h, w = r.choice([1, 2, 3]), r.randint(3, 41), r.randint(3, 41)
    scale = [r.choice([3, 5, 6, 7]), r.choice([3, 5, 6, 7])]
    ask(n, h, w, r.choice([32, 64]), scale, r.choice(["DRAM", 8, 20, CORES, CORES - 1]), r.random() < 0.5)
write(sys.argv[1], device_head(dev), out)
