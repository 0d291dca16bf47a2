#!/usr/bin/env python3
"""Random walks of allocation and deallocation; addresses after each step, out-of-memory texts, block tables and the
three report files. usage: alloc_walks.py OUT.json [SEED]"""
import glob
import os
import sys
import tempfile

HERE = os.getcwd()
OUT = os.path.abspath(sys.argv[1])
TMP = tempfile.mkdtemp()
os.environ["TT_METAL_LOGS_PATH"] = TMP     # before the import: the reports go under it
os.chdir(TMP)

import ttnn  # noqa: E402
from common import BT, KINDS, ORI, TML, device_head, err, grid, rng, tensor_on, view, write  # noqa: E402

SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 11
out = []


def table(dev, kind):
    """Rows of the block table: id, address, size, previous, next, allocated."""
    num = lambda s: -1 if int(s) > 1 << 62 else int(s)
    return [[int(b["blockID"]), int(b["address"]), int(b["size"]), num(b["prevID"]), num(b["nextID"]), b["allocated"]]
            for b in view(dev, kind).block_table]


def totals(dev, kind):
    v = view(dev, kind)
    return [v.total_bytes_allocated_per_bank, v.total_bytes_free_per_bank, v.largest_contiguous_bytes_free_per_bank]


def reports(dev, prefix):
    ttnn.dump_device_memory_state(dev, prefix=prefix)
    found = {}
    for f in sorted(glob.glob(os.path.join(TMP, "generated", "reports", prefix + "*"))):
        with open(f) as h:
            found[os.path.basename(f)[len(prefix):]] = h.read()
    return found


def make(dev, what):
    kind, a, b = what
    if kind == "L1h":      # height sharded: a cores, b tiles each
        mc = ttnn.MemoryConfig(KINDS["HEIGHT"], BT.L1, ttnn.ShardSpec(grid((0, 0, a - 1, 0)), [32 * b, 32], ORI["R"]))
        return tensor_on(dev, [32 * a * b, 32], "bfloat16", "TILE", mc)
    if kind == "L1r":      # row major, b bytes per stick, a sticks on each of 4 cores
        mc = ttnn.MemoryConfig(KINDS["HEIGHT"], BT.L1, ttnn.ShardSpec(grid((0, 0, 3, 0)), [a, b], ORI["R"]))
        return tensor_on(dev, [4 * a, b], "uint8", "RM", mc)
    if kind == "SMALL":
        mc = ttnn.MemoryConfig(KINDS["HEIGHT"], BT.L1_SMALL, ttnn.ShardSpec(grid((0, 0, 3, 0)), [a, b], ORI["R"]))
        return tensor_on(dev, [4 * a, b], "uint8", "RM", mc)
    buf = {"L1i": BT.L1, "DRAM": BT.DRAM}[kind]
    return tensor_on(dev, [a, b], "bfloat16", "TILE", ttnn.MemoryConfig(TML.INTERLEAVED, buf))


def pick(R, scale):
    k = R.choice(["L1h"] * 4 + ["L1r", "L1i", "L1i", "DRAM", "DRAM", "SMALL"])
    if k == "L1h":
        return [k, R.randint(1, 8), R.choice([R.randint(1, 6), R.randint(1, 40), R.randint(20, scale)])]
    if k == "L1r":
        return [k, R.randint(1, 60), R.randint(1, 200)]
    if k == "SMALL":
        return [k, R.randint(1, 20), R.randint(1, 120)]
    n = R.choice([1, 4, 40])
    return [k, 32 * R.randint(1, n), 32 * R.randint(1, 80)]


def walk(name, l1_small, steps, scale, p_free, tables=()):
    R = rng(SEED * 1000 + len(out))
    dev = ttnn.open_device(device_id=0, l1_small_size=l1_small)
    live, rec = [], dict(walk=name, l1_small_size=l1_small, ok=True, steps=[])
    n = 0
    for i in range(steps):
        if live and R.random() < p_free:
            j = R.randrange(len(live))
            num, t = live.pop(j)
            ttnn.deallocate(t)
            s = ["free", num]
        else:
            w = pick(R, scale)
            try:
                t = make(dev, w)
                live.append((n, t))
                s = ["alloc", n, w, t.buffer_address()]
                n += 1
            except Exception as e:
                s = ["fail", w, err(e)["text"]]
        if i in tables:
            s.append({k: table(dev, k) for k in ("L1", "DRAM", "L1_SMALL")})
        rec["steps"].append(s)
    rec["totals"] = {k: totals(dev, k) for k in ("DRAM", "L1", "L1_SMALL", "TRACE")}
    rec["table"] = {k: table(dev, k) for k in ("L1", "DRAM", "L1_SMALL")}
    rec["reports"] = reports(dev, "w%d_" % len(out))
    for _, t in live:
        ttnn.deallocate(t)
    rec["table_after_all_free"] = {k: table(dev, k) for k in ("L1", "DRAM", "L1_SMALL")}
    ttnn.close_device(dev)
    out.append(rec)


walk("small and quiet", 8192, 25, 30, 0.3, tables=range(25))
walk("medium", 16384, 120, 60, 0.42)
walk("fills up", 4096, 160, 220, 0.35)
walk("fills up more", 0, 160, 400, 0.45)
walk("churn", 1000, 220, 90, 0.49)
write(OUT, dict(seed=SEED), out)
os.chdir(HERE)
