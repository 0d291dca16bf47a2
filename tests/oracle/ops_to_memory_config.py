#!/usr/bin/env python3
"""to_memory_config between every pair of placements: specs, addresses, refusals. usage: ops_to_memory_config.py OUT.json"""
import sys

import ttnn
from common import device_head, write
from ops_common import CONFIGS, Recorder, source

dev = ttnn.open_device(device_id=0, l1_small_size=0)
R = Recorder(dev)
SRC = ["dram", "l1", "hs4", "hs4c", "hs3", "ws4", "bs22", "bs42c", "dhs4"]
for lay in ("TILE", "RM"):
    for s in SRC:
        for t in CONFIGS:
            if lay == "RM" and t in ("hs4c", "hs3", "bs42", "none_hs", "none_bs"):  # none_*: the refusal text varies from run to run
                continue
            R.ask("to_memory_config", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.to_memory_config(x, CONFIGS[t]()), layout=lay, src=s, dst=t)
# odd shapes
for shape in ([1, 3, 50, 70], [5, 130], [7], [2, 1, 96, 20]):
    for lay in ("TILE", "RM"):
        for s, t in (("dram", "l1"), ("l1", "dram"), ("l1", "l1")):
            R.ask("to_memory_config", lambda: [source(dev, s, shape, lay=lay)], lambda x: ttnn.to_memory_config(x, CONFIGS[t]()), layout=lay, src=s, dst=t, shape=shape)
            R.ask("to_memory_config", lambda: [source(dev, s, shape, lay=lay)], lambda x: ttnn.to_memory_config(x, CONFIGS[t](), ttnn.float32), layout=lay, src=s, dst=t, shape=shape, dtype="float32")
for lay, dt in (("TILE", "bfloat8_b"), ("TILE", "float32"), ("RM", "float32"), ("TILE", "uint16")):
    for s, t in (("dram", "hs4"), ("hs4", "dram"), ("hs4", "ws4"), ("l1", "dram"), ("hs4", "hs4"), ("l1", "l1")):
        R.ask("to_memory_config", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.to_memory_config(x, CONFIGS[t](), dtype=getattr(ttnn, dt)), layout=lay, src=s, dst=t, dtype=dt)
write(sys.argv[1], device_head(dev), R.out)
