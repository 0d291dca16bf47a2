#!/usr/bin/env python3
"""Random 2-D sharded placements: what is accepted, how big, where, and why not. usage: shard_random.py OUT.json [SEED [COUNT]]"""
import math
import sys

import ttnn
from common import BT, KINDS, ORI, device_head, grid, place, rng, tensor_on, write

SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 420
R = rng(SEED)
dev = ttnn.open_device(device_id=0, l1_small_size=0)
GX, GY = dev.compute_with_storage_grid_size().x, dev.compute_with_storage_grid_size().y
DTYPES = ["bfloat16"] * 4 + ["float32", "bfloat8_b", "bfloat8_b", "bfloat4_b", "uint8", "uint16", "uint32", "int32"]


def random_grid(buffer):
    if buffer == "DRAM":
        gx, gy = dev.dram_grid_size().x, 1
    else:
        gx, gy = GX, GY
    p = R.random()
    w, h = R.randint(1, gx), R.randint(1, gy)
    if p < 0.55:
        return [[0, 0, w - 1, h - 1]]
    if p < 0.75:                                   # not at the origin
        x, y = R.randint(0, gx - w), R.randint(0, gy - h)
        return [[x, y, x + w - 1, y + h - 1]]
    if p < 0.93 and h > 1:                         # full rows, then part of one
        last = R.randint(1, w)
        return [[0, 0, w - 1, h - 2], [0, h - 1, last - 1, h - 1]]
    if p < 0.97 and gy > 3:                        # two separate pieces
        return [[0, 0, w - 1, 0], [R.randint(0, gx - 1), 2, gx - 1, R.randint(2, gy - 1)]]
    return [[0, 0, gx + R.randint(0, 1), h - 1]]   # beyond the card


def random_shape(lay):
    rank = R.choice([1, 2, 2, 3, 4, 4, 4, 5])
    big = [32 * R.randint(1, 40), R.randint(1, 1500), 8 * R.randint(1, 100)]
    wide = [32 * R.randint(1, 16), R.randint(1, 300), 8 * R.randint(1, 40)]
    shape = [R.choice(big), R.choice(wide)][-min(rank, 2):]
    while len(shape) < rank:
        shape.insert(0, R.randint(1, 4))
    return shape


def up(a, b):
    return -(-a // b) * b


def random_shard(shape, lay, kind, ori, ranges):
    """Mostly something sensible, sometimes wrong."""
    w = shape[-1]
    if lay == "TILE":
        h = (up(shape[-2], 32) if len(shape) > 1 else 32) * math.prod(shape[:-2])
        w = up(w, 32)
    else:
        h = math.prod(shape[:-1])
    cores = sum((c - a + 1) * (d - b + 1) for a, b, c, d in ranges)
    bx = max(r[2] for r in ranges) - min(r[0] for r in ranges) + 1
    by = max(r[3] for r in ranges) - min(r[1] for r in ranges) + 1
    if ori == "C":
        bx, by = by, bx
    sh, sw = {"HEIGHT": (-(-h // cores), w), "WIDTH": (h, -(-w // cores)), "BLOCK": (-(-h // by), -(-w // bx))}[kind]
    if lay == "TILE" and R.random() < 0.9:
        sh, sw = up(sh, 32), up(sw, 32)
    if lay == "RM" and kind != "HEIGHT" and R.random() < 0.5:
        sw = up(sw, 8)
    p = R.random()
    if p < 0.06:
        sh += R.choice([1, 32])
    elif p < 0.12:
        sw += R.choice([1, 8, 32])
    elif p < 0.18:
        sh = max(1, sh - R.choice([1, 32]))
    elif p < 0.24:
        sw = max(1, sw - R.choice([1, 32]))
    elif p < 0.27:
        sh, sw = sw, sh
    return [sh, sw]


out = []
for i in range(COUNT):
    buf = "L1" if R.random() < 0.8 else "DRAM"
    lay = R.choice(["TILE", "TILE", "RM"])
    dt = R.choice(DTYPES)
    if lay == "RM" and dt in ("bfloat8_b", "bfloat4_b") and R.random() < 0.8:
        dt = "bfloat16"
    kind = R.choice(["HEIGHT", "WIDTH", "BLOCK"])
    ori = R.choice(["R", "R", "C"])
    ranges = random_grid(buf)
    shape = random_shape(lay)
    shard = random_shard(shape, lay, kind, ori, ranges)
    rec = dict(shape=shape, dtype=dt, layout=lay, kind=kind, orient=ori, buffer=buf, grid=ranges, shard=shard)

    def make():
        mc = ttnn.MemoryConfig(KINDS[kind], getattr(BT, buf), ttnn.ShardSpec(grid(*ranges), shard, ORI[ori]))
        return tensor_on(dev, shape, dt, lay, mc)

    out.append(place(dev, rec, make, buf))
write(sys.argv[1], device_head(dev, seed=SEED), out)
