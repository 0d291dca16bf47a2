#!/usr/bin/env python3
"""concat, slice, pad on device tensors. usage: ops_shape.py OUT.json"""
import sys

import ttnn
from common import device_head, write
from ops_common import CONFIGS, Recorder, mc, source

dev = ttnn.open_device(device_id=0, l1_small_size=0)
R = Recorder(dev)


def cfg(t):
    return CONFIGS[t]() if t else None


# concat
for lay in ("TILE", "RM"):
    for shapes, dim in (([[1, 1, 64, 64], [1, 1, 64, 64]], 0), ([[1, 1, 64, 64], [1, 1, 32, 64]], 2), ([[1, 1, 64, 64], [1, 1, 64, 32]], 3), ([[1, 1, 64, 64], [1, 1, 64, 32]], -1),
                        ([[1, 1, 50, 70], [1, 1, 50, 70]], 2), ([[1, 1, 50, 70], [1, 1, 50, 70]], 3), ([[1, 1, 50, 70], [1, 1, 50, 70]], 1), ([[64, 64], [64, 64]], 1), ([[64], [64]], 0),
                        ([[1, 1, 64, 64], [1, 1, 64, 32]], 2), ([[1, 1, 64, 64]], 0), ([], 0), ([[1, 1, 64, 64], [1, 64, 64]], 2), ([[1, 1, 64, 64], [1, 1, 64, 64]], 5), ([[2, 3, 8, 8]] * 3, 1), ([[1, 1, 64, 15], [1, 1, 64, 3]], 3)):
        for t in (None, "l1"):
            R.ask("concat", lambda: [source(dev, "dram", s, lay=lay) for s in shapes], lambda *x: ttnn.concat(list(x), dim, **({"memory_config": cfg(t)} if t else {})), layout=lay, shapes=shapes, dim=dim, dst=t)
    for kinds, dim in ((["l1", "dram"], 2), (["hs4", "hs4"], 3), (["hs4", "hs4"], 2), (["hs4", "hs4"], 0), (["ws4", "ws4"], 2), (["ws4", "ws4"], 3), (["bs22", "bs22"], 3), (["hs4", "hs2"], 3), (["hs4", "dram"], 3)):
        for t in (None, "dram", "l1"):
            R.ask("concat", lambda: [source(dev, k, lay=lay) for k in kinds], lambda *x: ttnn.concat(list(x), dim, **({"memory_config": cfg(t)} if t else {})), layout=lay, src=kinds, dim=dim, dst=t)
    wide = lambda: mc("HEIGHT", [(0, 0, 3, 0)], [32, 256])
    R.ask("concat", lambda: [source(dev, "hs4", lay=lay) for _ in range(2)], lambda *x: ttnn.concat(list(x), 3, memory_config=wide()), layout=lay, src=["hs4", "hs4"], dim=3, dst="hs4 wide")
    tall = lambda: mc("WIDTH", [(0, 0, 3, 0)], [256, 32])
    R.ask("concat", lambda: [source(dev, "ws4", lay=lay) for _ in range(2)], lambda *x: ttnn.concat(list(x), 2, memory_config=tall()), layout=lay, src=["ws4", "ws4"], dim=2, dst="ws4 tall")
