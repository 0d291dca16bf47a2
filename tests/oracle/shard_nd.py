#!/usr/bin/env python3
"""ND sharding: explicit NdShardSpec of random shapes, distribution strategies and alignments. usage: shard_nd.py OUT.json [SEED [COUNT]]"""
import sys

import ttnn
from common import BT, LAYOUTS, ORI, device_head, err, grid, mem, place, rng, write

SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 3
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 260
R = rng(SEED)
dev = ttnn.open_device(device_id=0, l1_small_size=0)
GX, GY = dev.compute_with_storage_grid_size().x, dev.compute_with_storage_grid_size().y
STRAT = {"RR": ttnn.ShardDistributionStrategy.ROUND_ROBIN_1D, "GRID": ttnn.ShardDistributionStrategy.GRID_2D,
         "CONT": ttnn.ShardDistributionStrategy.CONTIGUOUS_1D}
ALIGN = {"NONE": ttnn.ShardShapeAlignment.NONE, "REQUIRED": ttnn.ShardShapeAlignment.REQUIRED, "RECOMMENDED": ttnn.ShardShapeAlignment.RECOMMENDED}
out = []
for i in range(COUNT):
    lay = R.choice(["TILE", "RM"])
    dt = R.choice(["bfloat16", "bfloat16", "float32", "uint8", "bfloat8_b" if lay == "TILE" else "uint16"])
    rank = R.choice([1, 2, 3, 3, 4, 5])
    shape = [R.choice([R.randint(1, 200), 32 * R.randint(1, 6)]), R.choice([R.randint(1, 200), 32 * R.randint(1, 6)])][-min(rank, 2):]
    while len(shape) < rank:
        shape.insert(0, R.randint(1, 5))
    srank = rank if R.random() < 0.75 else max(1, min(5, rank + R.choice([-1, 1, -2])))
    base = ([1] * 5 + shape)[-srank:]
    shard = []
    for j, d in enumerate(base):
        p = R.random()
        v = d if p < 0.4 else R.randint(1, d)
        if j >= srank - 2 and lay == "TILE" and R.random() < 0.85:
            v = -(-v // 32) * 32
        shard.append(v)
    w, h = R.randint(1, GX), R.randint(1, GY)
    buf = "L1" if R.random() < 0.8 else "DRAM"
    if buf == "DRAM":
        w, h = R.randint(1, dev.dram_grid_size().x), 1
    ranges = [[0, 0, w - 1, h - 1]] if R.random() < 0.7 or h == 1 else [[0, 0, w - 1, h - 2], [0, h - 1, R.randint(0, w - 1), h - 1]]
    ori, strat = R.choice("RRC"), R.choice(["RR", "RR", "RR", "GRID", "CONT"])
    how = R.choice(["spec", "config", "NONE", "REQUIRED", "RECOMMENDED"])
    rec = dict(how=how, shape=shape, dtype=dt, layout=lay, buffer=buf, grid=ranges, shard=shard, orient=ori, strategy=strat)
    try:
        nd = ttnn.NdShardSpec(ttnn.Shape(shard), grid(*ranges), ORI[ori], STRAT[strat])
        args = (ttnn.Shape(shape), getattr(ttnn, dt), LAYOUTS[lay])
        if how == "config":
            mc = ttnn.MemoryConfig(getattr(BT, buf), nd)
            make = lambda: ttnn.allocate_tensor_on_device(*args, dev, mc)
        else:
            ts = ttnn.TensorSpec(*args, nd, getattr(BT, buf)) if how == "spec" else ttnn.TensorSpec(*args, getattr(BT, buf)).sharded(nd, ALIGN[how])
            rec["mem"] = mem(ts.memory_config)
            make = lambda: ttnn.allocate_tensor_on_device(ts, dev)
    except Exception as e:
        rec.update(ok=False, stage="spec", error=err(e))
        out.append(rec)
        continue

    def make_and_note():
        t = make()
        rec["mem"] = mem(t.memory_config())
        return t

    out.append(place(dev, rec, make_and_note, buf))
write(sys.argv[1], device_head(dev, seed=SEED), out)
