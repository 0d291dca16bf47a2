#!/usr/bin/env python3
"""The programs of averages over whole images, as NO_DISPATCH shows them. Real ttnn only. usage: global_average_buffers.py OUT.json

Of each program its name and the circular buffers that a core has of its own; tensors in L1 that come (+) and go (-) with their
bytes in a bank. Images that are pooled as any other are `pooled`: of those nothing more is said."""
import sys

import ttnn
from common import device_head, err, events_of, grid, last, rng, write

raw = ttnn._ttnn.graph
dev = ttnn.open_device(device_id=0, l1_small_size=16384)
TILE, ROWS = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT
g = dev.compute_with_storage_grid_size()
X, Y = g.x, g.y
CORES = X * Y
up = lambda a, b: -(-a // b) * b
r = rng(11)


def shards(rows, c, cores, tiled):
    h = up(-(-rows // cores), 32) if tiled else -(-rows // cores)
    full, rest = divmod(-(-rows // h), X)
    ranges = ([(0, 0, X - 1, full - 1)] if full else []) + ([(0, full, rest - 1, full)] if rest else [])
    spec = ttnn.ShardSpec(grid(*ranges), [h, up(c, 32) if tiled else c], ttnn.ShardOrientation.ROW_MAJOR)
    return ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, spec)


def case(n, h, w, c, dtype="bfloat8_b", layout="TILE", place="L1", f32=None, out="TILE"):
    return dict(n=n, h=h, w=w, c=c, dtype=dtype, layout=layout, place=place, f32=f32, out=out)


def ask(c):
    dtype, tiled, rows = getattr(ttnn, c["dtype"]), c["layout"] == "TILE", c["n"] * c["h"] * c["w"]
    place = {"L1": ttnn.L1_MEMORY_CONFIG, "DRAM": ttnn.DRAM_MEMORY_CONFIG}.get(c["place"]) or shards(rows, c["c"], c["place"], tiled)
    try:
        x = ttnn.allocate_tensor_on_device(ttnn.Shape([1, 1, rows, c["c"]]), dtype, TILE if tiled else ROWS, dev, place)
    except Exception:
        return
    more = {}
    if c["f32"] is not None:
        more["compute_kernel_config"] = ttnn.init_device_compute_kernel_config(
            dev.arch(), math_fidelity=ttnn.MathFidelity.LoFi, math_approx_mode=True, fp32_dest_acc_en=c["f32"], packer_l1_acc=True)
    if c["out"] == "TILE":
        more.update(output_layout=TILE, dtype=dtype)
    rec, y = dict(case=c), None
    raw.begin_graph_capture(raw.RunMode.NO_DISPATCH)
    try:
        y = ttnn.avg_pool2d(x, c["n"], c["h"], c["w"], c["c"], [c["h"], c["w"]], [1, 1], [0, 0, 0, 0], **more)
        rec["ok"] = True
    except Exception as e:
        rec.update(ok=False, error=err(e)["text"][:160])
    events = events_of(raw.end_graph_capture())
    if any(e[0] in ("Halo", "Pool2D") for e in events):
        rec = dict(case=c, ok=True, pooled=True)
    elif rec["ok"]:
        rec.update(out=[list(y.shape), last(y.dtype).lower(), last(y.layout), last(y.memory_config().buffer_type)], events=events)
    if rec["ok"]:
        out.append(rec)
    if y is not None:
        ttnn.deallocate(y)
    ttnn.deallocate(x)
    dev.clear_program_cache()


def long_sums():
    for h, w in ((8, 8), (18, 32), (19, 32), (20, 32), (32, 32), (48, 48), (56, 56), (64, 64), (112, 112)):
        for c in (16, 32, 64, 96, 1024, 1056, 2048):
            if h * w * c <= 1 << 22:
                yield case(1, h, w, c, f32=False)


def wide_sums():
    for per_core in (2, 3, 4, 5, 7, 8, 9):
        for columns in (per_core * CORES, per_core * CORES - CORES + 1):
            for f32 in (None, False, True):
                yield case(1, 4, 8, columns * 32, place="DRAM", f32=f32)
        yield case(1, 8, 8, per_core * CORES * 32, "bfloat16", "ROWS", "DRAM", False)


def batches():
    for n in (2, 3, 4, 5, 7, 8, 10, 13, 16, 31, 32, 33, 40, 65):
        for h, c in ((7, 64), (8, 64), (8, 48), (8, 1280), (32, 32)):
            for dtype, layout in (("bfloat8_b", "TILE"), ("bfloat16", "TILE"), ("bfloat16", "ROWS")):
                yield case(n, h, h, c, dtype, layout, r.choice(["L1", "L1", "DRAM", 8]), r.choice([None, False, True]))


def any_image(n):
    for _ in range(n):
        layout = r.choice(["TILE", "TILE", "ROWS"])
        h, w = r.choice([(1, 1), (4, 4), (5, 5), (7, 7), (8, 8), (8, 4), (10, 16), (14, 14), (16, 16), (24, 24), (25, 32), (28, 28), (33, 47), (40, 40)])
        dtype = r.choice(["bfloat16", "bfloat8_b"]) if layout == "TILE" else "bfloat16"
        out_layout = r.choice(["TILE", "ROWS"]) if dtype == "bfloat16" else "TILE"
        yield case(r.choice([1, 1, 2, 3, 5, 6, 16]), h, w, r.choice([16, 32, 48, 64, 100, 320, 512]), dtype, layout,
                   r.choice(["L1", "DRAM", 4, 20, CORES]), r.choice([None, False, True]), out_layout)


def long_rows():
    for tiles in (8, 15, 16, 19, 40):
        for c in (32, 512, 1056):
            for pixels in (32 * tiles, 32 * tiles - 31):
                yield case(1, pixels, 1, c, "bfloat16", "ROWS", "L1", False)
        yield case(3, tiles, 32, 48, "bfloat16", "ROWS", "DRAM", True)


def narrow_batches():
    for n in (2, 3, 9, 16, 23, 31, 33):
        for c in (8, 16, 20):
            yield case(n, 4, 8, c, r.choice(["bfloat16", "bfloat8_b"]), "TILE", "L1", False)


def block_floats_to_rows():
    for n in (1, 2, 5, 33):
        for h, c in ((8, 64), (16, 48), (32, 32), (8, 1280)):
            yield case(n, h, h, c, place=r.choice(["L1", 8]), f32=False, out="ROWS")


out = []
for many in (long_sums(), wide_sums(), batches(), any_image(120), long_rows(), narrow_batches(), block_floats_to_rows()):
    for c in many:
        ask(c)
write(sys.argv[1], device_head(dev), out)
