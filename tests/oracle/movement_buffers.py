#!/usr/bin/env python3
"""The circular buffers of programs that move tensors, as NO_DISPATCH shows them. Real ttnn only. usage: movement_buffers.py OUT.json

A tensor is [shape, dtype, layout, place], a place "DRAM", "L1" or [layout, buffer type, shard, core ranges]; of each program the
most bytes that a core has of its own, without what lies in tensors."""
import re
import sys

import ttnn
from common import device_head, err, grid, last, rng, write

raw = ttnn._ttnn.graph
dev = ttnn.open_device(device_id=0, l1_small_size=0)
TILE, ROWS = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT
DRAM, L1 = ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG
g = dev.compute_with_storage_grid_size()
X, Y = g.x, g.y
BANKS = ttnn.get_memory_view(dev, ttnn.BufferType.DRAM).num_banks
up = lambda a, b: -(-a // b) * b
r = rng(7)


def first(n):
    """n cores, row by row."""
    full, rest = divmod(n, X)
    parts = ([(0, 0, X - 1, full - 1)] if full else []) + ([(0, full, rest - 1, full)] if rest else [])
    return grid(*parts)


def place(kind, shape, lay, cores=None, dram=False, unit_w=None):
    """Of a random number of cores, if none is given."""
    rows, width = shape[0] * shape[1] * shape[2], shape[3]
    unit = 32 if lay == TILE else 1
    rows, width = up(rows, unit) if lay == TILE else rows, up(width, 32) if lay == TILE else up(width, unit_w or 8)
    buf = ttnn.BufferType.DRAM if dram else ttnn.BufferType.L1
    if kind == "I":
        return ttnn.DRAM_MEMORY_CONFIG if dram else ttnn.L1_MEMORY_CONFIG
    if kind == "H":
        n = cores or r.randint(1, BANKS if dram else X * Y)
        h = up(-(-rows // n), unit)
        n = -(-rows // h)
        cs = grid((0, 0, n - 1, 0)) if dram else first(n)
        return ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, buf, ttnn.ShardSpec(cs, [h, width], ttnn.ShardOrientation.ROW_MAJOR))
    if kind == "W":
        n = r.randint(1, min(X * Y, max(1, width // 32)))
        w = up(-(-width // n), 32)
        n = -(-width // w)
        return ttnn.MemoryConfig(ttnn.TensorMemoryLayout.WIDTH_SHARDED, buf, ttnn.ShardSpec(first(n), [rows, w], ttnn.ShardOrientation.ROW_MAJOR))
    ny, nx = r.randint(1, Y), r.randint(1, min(X, max(1, width // 32)))
    h, w = up(-(-rows // ny), unit), up(-(-width // nx), 32)
    ny, nx = -(-rows // h), -(-width // w)
    return ttnn.MemoryConfig(ttnn.TensorMemoryLayout.BLOCK_SHARDED, buf, ttnn.ShardSpec(grid((0, 0, nx - 1, ny - 1)), [h, w], ttnn.ShardOrientation.ROW_MAJOR))


def tensor(shape, dtype, lay, mc):
    return ttnn.allocate_tensor_on_device(ttnn.Shape(shape), dtype, lay, dev, mc)


def ranges(cores):
    return [[int(n) for n in each] for each in re.findall(r"(\d+)-(\d+) - (\d+)-(\d+)", str(cores))]


def spot(m):
    if m.shard_spec is None:
        return last(m.buffer_type)
    return [last(m.memory_layout).removesuffix("_SHARDED"), last(m.buffer_type), list(m.shard_spec.shape), ranges(m.shard_spec.grid)]


def describe(x):
    return [list(x.shape), last(x.dtype).lower(), last(x.layout), spot(x.memory_config())]


def own_bytes(buffers):
    sums = {}
    for size, cores in buffers:
        for a, b, c, d in ranges(cores):
            for core in ((x, y) for x in range(a, c + 1) for y in range(b, d + 1)):
                sums[core] = sums.get(core, 0) + size
    return max(sums.values(), default=0)


out = []


def ask(op, make, call, **note):
    try:
        ins = make()
    except Exception:
        return
    rec = dict(op=op, inputs=[describe(x) for x in ins], **note)
    raw.begin_graph_capture(raw.RunMode.NO_DISPATCH)
    try:
        rec["output"] = describe(call(*ins))
        rec["ok"] = True
    except Exception as e:
        rec.update(ok=False, error=err(e)["text"][:160])
    programs = []
    for n in raw.end_graph_capture():
        p = n["params"] or {}
        if n["node_type"] == "function_start" and "::" not in p["name"]:
            programs.append([p["name"].removesuffix("DeviceOperation"), []])
        elif n["node_type"] in ("dataflow_buffer_allocate", "circular_buffer_allocate") and programs:
            if p.get("globally_allocated", p.get("borrows_memory")) != "1":
                programs[-1][1].append((int(p["size"]), p["core_range_set"]))
    rec["programs"] = [[name, own_bytes(buffers)] for name, buffers in programs]
    if rec["ok"]:
        out.append(rec)
    for t in ins:
        if t.is_allocated():
            ttnn.deallocate(t)


def shape_of():
    c = r.choice([3, 16, 24, 32, 48, 64, 96, 128, 160, 256, 320, 512, 1000, 1024, 2048])
    h = r.choice([1, 7, 16, 49, 64, 196, 400, 784, 1600, 3136, 6400, 12544, 25600])
    while h * c > 3_000_000:
        h = h // 2
    return [1, 1, h, c]


def dtypes(lay):
    return r.choice([ttnn.bfloat16, ttnn.bfloat8_b, ttnn.bfloat8_b] if lay == TILE else [ttnn.bfloat16])


def moves(n):
    for _ in range(n):
        lay = r.choice([TILE, TILE, ROWS])
        s, d = shape_of(), dtypes(lay)
        kinds = r.choice(["IH", "IB", "IW", "HI", "BI", "WI", "HH", "HB", "BH", "HW", "BW", "WB", "BB", "WH", "WW", "II"])
        a_dram = kinds[0] == "I" and r.random() < 0.7
        b_dram = kinds[1] == "I" and (r.random() < 0.7 or (kinds == "II"))
        if kinds == "II":
            a_dram, b_dram = r.choice([(True, False), (False, True)])
        try:
            to = place(kinds[1], s, lay, dram=b_dram)
        except Exception:
            continue
        ask("to_memory_config", lambda: [tensor(s, d, lay, place(kinds[0], s, lay, dram=a_dram))], lambda x: ttnn.to_memory_config(x, to))


def from_dram_shards(n):
    for _ in range(n):
        c = r.choice([3, 8, 12, 16, 32, 48, 64])
        h = r.choice([196, 1024, 3025, 12544, 13225, 50176, 52900, 102400, 168960])
        s = [1, 1, h, c]
        w = r.choice([8, 16, 16, 32])
        to = place("H", s, ROWS, cores=r.choice([None, X * Y, X * Y - 1, X * Y // 2]), unit_w=r.choice([w, 16]))
        ask("to_memory_config", lambda: [tensor(s, ttnn.bfloat16, ROWS, place("H", s, ROWS, cores=r.choice([BANKS, BANKS, None]), dram=True, unit_w=w))],
            lambda x: ttnn.to_memory_config(x, to))


def layouts(n):
    for _ in range(n):
        s = shape_of()
        lay = r.choice([TILE, ROWS])
        d = dtypes(lay)
        kind = r.choice("IIIHBW")
        dram = kind == "I" and r.random() < 0.6
        other = ROWS if lay == TILE else TILE
        dt = r.choice([None, ttnn.bfloat8_b]) if other == TILE else None
        ask("to_layout", lambda: [tensor(s, d, lay, place(kind, s, lay, dram=dram))],
            lambda x: ttnn.to_layout(x, other, dt) if dt else ttnn.to_layout(x, other))


def concats(n):
    for _ in range(n):
        parts = r.choice([2, 2, 2, 3, 4])
        s = shape_of()
        while s[2] * s[3] * parts > 3_000_000:
            s[2] //= 2
        lay = r.choice([TILE, ROWS])
        d = dtypes(lay)
        dim = r.choice([3, 3, 3, 2])
        shapes = [[1, 1, s[2], r.choice([s[3], up(s[3] // 2, 32), s[3] + 32])] if dim == 3 else [1, 1, r.choice([s[2], s[2] * 2]), s[3]] for _ in range(parts)]
        kind = r.choice("IIH")
        if kind == "H":
            n_c = r.randint(1, X * Y)
            def make():
                return [tensor(x, d, lay, place("H", x, lay, cores=n_c, unit_w=32)) for x in shapes]
            def call(*xs):
                sp = xs[0].memory_config().shard_spec
                w = sum(x.memory_config().shard_spec.shape[1] for x in xs)
                mc = ttnn.MemoryConfig(ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.BufferType.L1, ttnn.ShardSpec(sp.grid, [sp.shape[0], w], sp.orientation))
                return ttnn.concat(list(xs), dim=3, memory_config=mc)
            if dim == 3:
                ask("concat", make, call, dim=3)
        else:
            dram = r.random() < 0.7
            ask("concat", lambda: [tensor(x, d, lay, place("I", x, lay, dram=dram)) for x in shapes], lambda *xs: ttnn.concat(list(xs), dim=dim), dim=dim)


def slices(n):
    for _ in range(n):
        s = shape_of()
        if s[3] < 64:
            s[3] *= 4
        lay = r.choice([TILE, TILE, ROWS])
        d = dtypes(lay)
        kind = r.choice("IIHBW")
        dram = kind == "I" and r.random() < 0.6
        a = r.choice([0, s[3] // 2])
        b = a + s[3] // 2
        ask("slice", lambda: [tensor(s, d, lay, place(kind, s, lay, dram=dram))], lambda x: ttnn.slice(x, [0, 0, 0, a], [1, 1, s[2], b], [1, 1, 1, 1]), begin=a)


def casts(n):
    for _ in range(n):
        s = shape_of()
        d, e = r.choice([(ttnn.bfloat16, ttnn.bfloat8_b), (ttnn.bfloat8_b, ttnn.bfloat16), (ttnn.bfloat16, ttnn.float32)])
        kind = r.choice("IIHBW")
        dram = kind == "I" and r.random() < 0.6
        ask("typecast", lambda: [tensor(s, d, TILE, place(kind, s, TILE, dram=dram))], lambda x: ttnn.typecast(x, e))


def upsamples(n):
    for _ in range(n):
        b, h, w, c = r.choice([1, 2]), r.choice([4, 7, 10, 20, 33, 40, 66]), r.choice([4, 7, 10, 20, 32, 40]), r.choice([16, 32, 64, 128, 256, 512])
        s = [b, h, w, c]
        kind = r.choice("IIHHHB")
        dram = kind == "I" and r.random() < 0.7
        mode = r.choice(["nearest", "nearest", "bilinear"])
        k = r.choice([2, 2, 3, 4])
        ask("upsample", lambda: [tensor(s, ttnn.bfloat16, ROWS, place(kind, s, ROWS, dram=dram, unit_w=16 if kind == "H" else None))],
            lambda x: ttnn.upsample(x, [k, k], mode=mode), mode=mode)


def wide_layouts():
    for h, w in ((1, 25088), (32, 4096), (64, 1056), (160, 1088), (160, 512), (784, 2048), (784, 1280), (1024, 1056), (1600, 1056), (3200, 1056), (3200, 16)):
        for d, lay in ((ttnn.bfloat8_b, TILE), (ttnn.bfloat16, ROWS)):
            other = ROWS if lay == TILE else TILE
            ask("to_layout", lambda: [tensor([1, 1, h, w], d, lay, DRAM)], lambda x: ttnn.to_layout(x, other))


def row_slices():
    for h in (7, 400, 3136, 12544):
        for w, a, b in ((32, 0, 16), (32, 16, 32), (48, 16, 48), (96, 48, 96), (256, 0, 64), (320, 0, 160), (1024, 512, 1024)):
            ask("slice", lambda: [tensor([1, 1, h, w], ttnn.bfloat16, ROWS, DRAM)], lambda x: ttnn.slice(x, [0, 0, 0, a], [1, 1, h, b], [1, 1, 1, 1]), begin=a)


def large_dram_shards():
    for h in (102400, 307200, 614400):
        for c, w in ((3, 16), (12, 16), (3, 8)):
            for tw in (8, 16, 32):
                s = [1, 1, h, c]
                to = place("H", s, ROWS, cores=X * Y, unit_w=tw)
                ask("to_memory_config", lambda: [tensor(s, ttnn.bfloat16, ROWS, place("H", s, ROWS, cores=BANKS, dram=True, unit_w=w))], lambda x: ttnn.to_memory_config(x, to))


def joined_tiles():
    for d in (ttnn.bfloat16, ttnn.bfloat8_b):
        for widths in ((32, 32), (64, 32), (32, 128), (64, 32, 96)):
            for rows in (32, 96):
                shapes = [[1, 1, rows * 8, w] for w in widths]
                ask("concat", lambda: [tensor(s, d, TILE, place("H", s, TILE, cores=8)) for s in shapes],
                    lambda *xs: ttnn.concat(list(xs), dim=3, memory_config=place("H", [1, 1, rows * 8, sum(widths)], TILE, cores=8)))


def odd_rows():
    for c in (4, 12, 24, 50, 98, 100):
        s = [1, 1, 640, c]
        for there in (L1, DRAM):
            shards = place("H", s, ROWS, cores=20, unit_w=2)
            ask("to_memory_config", lambda: [tensor(s, ttnn.bfloat16, ROWS, shards)], lambda x: ttnn.to_memory_config(x, there))
            ask("to_memory_config", lambda: [tensor(s, ttnn.bfloat16, ROWS, there)], lambda x: ttnn.to_memory_config(x, shards))


def dram_shards_to_blocks():
    for h, c in ((16, 16), (640, 12), (640, 64)):
        s = [1, 1, h, c]
        for w in (8, 16, 32, 64):
            for kind, cores, shard in (("WIDTH", (0, 0, 0, 0), [h, 16]), ("WIDTH", (0, 0, 1, 0), [h, 32]), ("BLOCK", (0, 0, 0, 3), [h // 4, 16]),
                                       ("BLOCK", (0, 0, 1, 3), [h // 4, 32]), ("HEIGHT", (0, 0, 3, 0), [h // 4, 16]), ("HEIGHT", (0, 0, 3, 0), [h // 4, 64])):
                to = ttnn.MemoryConfig(getattr(ttnn.TensorMemoryLayout, f"{kind}_SHARDED"), ttnn.BufferType.L1,
                                       ttnn.ShardSpec(grid(cores), shard, ttnn.ShardOrientation.ROW_MAJOR))
                ask("to_memory_config", lambda: [tensor(s, ttnn.bfloat16, ROWS, place("H", s, ROWS, cores=BANKS, dram=True, unit_w=w))],
                    lambda x: ttnn.to_memory_config(x, to))


def odd_shards():
    for h, w in ((100, 64), (250, 64), (1000, 128), (7920, 32), (96, 64)):
        for dtype in (None, ttnn.bfloat8_b):
            for kind, cores in (("H", 4), ("H", 32), ("B", None)):
                s = [1, 1, h, w]
                m = place("H", [1, 1, up(h, 32), w], TILE, cores=cores) if kind == "H" else ttnn.MemoryConfig(
                    ttnn.TensorMemoryLayout.BLOCK_SHARDED, ttnn.BufferType.L1,
                    ttnn.ShardSpec(grid((0, 0, w // 32 - 1, 3)), [up(-(-h // 4), 32), 32], ttnn.ShardOrientation.ROW_MAJOR))
                ask("to_layout", lambda: [tensor(s, ttnn.bfloat16, ROWS, m)], lambda x: ttnn.to_layout(x, TILE, dtype) if dtype else ttnn.to_layout(x, TILE))


def short_tiles():
    for d in (ttnn.bfloat16, ttnn.bfloat8_b):
        for widths in ((32, 32), (64, 64), (32, 96), (64, 32, 128), (128, 64)):
            for there in (DRAM, L1):
                ask("concat", lambda: [tensor([1, 1, 640, w], d, TILE, there) for w in widths], lambda *xs: ttnn.concat(list(xs), dim=3), dim=3)


for many in (moves, from_dram_shards, layouts, concats, slices, casts, upsamples):
    many(30)
for few in (wide_layouts, row_slices, large_dram_shards, joined_tiles, odd_rows, dram_shards_to_blocks, odd_shards, short_tiles):
    few()
write(sys.argv[1], device_head(dev), out)
