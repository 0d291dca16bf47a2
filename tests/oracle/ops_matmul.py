#!/usr/bin/env python3
"""matmul and linear: where results go, what is refused. usage: ops_matmul.py OUT.json"""
import sys

import matmul_cases as cases
import ttnn
from common import KINDS, device_head, tensor_on, write
from ops_common import Recorder, mc

PLACES = {"DRAM": ttnn.DRAM_MEMORY_CONFIG, "L1": ttnn.L1_MEMORY_CONFIG, "HEIGHT": ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG, "WIDTH": ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG, "BLOCK": ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG}


def inputs(dev, c):
    first = PLACES[c.get("place_a") or "DRAM"]
    if c.get("shard"):
        kind, cores, shape = c["shard"]
        first = mc(kind, [tuple(cores)], shape)
    made = [tensor_on(dev, c["a"], c.get("dtype_a") or "bfloat16", c.get("layout_a") or "TILE", first),
            tensor_on(dev, c["b"], c.get("dtype_b") or "bfloat16", c.get("layout_b") or "TILE", PLACES[c.get("place_b") or "DRAM"])]
    if c.get("bias"):
        made.append(tensor_on(dev, c["bias"], c.get("dtype_b") or "bfloat16", "TILE", ttnn.DRAM_MEMORY_CONFIG))
    return made


def call(dev, c, a, b, bias=None):
    kw = {}
    if c.get("place"):
        kw["memory_config"] = ttnn.MemoryConfig(KINDS[c["shard"][0]], ttnn.BufferType.L1) if c["place"] == "SAME" else PLACES[c["place"]]
    for name in ("transpose_a", "transpose_b", "activation"):
        if c.get(name):
            kw[name] = c[name]
    if c.get("dtype"):
        kw["dtype"] = getattr(ttnn, c["dtype"])
    if c.get("core_grid"):
        kw["core_grid"] = ttnn.CoreGrid(y=c["core_grid"][0], x=c["core_grid"][1])
    if c.get("compute"):
        fidelity, f32, l1 = c["compute"]
        kw["compute_kernel_config"] = ttnn.init_device_compute_kernel_config(dev.arch(), math_fidelity=getattr(ttnn.MathFidelity, fidelity), fp32_dest_acc_en=f32, packer_l1_acc=l1)
    return ttnn.linear(a, b, bias=bias, **kw) if bias is not None else ttnn.matmul(a, b, **kw)


if __name__ == "__main__":
    dev = ttnn.open_device(device_id=0, l1_small_size=0)
    R = Recorder(dev)
    small = lambda c: cases.macs(c) <= 1 << 27  # values are worked out where there is no mocked card
    for c in filter(small, cases.interleaved() + cases.refused() + cases.kinds() + cases.sharded() + cases.near() + cases.random_cases(7, 120)):
        R.ask("matmul", lambda: inputs(dev, c), lambda *x: call(dev, c, *x), case=c)
    write(sys.argv[1], device_head(dev), R.out)
