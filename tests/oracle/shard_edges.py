#!/usr/bin/env python3
"""Odd cases of placement: tiny and zero shapes, odd row-major widths, other tiles, several faults at once, missing
shard specs, L1_SMALL. usage: shard_edges.py OUT.json"""
import sys

import ttnn
from common import BT, KINDS, LAYOUTS, ORI, TML, device_head, err, grid, mem, place, tensor_on, write

dev = ttnn.open_device(device_id=0, l1_small_size=8192)
out = []
ALL = ["bfloat16", "float32", "bfloat8_b", "bfloat4_b", "uint8", "uint16", "uint32", "int32"]


def inter(shape, dt, lay, buf):
    rec = dict(q="interleaved", shape=shape, dtype=dt, layout=lay, buffer=buf)
    out.append(place(dev, rec, lambda: tensor_on(dev, shape, dt, lay, ttnn.MemoryConfig(TML.INTERLEAVED, getattr(BT, buf))), buf))


for buf in ("L1", "DRAM"):
    for dt in ALL:
        for lay in ("TILE", "RM"):
            for shape in ([], [1], [3], [33], [0], [1, 1], [5, 1], [0, 32], [32, 0], [3, 33, 65], [2, 0, 4], [7, 1, 1, 3]):
                if dt in ("bfloat16", "uint8") or shape in ([], [3], [0, 32], [3, 33, 65]):
                    inter(shape, dt, lay, buf)
    for w in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40, 100, 1000):
        for dt in ("uint8", "bfloat16", "uint32"):
            inter([10, w], dt, "RM", buf)
    for h in (1, 63, 64, 65, 128, 129, 1000):      # pages against banks
        inter([h, 24], "bfloat16", "RM", buf)
        inter([32 * h, 32], "bfloat8_b", "TILE", buf)


def shard(shape, dt, lay, kind, ranges, sh, ori="R", buf="L1", q="sharded"):
    rec = dict(q=q, shape=shape, dtype=dt, layout=lay, kind=kind, grid=ranges, shard=sh, orient=ori, buffer=buf)

    def make():
        mc = ttnn.MemoryConfig(KINDS[kind], getattr(BT, buf), ttnn.ShardSpec(grid(*ranges), sh, ORI[ori]))
        return tensor_on(dev, shape, dt, lay, mc)

    out.append(place(dev, rec, make, buf))


G = [[0, 0, 3, 0]]
for lay in ("TILE", "RM"):
    for shape in ([], [1], [3], [32], [0], [0, 32], [32, 0], [1, 1], [4, 32], [0, 4, 32]):
        for kind in KINDS:
            shard(shape, "bfloat16", lay, kind, G, [32, 32] if lay == "TILE" else [1, shape[-1] if shape and shape[-1] else 1], q="tiny")
for s in ([0, 32], [32, 0], [0, 0]):
    for kind in KINDS:
        for lay in ("TILE", "RM"):
            shard([64, 32], "bfloat16", lay, kind, G, s, q="zero shard")
for dt, w in (("uint8", 1), ("uint8", 3), ("uint8", 17), ("uint16", 1), ("bfloat16", 1), ("bfloat16", 3), ("float32", 1), ("uint32", 3)):
    for buf in ("L1", "DRAM"):
        shard([16, w], dt, "RM", "HEIGHT", G, [4, w], buf=buf, q="odd width")
        shard([16, 4 * w], dt, "RM", "WIDTH", G, [16, w], buf=buf, q="odd width")
        shard([16, 4 * w], dt, "RM", "BLOCK", G, [16, w], buf=buf, q="odd width")
for buf in ("L1_SMALL", "TRACE"):
    shard([64, 32], "bfloat16", "TILE", "HEIGHT", G, [32, 32], buf=buf, q="other memories")
    shard([64, 6], "uint16", "RM", "HEIGHT", G, [16, 6], buf=buf, q="other memories")
    inter([64, 32], "bfloat16", "TILE", buf)
