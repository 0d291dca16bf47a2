#!/usr/bin/env python3
"""max_pool2d and avg_pool2d: where results go, what is refused. usage: ops_pool.py OUT.json"""
import sys

import pool_cases as cases
import ttnn
from common import KINDS, device_head, tensor_on, write
from ops_common import Recorder, mc

PLACES = {"DRAM": ttnn.DRAM_MEMORY_CONFIG, "L1": ttnn.L1_MEMORY_CONFIG}


def inputs(dev, c):
    place = PLACES[c.get("in_place") or "DRAM"]
    if c.get("shard"):
        kind, cores, shape = c["shard"]
        place = mc(kind, [tuple(cores)], shape)
    return [tensor_on(dev, [1, 1, c.get("rows") or c["n"] * c["h"] * c["w"], c["c"]], c.get("in_dtype") or "bfloat16", "TILE" if c.get("in_layout") == "TILE" else "RM", place)]


def call(c, x, **kw):
    if c.get("scheme"):
        kw["applied_shard_scheme"] = KINDS[c["scheme"]]
    if c.get("place"):
        kw["memory_config"] = PLACES[c["place"]]
    if c.get("out_layout"):
        kw["output_layout"] = ttnn.TILE_LAYOUT
    if c.get("dtype"):
        kw["dtype"] = getattr(ttnn, c["dtype"])
    if "dealloc" in c:
        kw["deallocate_input"] = c["dealloc"]
    if "realloc" in c:
        kw["reallocate_halo_output"] = c["realloc"]
    args = (x, c["n"], c["h"], c["w"], c["c"], c["k"], c["s"], c["p"])
    if c["kind"] == "max":
        if c.get("indices"):
            kw["return_indices"] = True
        return ttnn.max_pool2d(*args, c.get("dil") or [1, 1], ceil_mode=bool(c.get("ceil")), **kw)
    if "include" in c:
        kw["count_include_pad"] = c["include"]
    if c.get("divisor"):
        kw["divisor_override"] = c["divisor"]
    return ttnn.avg_pool2d(*args, ceil_mode=bool(c.get("ceil")), **kw)


if __name__ == "__main__":
    dev = ttnn.open_device(device_id=0, l1_small_size=16384)
    R = Recorder(dev)
    for c in cases.plain() + cases.kinds() + cases.refused() + cases.random_cases(7, 100):
        R.ask("pool", lambda: inputs(dev, c), lambda x: call(c, x), case=c)
    write(sys.argv[1], device_head(dev), R.out)