R.ask("concat", lambda: [source(dev, "dram"), source(dev, "dram", lay="RM")], lambda *x: ttnn.concat(list(x), 2), src="mixed layouts")
R.ask("concat", lambda: [source(dev, "dram"), source(dev, "dram", dt="float32")], lambda *x: ttnn.concat(list(x), 2), src="mixed dtypes")
# slice
for lay in ("TILE", "RM"):
    for shape, a, b, st in (([1, 1, 128, 128], [0, 0, 0, 0], [1, 1, 64, 64], None), ([1, 1, 128, 128], [0, 0, 32, 32], [1, 1, 96, 128], None), ([1, 1, 128, 128], [0, 0, 5, 7], [1, 1, 50, 70], None),
                            ([1, 1, 128, 128], [0, 0, 0, 0], [1, 1, 128, 128], None), ([1, 1, 128, 128], [0, 0, 0, 0], [1, 1, 128, 128], [1, 1, 2, 1]), ([1, 1, 128, 128], [0, 0, 0, 0], [1, 1, 128, 128], [1, 1, 1, 2]),
                            ([1, 1, 128, 128], [0, 0, 0, 3], [1, 1, 128, 100], [1, 1, 3, 4]), ([1, 1, 128, 128], [0, 0, 64, 0], [1, 1, 64, 128], None), ([1, 1, 128, 128], [0, 0, -32, 0], [1, 1, 128, -1], None),
                            ([1, 1, 128, 128], [0, 0, 0, 0], [1, 1, 200, 128], None), ([1, 1, 128, 128], [0, 0], [1, 1], None), ([1, 1, 128, 128], [0, 0, 0, 0], [1, 1, 0, 128], None),
                            ([1, 1, 128, 128], [0, 0, 0, 0], [1, 1, 128, 128], [1, 1, -1, 1]), ([4, 6, 64, 64], [1, 2, 0, 0], [3, 5, 64, 64], None), ([4, 6, 64, 64], [0, 0, 0, 0], [4, 6, 64, 64], [2, 3, 1, 1]), ([64, 64], [0, 32], [32, 64], None), ([64], [10], [20], None),
                            ([2, 2, 2, 64, 64], [0, 1, 0, 0, 0], [1, 2, 2, 32, 32], None)):
        for s in ("dram", "l1"):
            R.ask("slice", lambda: [source(dev, s, shape, lay=lay)], lambda x: ttnn.slice(x, a, b, st) if st else ttnn.slice(x, a, b), layout=lay, src=s, shape=shape, start=a, end=b, step=st)
    for s in ("hs4", "ws4", "bs22", "dhs4"):
        for a, b in (([0, 0, 0, 0], [1, 1, 64, 128]), ([0, 0, 0, 0], [1, 1, 128, 64]), ([0, 0, 3, 0], [1, 1, 67, 128])):
            for t in (None, "dram", "hs2"):
                R.ask("slice", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.slice(x, a, b, memory_config=cfg(t)) if t else ttnn.slice(x, a, b), layout=lay, src=s, start=a, end=b, dst=t)
    for name, ix in (("x[:, :, 0:32, :]", (slice(None), slice(None), slice(0, 32))), ("x[..., 0:64]", (Ellipsis, slice(0, 64))), ("x[0]", 0), ("x[:, :, ::2]", (slice(None), slice(None), slice(None, None, 2))), ("x[-1]", -1)):
        R.ask("getitem", lambda: [source(dev, "dram", [2, 3, 64, 64], lay=lay)], lambda x: x[ix], layout=lay, index=name)
# pad
for lay in ("TILE", "RM"):
    for shape, p in (([1, 1, 64, 64], [(0, 0), (0, 0), (0, 32), (0, 32)]), ([1, 1, 64, 64], [(0, 0), (0, 0), (32, 0), (0, 0)]), ([1, 1, 50, 70], [(0, 0), (0, 0), (0, 14), (0, 26)]), ([1, 1, 50, 70], [(0, 0), (0, 0), (0, 3), (0, 5)]),
                     ([1, 1, 50, 70], [(0, 0), (0, 0), (1, 3), (0, 5)]), ([1, 1, 64, 64], [(0, 1), (0, 2), (0, 0), (0, 0)]), ([64, 64], [(0, 32), (0, 0)]), ([64, 64], [(0, 32)]), ([64], [(0, 10)]), ([1, 1, 64, 64], [(0, 0)] * 4), ([1, 1, 64, 64], [(0, 0), (0, 0), (0, 0), (1, 2)]), ([1, 1, 64, 64], [(0, -1)] * 4)):
        for s in ("dram", "l1"):
            R.ask("pad", lambda: [source(dev, s, shape, lay=lay)], lambda x: ttnn.pad(x, p, 0.0), layout=lay, src=s, shape=shape, padding=p)
    for s in ("hs4", "ws4", "bs22"):
        for p in ([(0, 0), (0, 0), (0, 32), (0, 0)], [(0, 0), (0, 0), (0, 0), (0, 32)], [(0, 0), (0, 1), (0, 0), (0, 0)]):
            R.ask("pad", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.pad(x, p, 0.0), layout=lay, src=s, padding=p)
write(sys.argv[1], device_head(dev), R.out)