shard([64 * 64, 32], "bfloat16", "TILE", "HEIGHT", [[0, 0, 7, 7]], [64 * 32, 32], buf="L1_SMALL", q="other memories")
# several faults at once, in pairs, so that the order of checks shows
for lay in ("TILE", "RM"):
    for dt in ("bfloat16", "bfloat8_b"):
        for kind in KINDS:
            for ranges in (G, [[0, 0, 20, 0]], [[0, 0, 1, 0], [0, 2, 1, 2]]):
                for sh in ([31, 32], [64, 64], [32, 64], [1, 1]):
                    if dt == "bfloat16" or sh in ([31, 32], [1, 1]):
                        shard([320, 320], dt, lay, kind, ranges, sh, q="faults")


def sets(name, fn):
    rec = dict(q="construct", name=name)
    try:
        rec.update(ok=True, got=fn())
    except Exception as e:
        rec.update(ok=False, error=err(e))
    out.append(rec)


for kind in KINDS:
    for buf in ("L1", "DRAM"):
        mc = ttnn.MemoryConfig(KINDS[kind], getattr(BT, buf))
        for lay in ("TILE",):  # with RM the refusal text varies from run to run
            rec = dict(q="no shard spec", kind=kind, buffer=buf, layout=lay)
            out.append(place(dev, rec, lambda: tensor_on(dev, [64, 64], "bfloat16", lay, mc), buf))
sets("interleaved with shard spec", lambda: mem(ttnn.MemoryConfig(TML.INTERLEAVED, BT.L1, ttnn.ShardSpec(grid((0, 0, 1, 0)), [32, 32], ORI["R"]))))
for shape3 in ([32], [32, 32, 32], [-1, 32], [1.5, 32]):
    sets("ShardSpec shape " + str(shape3), lambda: list(ttnn.ShardSpec(grid((0, 0, 1, 0)), shape3, ORI["R"]).shape))
sets("ShardSpec empty grid", lambda: str(ttnn.ShardSpec(ttnn.CoreRangeSet([]), [32, 32], ORI["R"]).grid))
for kind in KINDS:
    shard([64, 64], "bfloat16", "TILE", kind, [], [32, 32], q="empty grid")

# tiles that are not 32x32
for th, tw in ((32, 32), (16, 32), (32, 16), (16, 16), (8, 32), (4, 32), (2, 32), (1, 32), (8, 16), (4, 16), (2, 16), (1, 16), (64, 32), (32, 8), (5, 32), (0, 32)):
    rec = dict(q="tile", tile=[th, tw])
    try:
        t = ttnn.Tile((th, tw))
        rec["tile_repr"] = str(t)
        rec["sizes"] = {dt: t.get_tile_size(getattr(ttnn, dt)) for dt in ALL}
        rec["ok"] = True
    except Exception as e:
        rec.update(ok=False, error=err(e))
        out.append(rec)
        continue
    out.append(rec)
    for dt in ("bfloat16", "bfloat8_b", "bfloat4_b", "uint8"):
        for buf in ("L1", "DRAM"):
            rec = dict(q="tile interleaved", tile=[th, tw], dtype=dt, buffer=buf, shape=[3, 70, 50])
            out.append(place(dev, rec, lambda: ttnn.allocate_tensor_on_device(
                ttnn.TensorSpec(ttnn.Shape([3, 70, 50]), getattr(ttnn, dt), ttnn.TILE_LAYOUT, getattr(BT, buf), t), dev), buf))
    for sh in ([16, 32], [32, 32], [40, 64], [24, 16]):
        for kind in ("HEIGHT", "BLOCK"):
            rec = dict(q="tile sharded", tile=[th, tw], kind=kind, shard=sh, grid=[[0, 0, 7, 3]], shape=[64, 32])
            out.append(place(dev, rec, lambda: ttnn.allocate_tensor_on_device(
                ttnn.TensorSpec(ttnn.Shape([64, 32]), ttnn.bfloat16, ttnn.TILE_LAYOUT, KINDS[kind],
                                ttnn.ShardSpec(grid((0, 0, 7, 3)), sh, ORI["R"]), BT.L1, t), dev), "L1"))
    rec = dict(q="tile with row major", tile=[th, tw])
    out.append(place(dev, rec, lambda: ttnn.allocate_tensor_on_device(
        ttnn.TensorSpec(ttnn.Shape([64, 32]), ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT, BT.L1, t), dev), "L1"))
write(sys.argv[1], device_head(dev, l1_small_size=8192), out)
