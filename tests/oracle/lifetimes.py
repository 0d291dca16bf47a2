#!/usr/bin/env python3
"""When does memory come back? del, views, shared tensors, deallocate with and without force, close and reopen. usage: lifetimes.py OUT.json"""
import gc
import sys

import numpy as np
import ttnn
from common import device_head, err, tensor_on, used, write

dev = ttnn.open_device(device_id=0, l1_small_size=0)
out = []
L1 = ttnn.L1_MEMORY_CONFIG


def new(shape=(64, 64)):
    return tensor_on(dev, list(shape), "bfloat16", "TILE", L1)


def ask(q, fn):
    rec = dict(q=q)
    try:
        rec.update(ok=True, got=fn())
    except Exception as e:
        rec.update(ok=False, error=err(e))
    gc.collect()
    rec["used_after"] = used(dev, "L1")
    out.append(rec)


def f():
    t = new()
    a = used(dev, "L1")
    del t
    return [a, used(dev, "L1")]
ask("del frees", f)


def f():
    t = new()
    u = t
    del t
    return [used(dev, "L1"), u.is_allocated()]
ask("another name keeps it", f)


def f():
    t = new()
    v = ttnn.reshape(t, [1, 64, 64])
    a = [t.buffer_address() == v.buffer_address(), used(dev, "L1")]
    del t
    return a + [used(dev, "L1"), v.is_allocated()]
ask("view keeps the buffer", f)


def f():
    t = new()
    v = ttnn.reshape(t, [1, 64, 64])
    ttnn.deallocate(v)
    return [t.is_allocated(), v.is_allocated(), used(dev, "L1")]
ask("deallocate(view), force default", f)


def f():
    t = new()
    v = ttnn.reshape(t, [1, 64, 64])
    ttnn.deallocate(v, False)
    return [t.is_allocated(), v.is_allocated(), used(dev, "L1")]
ask("deallocate(view, False)", f)


def f():
    t = new()
    v = ttnn.reshape(t, [1, 64, 64])
    ttnn.deallocate(t)
    return [t.is_allocated(), v.is_allocated(), used(dev, "L1")]
ask("deallocate(original)", f)


def f():
    t = new()
    v = ttnn.reshape(t, [1, 64, 64])
    ttnn.deallocate(t)
    return v.buffer_address()
ask("address of a view of a freed tensor", f)


def f():
    t = new()
    t.deallocate()
    return [t.is_allocated(), used(dev, "L1")]
ask("method deallocate", f)


def f():
    t = new()
    v = ttnn.reshape(t, [1, 64, 64])
    t.deallocate()
    return [t.is_allocated(), v.is_allocated(), used(dev, "L1")]
ask("method deallocate with a view alive", f)


def f():
    t = new()
    s = ttnn.to_memory_config(t, L1)      # same config: same tensor
    ttnn.deallocate(s)
    return [t.is_allocated(), s is t, used(dev, "L1")]
ask("to_memory_config same, free the result", f)


def f():
    t = new()
    m = ttnn.move(t)
    return [t.is_allocated(), m.is_allocated(), used(dev, "L1")]
ask("move", f)


def f():
    t = new()
    v = ttnn.reshape(t, [1, 64, 64])
    m = ttnn.move(t)
    return [t.is_allocated(), v.is_allocated(), m.is_allocated(), used(dev, "L1")]
ask("move with a view alive", f)


def f():
    t = new()
    v = ttnn.reshape(t, [1, 64, 64])
    m = ttnn.reallocate(t)
    return [t.is_allocated(), v.is_allocated(), m.is_allocated(), used(dev, "L1")]
ask("reallocate with a view alive", f)


def f():
    h = ttnn.Tensor(np.zeros((64, 64), np.float32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
    d = h.to(dev, L1)
    b = ttnn.from_device(d)
    return [d.is_allocated(), str(b.storage_type()), used(dev, "L1")]
ask("from_device keeps the device copy", f)


def f():
    d = new()
    e = ttnn.to_device(d, dev)
    return [d.buffer_address(), e.buffer_address(), used(dev, "L1")]
ask("to_device of a device tensor", f)


def f():
    d = new()
    e = ttnn.to_device(d, dev, memory_config=ttnn.DRAM_MEMORY_CONFIG)
    return [str(e.memory_config().buffer_type), used(dev, "L1")]
ask("to_device of a device tensor, other config", f)
ask("DeallocateBuffers", lambda: (new(), ttnn.device.DeallocateBuffers(dev), used(dev, "L1"))[-1])
keep = new()
ttnn.close_device(dev)
ask2 = dict(q="tensor after close_device")
try:
    ask2.update(ok=True, got=keep.is_allocated())
except Exception as e:
    ask2.update(ok=False, error=err(e))
dev = ttnn.open_device(device_id=0, l1_small_size=0)
ask2["used_after"] = used(dev, "L1")
out.append(ask2)
ask("allocate after reopen", lambda: new().buffer_address())
write(sys.argv[1], device_head(dev), out)
