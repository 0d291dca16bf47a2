"""Shared by the oracle scripts: refusal text, small records, and a seeded random source.

Every script here uses only the public ttnn API, so it runs unchanged on the real wheel (with
TT_METAL_MOCK_CLUSTER_DESC_PATH set) and on our own `ttnn` shim.
"""
import json
import random
import re

import ttnn

LAYOUTS = {"TILE": ttnn.TILE_LAYOUT, "RM": ttnn.ROW_MAJOR_LAYOUT}
BT = ttnn.BufferType
TML = ttnn.TensorMemoryLayout
ORI = {"R": ttnn.ShardOrientation.ROW_MAJOR, "C": ttnn.ShardOrientation.COL_MAJOR}
KINDS = {"HEIGHT": TML.HEIGHT_SHARDED, "WIDTH": TML.WIDTH_SHARDED, "BLOCK": TML.BLOCK_SHARDED}


def err(e):
    """Type, source place and text of a refusal, cut the same way as shard_specs.py."""
    t = str(e).split("backtrace:")[0]
    loc = re.search(r"@ (?:/project/)?(\S+:\d+)", t)
    text = re.sub(r"\s+", " ", t.split("info:")[-1]).strip()[:500]
    if isinstance(e, TypeError):  # binding signatures differ between implementations: keep the first sentence only
        text = re.split(r"\. The following|\. Called with", text)[0][:160]
    return {"type": type(e).__name__, "at": loc.group(1) if loc else "", "text": text}


def grid(*ranges):
    """CoreRangeSet from (x0, y0, x1, y1) tuples."""
    return ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(a, b), ttnn.CoreCoord(c, d)) for a, b, c, d in ranges])


def last(x):
    return str(x).split(".")[-1]


def mem(m):
    """A memory config as plain data."""
    r = {"layout": last(m.memory_layout), "buffer": last(m.buffer_type)}
    s = m.shard_spec
    if s is not None:
        r.update(shard=list(s.shape), grid=str(s.grid), orient=last(s.orientation))
    n = m.nd_shard_spec
    if n is not None:
        r["nd"] = {"shard": list(n.shard_shape), "grid": str(n.grid), "orient": last(n.orientation),
                   "strategy": last(n.shard_distribution_strategy)}
    return r


def view(dev, kind):
    return ttnn.get_memory_view(dev, getattr(BT, kind))


def used(dev, kind):
    return view(dev, kind).total_bytes_allocated_per_bank


def events_of(nodes):
    """Of a captured graph: programs with the buffers that a core has of its own, tensors in L1 that come (+) and go (-)."""
    out = []
    for node in nodes:
        kind, p = node["node_type"], node["params"] or {}
        if kind == "function_start" and "::" not in p["name"]:
            out.append([p["name"].removesuffix("DeviceOperation"), []])
        elif kind in ("dataflow_buffer_allocate", "circular_buffer_allocate"):
            if p.get("globally_allocated", p.get("borrows_memory")) != "1":
                next(e for e in reversed(out) if e[0] not in "+-")[1].append(int(p["size"]))
        elif kind in ("buffer_allocate", "buffer_deallocate") and int(p["buffer_type"]) == 1:
            out.append(["+" if kind == "buffer_allocate" else "-", int(p["max_size_per_bank"])])
    return out


def device_head(dev, **more):
    g = dev.compute_with_storage_grid_size()
    return dict(arch=last(dev.arch()), grid=[g.x, g.y], l1_banks=view(dev, "L1").num_banks,
                l1_bytes_per_bank=view(dev, "L1").total_bytes_per_bank, dram_banks=view(dev, "DRAM").num_banks,
                dram_bytes_per_bank=view(dev, "DRAM").total_bytes_per_bank, **more)


def write(path, head, records):
    with open(path, "w") as f:
        f.write('{"device": ' + json.dumps(head) + ',\n "records": [\n  ' + ",\n  ".join(json.dumps(r) for r in records) + "\n ]}\n")
    ok = sum(1 for r in records if r.get("ok"))
    print(len(records), "records,", ok, "ok,", len(records) - ok, "other")


def rng(seed):
    return random.Random(seed)


def place(dev, rec, make, kind):
    """Run make() -> device tensor; put its placement (or the refusal) in rec; free it again."""
    u0 = used(dev, kind)
    t = None
    try:
        t = make()
        rec.update(ok=True, padded=list(t.padded_shape), page=t.buffer_page_size(), apage=t.buffer_aligned_page_size(),
                   pages=t.buffer_num_pages(), addr=t.buffer_address(), bank=used(dev, kind) - u0)
    except Exception as e:
        rec.update(ok=False, error=err(e))
    if t is not None:
        ttnn.deallocate(t)
    return rec


def tensor_on(dev, shape, dt, lay, mc):
    return ttnn.allocate_tensor_on_device(ttnn.Shape(shape), getattr(ttnn, dt), LAYOUTS[lay], dev, mc)
