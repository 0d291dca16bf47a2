#!/usr/bin/env python3
"""Host tensors: what ttnn.Tensor(numpy, ...) accepts, and the values it makes. usage: host_tensors.py OUT.json
Values are those of to_numpy(), or of to_list() for bfloat16."""
import sys

import numpy as np
import ttnn
from common import LAYOUTS, device_head, err, last, write

dev = ttnn.open_device(device_id=0, l1_small_size=0)
out = []
DT = ["bfloat16", "float32", "bfloat8_b", "bfloat4_b", "uint8", "uint16", "uint32", "int32"]
NP = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "bool": np.bool_}


def val(a):
    a = np.asarray(a)
    return {"dtype": str(a.dtype), "shape": list(a.shape), "values": [v if isinstance(v, (int, bool)) else repr(v) for v in a.reshape(-1)[:40].tolist()]}


def flat(v):
    return [x for y in v for x in flat(y)] if isinstance(v, list) else [v]


def ask(q, fn, **note):
    rec = dict(q=q, **note)
    try:
        t = fn()
        rec.update(ok=True)
        if isinstance(t, ttnn.Tensor):
            rec.update(dtype=last(t.dtype), layout=last(t.layout), shape=list(t.shape), padded=list(t.padded_shape))
            if t.dtype == ttnn.bfloat16:  # numpy has no bfloat16: read it through to_list
                rec["list"] = [repr(float(v)) for v in flat(t.to_list())][:40]
            else:
                rec["numpy"] = val(t.to_numpy())
        else:
            rec["got"] = t
    except Exception as e:
        rec.update(ok=False, error=err(e))
    out.append(rec)


ints = [0, 1, 2, 3, 100, 127, 128, 200, 255, 256, 257, 1000]
for k, n in NP.items():
    with np.errstate(all="ignore"):
        a = np.array(ints).astype(n).reshape(3, 4)
    for d in [None] * (k not in ("f64", "u64")) + DT:  # float64/uint64 without a dtype abort the real process
        for lay in ("RM", "TILE"):
            if d is None or lay == "TILE" or d not in ("bfloat8_b", "bfloat4_b") or k == "f32":
                ask("numpy", lambda: ttnn.Tensor(a, getattr(ttnn, d) if d else None, layout=LAYOUTS[lay]), np=k, to=d, layout=lay)
ask("no layout", lambda: ttnn.Tensor(np.zeros((3, 4), np.float32), ttnn.bfloat16))
ask("no layout bfp8", lambda: ttnn.Tensor(np.zeros((3, 4), np.float32), ttnn.bfloat8_b))
ask("nothing", lambda: ttnn.Tensor(np.zeros((3, 4), np.float32)))
f = np.array([0.4, 0.5, 0.6, 1.5, 2.5, -0.5, -1.5, -1.0, 254.5, 255.5, 300.7, 65535.4, 65536.0, 70000.9, 2147483520.0, 2147483648.0, 4294967040.0, 4294967296.0, 1e20, -1e20, np.inf, -np.inf, np.nan, -2147483648.0], np.float32)
for d in ("uint8", "uint16", "uint32", "int32", "bfloat16"):
    ask("float to int", lambda: ttnn.Tensor(f, getattr(ttnn, d)), to=d, values=[repr(float(x)) for x in f])
i = np.array([0, 1, -1, 255, 256, 257, 65535, 65536, 65537, 16777217, 2147483647, -2147483648, 33554433, 8388609], np.int32)
for d in DT:
    if d not in ("bfloat8_b", "bfloat4_b"):
        ask("int32 to", lambda: ttnn.Tensor(i, getattr(ttnn, d)), to=d, values=i.tolist())
u = np.array([0, 1, 255, 256, 65535, 65536, 4294967295, 2147483648, 16777217, 4294967040], np.uint32)
for d in DT:
    if d not in ("bfloat8_b", "bfloat4_b"):
        ask("uint32 to", lambda: ttnn.Tensor(u, getattr(ttnn, d)), to=d, values=u.tolist())
# padding value: read the padded storage back through to_layout
for d in ("bfloat16", "float32", "uint32", "bfloat8_b"):
    for pv in (None, 7.0):
        def padded():
            t = ttnn.Tensor(np.ones((1, 2), np.float32), getattr(ttnn, d), layout=ttnn.TILE_LAYOUT, **({"pad_value": pv} if pv is not None else {}))
            return [float(v) for v in flat(t.to(ttnn.ROW_MAJOR_LAYOUT).to_list())[:8]] if d != "bfloat8_b" else list(t.padded_shape)
        ask("pad value", padded, to=d, pad_value=pv)
