#!/usr/bin/env python3
"""Grid, banks and sizes of the card for several l1_small_size / trace_region_size values. usage: device_constants.py OUT.json"""
import sys

import ttnn
from common import device_head, err, last, view, write

out = []


def ask(**kw):
    rec = dict(asked=kw)
    try:
        dev = ttnn.open_device(device_id=0, **kw)
    except Exception as e:
        rec.update(ok=False, error=err(e))
        out.append(rec)
        return
    rec.update(ok=True, head=device_head(dev), dram_grid=[dev.dram_grid_size().x, dev.dram_grid_size().y],
               num_dram_channels=dev.num_dram_channels() if hasattr(dev, "num_dram_channels") else None)
    cg = dev.core_grid
    rec["core_grid"] = [cg.x, cg.y]
    rec["l1_size_per_core"] = dev.l1_size_per_core() if hasattr(dev, "l1_size_per_core") else None
    for kind in ("DRAM", "L1", "L1_SMALL", "TRACE"):
        v = view(dev, kind)
        rec[kind] = {k: getattr(v, k) for k in ("num_banks", "total_bytes_per_bank", "total_bytes_allocated_per_bank",
                                                "total_bytes_free_per_bank", "largest_contiguous_bytes_free_per_bank", "block_table")}
    # where does the first page of one tile land (interleaved)?
    rec["first_address"] = {}
    for kind in ("DRAM", "L1", "L1_SMALL"):
        try:
            t = ttnn.allocate_tensor_on_device(ttnn.Shape([32, 32]), ttnn.bfloat16, ttnn.TILE_LAYOUT, dev,
                                               ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, getattr(ttnn.BufferType, kind)))
            rec["first_address"][kind] = t.buffer_address()
            ttnn.deallocate(t)
        except Exception as e:
            rec["first_address"][kind] = err(e)
    ttnn.close_device(dev)
    out.append(rec)


for small in (0, 1, 16, 32, 1000, 8192, 9344, 16384, 24576, 79104):
    ask(l1_small_size=small)
for trace in (1, 1000, 1 << 20, (1 << 20) + 1, 23887872):
    ask(l1_small_size=0, trace_region_size=trace)
for worker in (0, 1000000, 1000001, 1393312, 1400000, 1461120):
    ask(l1_small_size=0, worker_l1_size=worker)
ask(l1_small_size=1 << 21)
ask(num_command_queues=2)
ask(num_command_queues=3)
dev = ttnn.open_device(device_id=0)
head = device_head(dev, dram_alignment=ttnn.get_dram_alignment(), l1_alignment=ttnn.get_l1_alignment(),
                   default_l1_small=ttnn.device.DEFAULT_L1_SMALL_SIZE, default_trace=ttnn.device.DEFAULT_TRACE_REGION_SIZE,
                   max_worker_l1_unreserved=ttnn.get_max_worker_l1_unreserved_size(), arch_name=ttnn.get_arch_name())
write(sys.argv[1], head, out)
