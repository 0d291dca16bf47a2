#!/usr/bin/env python3
"""reshard, interleaved_to_sharded, sharded_to_interleaved, move, reallocate, clone: specs, addresses,
refusals. usage: ops_memory.py OUT.json"""
import sys

import ttnn
from common import LAYOUTS, ORI, TML, device_head, grid, write
from ops_common import CONFIGS, Recorder, mc, source

dev = ttnn.open_device(device_id=0, l1_small_size=0)
R = Recorder(dev)
for lay in ("TILE", "RM"):
    for s in ("hs4", "ws4", "bs22", "dhs4", "l1") + (("hs48", "ws24") if lay == "RM" else ()):
        for t in ("hs4", "hs2", "ws4", "bs22", "dhs4", "dws4", "l1", "bad_w", "bad_n") + (("hs48", "ws24") if lay == "RM" else ("none_hs",)):
            R.ask("reshard", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.reshard(x, CONFIGS[t]()), layout=lay, src=s, dst=t)
for lay in ("TILE", "RM"):
    for s in ("dram", "l1", "hs4", "dhs4"):
        for t in ("hs4", "ws4", "bs22", "hs48", "ws24", "dhs4", "l1", "bad_n"):
            R.ask("interleaved_to_sharded", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.interleaved_to_sharded(x, CONFIGS[t]()), layout=lay, src=s, dst=t)
        for dt in ("bfloat8_b", "float32", "uint16"):
            R.ask("interleaved_to_sharded", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.interleaved_to_sharded(x, CONFIGS["hs4"](), dt and getattr(ttnn, dt)),
                  layout=lay, src=s, dst="hs4", dtype=dt)
    S = TML.HEIGHT_SHARDED
    for name, call in (
        ("CoreCoord, shape, scheme, orientation", lambda x: ttnn.interleaved_to_sharded(x, ttnn.CoreCoord(4, 1), [32, 128], S, ORI["R"])),
        ("CoreRangeSet, shape, scheme, orientation", lambda x: ttnn.interleaved_to_sharded(x, grid((0, 0, 3, 0)), [32, 128], S, ORI["R"])),
        ("CoreGrid, shape, scheme, orientation", lambda x: ttnn.interleaved_to_sharded(x, ttnn.CoreGrid(x=4, y=1), [32, 128], S, ORI["R"])),
        ("CoreRangeSet, dtype 5th", lambda x: ttnn.interleaved_to_sharded(x, grid((0, 0, 3, 0)), [32, 128], S, ORI["R"], ttnn.bfloat16)),
        ("keywords", lambda x: ttnn.interleaved_to_sharded(x, grid((0, 0, 3, 0)), [32, 128], S, ORI["R"], output_dtype=ttnn.bfloat16)),
        ("CoreCoord too small", lambda x: ttnn.interleaved_to_sharded(x, ttnn.CoreCoord(2, 1), [32, 128], S, ORI["R"])),
        ("CoreCoord block", lambda x: ttnn.interleaved_to_sharded(x, ttnn.CoreCoord(2, 2), [64, 64], TML.BLOCK_SHARDED, ORI["R"])),
        ("interleaved scheme", lambda x: ttnn.interleaved_to_sharded(x, ttnn.CoreCoord(2, 2), [64, 64], TML.INTERLEAVED, ORI["R"])),
    ):
        R.ask("interleaved_to_sharded", lambda: [source(dev, "dram", lay=lay)], call, layout=lay, src="dram", how=name)
    for s in ("hs4", "ws4", "bs22", "bs42c", "dhs4", "dram", "l1"):
        for t in ("dram", "l1", "hs2", None):
            R.ask("sharded_to_interleaved", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.sharded_to_interleaved(x, CONFIGS[t]()) if t else ttnn.sharded_to_interleaved(x),
                  layout=lay, src=s, dst=t)
    R.ask("sharded_to_interleaved", lambda: [source(dev, "hs4", lay=lay)], lambda x: ttnn.sharded_to_interleaved(x, ttnn.L1_MEMORY_CONFIG, ttnn.float32),
          layout=lay, src="hs4", dst="l1", dtype="float32")
    for s in ("dram", "l1", "hs4", "bs22", "dhs4"):
        for t in (None, "dram", "l1", "hs2"):
            for op in ("move", "reallocate", "clone"):
                f = getattr(ttnn, op)
                R.ask(op, lambda: [source(dev, s, lay=lay)], lambda x: f(x) if t is None else f(x, memory_config=CONFIGS[t]()), layout=lay, src=s, dst=t)
for dt in ("bfloat8_b", "float32", "uint32"):
    R.ask("clone", lambda: [source(dev, "l1")], lambda x: ttnn.clone(x, dtype=getattr(ttnn, dt)), src="l1", dtype=dt)


# move and reallocate with a hole above (L1) or below (DRAM) the tensor
def hole(cfg, below, size):
    """Something, then the tensor; then the something is freed."""
    first = source(dev, cfg, shape=(1, 1, 32 * below, 128))
    t = source(dev, cfg, shape=(1, 1, 32 * size, 128))
    ttnn.deallocate(first)
    return [t]


for cfg in ("l1", "dram"):
    for below, size in ((64, 16), (64, 64), (64, 128), (16, 256), (64, 160)):
        for op in ("move", "reallocate"):
            R.ask(op, lambda: hole(cfg, below, size), lambda x: getattr(ttnn, op)(x), src=cfg, hole=[below, size])
for below, size in ((1, 1), (1, 3), (3, 1), (2, 2)):
    def make():
        a = ttnn.allocate_tensor_on_device(ttnn.Shape([128 * below, 128]), ttnn.bfloat16, ttnn.TILE_LAYOUT, dev, mc("HEIGHT", [(0, 0, 3, 0)], [32 * below, 128]))
        t = ttnn.allocate_tensor_on_device(ttnn.Shape([128 * size, 128]), ttnn.bfloat16, ttnn.TILE_LAYOUT, dev, mc("HEIGHT", [(0, 0, 3, 0)], [32 * size, 128]))
        ttnn.deallocate(a)
        return [t]
    for op in ("move", "reallocate"):
        R.ask(op, make, lambda x: getattr(ttnn, op)(x), src="hs4", hole=[below, size])
write(sys.argv[1], device_head(dev), R.out)