# to_layout, to_dtype, typecast on host
base = lambda d, lay: ttnn.Tensor(np.arange(12, dtype=np.float32).reshape(3, 4), getattr(ttnn, d), layout=LAYOUTS[lay])
for d in DT:
    for a, b in (("RM", "TILE"), ("TILE", "RM"), ("TILE", "TILE")):
        if a == "TILE" or d not in ("bfloat8_b", "bfloat4_b"):
            ask("host to_layout", lambda: ttnn.to_layout(base(d, a), LAYOUTS[b]), dtype=d, a=a, b=b)
            ask("host .to(layout)", lambda: base(d, a).to(LAYOUTS[b]), dtype=d, a=a, b=b)
for a in DT:
    for b in DT:
        ask("host to_dtype", lambda: ttnn.to_dtype(base(a, "TILE"), getattr(ttnn, b)), a=a, b=b)
ask("host typecast", lambda: ttnn.typecast(base("bfloat16", "TILE"), ttnn.float32))
ask("host to_dtype RM to bfp8", lambda: ttnn.to_dtype(base("bfloat16", "RM"), ttnn.bfloat8_b))
for shape in ([], [1], [0], [2, 0], [1, 1, 1, 1, 1, 2]):
    for lay in ("RM", "TILE"):
        ask("shapes", lambda: ttnn.Tensor(np.ones(shape, np.float32), ttnn.bfloat16, layout=LAYOUTS[lay]), shape_in=shape, layout=lay)
for tile in ((16, 32), (32, 16), (8, 32), (1, 32)):
    for d in ("bfloat16", "bfloat8_b", "uint16"):
        ask("tiles", lambda: ttnn.Tensor(np.arange(60, dtype=np.float32).reshape(3, 20), getattr(ttnn, d), layout=ttnn.TILE_LAYOUT, tile=ttnn.Tile(tile)), tile=list(tile), to=d)
ask("tile with RM", lambda: ttnn.Tensor(np.ones((3, 4), np.float32), ttnn.bfloat16, layout=ttnn.ROW_MAJOR_LAYOUT, tile=ttnn.Tile((16, 32))))
ask("list data", lambda: ttnn.Tensor([1.0, 2.0, 3.0, 4.0], [2, 2], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT))
ask("list data wrong size", lambda: ttnn.Tensor([1.0, 2.0, 3.0], [2, 2], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT))
ask("list data tile", lambda: ttnn.Tensor([1.0, 2.0, 3.0, 4.0], [2, 2], ttnn.bfloat8_b, ttnn.TILE_LAYOUT))
ask("fortran order", lambda: ttnn.Tensor(np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)), ttnn.float32))
ask("strided", lambda: ttnn.Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2], ttnn.float32))
ask("reshape host", lambda: base("float32", "RM").reshape([4, 3]))
ask("reshape host tile", lambda: base("float32", "TILE").reshape([4, 3]))
ask("from_device round trip spec", lambda: ttnn.from_device(base("float32", "TILE").to(dev)))
ask("to_device", lambda: list(ttnn.to_device(base("float32", "TILE"), dev).padded_shape))
ask("to device positional", lambda: str(base("float32", "TILE").to(dev, ttnn.L1_MEMORY_CONFIG).memory_config().buffer_type))
ask("cpu", lambda: base("float32", "TILE").to(dev).cpu())
ask("constructor on device", lambda: [ttnn.Tensor(np.ones((3, 4), np.float32), ttnn.bfloat16, dev, ttnn.TILE_LAYOUT, ttnn.L1_MEMORY_CONFIG).buffer_address()])
ask("zeros host", lambda: ttnn.zeros([2, 2], ttnn.float32, ttnn.ROW_MAJOR_LAYOUT))
ask("full host", lambda: ttnn.full([2, 2], 3.5, ttnn.float32, ttnn.ROW_MAJOR_LAYOUT))
ask("ones default", lambda: ttnn.ones([2, 2]))
ask("slice host", lambda: ttnn.slice(base("float32", "RM"), [0, 1], [2, 3]))
ask("pad host", lambda: ttnn.pad(base("float32", "RM"), [(0, 1), (0, 2)], 9.0))
ask("pad_to_tile", lambda: base("float32", "RM").pad_to_tile(5.0))
ask("unpad", lambda: base("float32", "RM").unpad([0, 1], [2, 3]))
write(sys.argv[1], device_head(dev), out)
