#!/usr/bin/env python3
"""TensorSpec.*_sharded and create_sharded_memory_config: what they derive, and where they refuse. usage: shard_helpers.py OUT.json"""
import sys

import ttnn
from common import BT, LAYOUTS, ORI, device_head, err, grid, mem, place, rng, write

dev = ttnn.open_device(device_id=0, l1_small_size=0)
R = rng(7)
GX, GY = dev.compute_with_storage_grid_size().x, dev.compute_with_storage_grid_size().y
out = []
DTYPES = ["bfloat16", "bfloat16", "float32", "bfloat8_b", "bfloat4_b", "uint8", "uint16", "uint32", "int32"]


def core_range(r):
    return ttnn.CoreRange(ttnn.CoreCoord(r[0], r[1]), ttnn.CoreCoord(r[2], r[3]))


def derived(how, shape, dt, lay, ranges, ori, buf, dims=None, tile=None, one=False):
    rec = dict(q=how, shape=shape, dtype=dt, layout=lay, grid=ranges, orient=ori, buffer=buf)
    if dims is not None:
        rec["dims"] = dims
    if tile:
        rec["tile"] = tile
    try:
        ts = ttnn.TensorSpec(ttnn.Shape(shape), getattr(ttnn, dt), LAYOUTS[lay], getattr(BT, buf), ttnn.Tile(tile) if tile else None)
        g = core_range(ranges[0]) if one else grid(*ranges)
        args = ([dims] if dims is not None else []) + [g, ORI[ori]]
        ts = getattr(ts, how)(*args)
        rec["mem"] = mem(ts.memory_config)
    except Exception as e:
        rec.update(ok=False, stage="spec", error=err(e))
        out.append(rec)
        return
    out.append(place(dev, rec, lambda: ttnn.allocate_tensor_on_device(ts, dev), buf))


def random_ranges(rect, gx, gy):
    w, h = R.randint(1, gx), R.randint(1, gy)
    x, y = (0, 0) if R.random() < 0.7 else (R.randint(0, gx - w), R.randint(0, gy - h))
    if rect or R.random() < 0.6 or h == 1:
        return [[x, y, x + w - 1, y + h - 1]]
    return [[x, y, x + w - 1, y + h - 2], [x, y + h - 1, x + R.randint(0, w - 1), y + h - 1]]


for i in range(170):
    how = R.choice(["height_sharded", "width_sharded", "block_sharded", "sharded_across_dims", "sharded_across_dims_except"])
    rank = R.choice([1, 2, 3, 4, 5]) if "across" in how else R.choice([1, 2, 4, 4, 4])
    shape = [R.choice([R.randint(1, 700), 32 * R.randint(1, 20)]), R.choice([R.randint(1, 300), 32 * R.randint(1, 12)])][-min(rank, 2):]
    while len(shape) < rank:
        shape.insert(0, R.randint(1, 5))
    lay = R.choice(["TILE", "RM"])
    dt = R.choice(DTYPES)
    if lay == "RM" and dt in ("bfloat8_b", "bfloat4_b"):
        dt = "uint8"
    buf = R.choice(["L1", "L1", "L1", "DRAM"])
    gx, gy = (GX, GY) if buf == "L1" else (dev.dram_grid_size().x, 1)
    rect = how == "block_sharded" and R.random() < 0.85
    dims = None
    if "across" in how:
        dims = [d - (rank if R.random() < 0.3 else 0) for d in range(rank) if R.random() < 0.5]
    derived(how, shape, dt, lay, random_ranges(rect, gx, gy), R.choice("RRC"), buf, dims, one=rect and R.random() < 0.5)
for tile in ((16, 32), (32, 16), (1, 32)):
    for how in ("height_sharded", "width_sharded", "block_sharded"):
        derived(how, [300, 200], "bfloat16", "TILE", [[0, 0, 3, 1]], "R", "L1", tile=tile)
for shape in ([], [5], [64, 1]):  # a zero dim kills the real process (integer division by zero), so it is not asked
    for how in ("height_sharded", "width_sharded", "block_sharded"):
        for lay in ("TILE", "RM"):
            derived(how, shape, "bfloat16", lay, [[0, 0, 3, 1]], "R", "L1")
derived("height_sharded", [64, 64], "bfloat8_b", "RM", [[0, 0, 1, 1]], "R", "L1")
derived("height_sharded", [64, 64], "bfloat16", "TILE", [[0, 0, 20, 0]], "R", "L1")
for dims in ([0, 0], [7], [-3], []):
    derived("sharded_across_dims", [64, 64], "bfloat16", "TILE", [[0, 0, 3, 1]], "R", "L1", dims)
    derived("sharded_across_dims_except", [64, 64], "bfloat16", "TILE", [[0, 0, 3, 1]], "R", "L1", dims)


# create_sharded_memory_config: every kind of core_grid, strategy, orientation, both ways of giving the shard
GRIDS = {
    "CoreGrid 4x2": lambda: ttnn.CoreGrid(x=4, y=2),
    "CoreGrid 1x1": lambda: ttnn.CoreGrid(x=1, y=1),
    "CoreGrid 3x5": lambda: ttnn.CoreGrid(x=3, y=5),
    "CoreRange": lambda: core_range([0, 0, 3, 1]),
    "CoreRangeSet": lambda: grid((0, 0, 3, 1)),
    "CoreRangeSet 2": lambda: grid((0, 0, 3, 0), (0, 1, 2, 1)),
    "pair": lambda: (ttnn.CoreGrid(x=4, y=1), ttnn.CoreGrid(x=3, y=1)),
    "one in tuple": lambda: (ttnn.CoreGrid(x=4, y=1),),
    "ints": lambda: (4, 2),
    "None": lambda: None,
}
SHAPES = {"tuple": (1, 1, 480, 120), "list2": [64, 96], "Shape": ttnn.Shape([2, 3, 40, 60]), "rank1": (64,), "empty": (), "odd": (1, 7, 13, 33), "str": "abc", "int": 64}


def helper(fn, shape_name, grid_name, strat, ori, use, **kw):
    rec = dict(q=fn.__name__, shape=shape_name, grid=grid_name, strategy=str(strat), orient=str(ori), use_hw=use, **kw)
    try:
        args = dict(strategy=strat, use_height_and_width_as_shard_shape=use, **kw)
        if ori != "absent":
            args["orientation"] = ori
        rec.update(ok=True, mem=mem(fn(SHAPES[shape_name], GRIDS[grid_name](), **args)))
    except Exception as e:
        rec.update(ok=False, error=err(e))
    out.append(rec)


S = ttnn.ShardStrategy
f = ttnn.create_sharded_memory_config
for g in GRIDS:
    for s in (S.HEIGHT, S.WIDTH, S.BLOCK):
        for o in (ORI["R"], ORI["C"]):
            for use in (False, True):
                helper(f, "tuple", g, s, o, use)
for sh in SHAPES:
    if sh != "tuple":
        for s in (S.HEIGHT, S.WIDTH, S.BLOCK):
            helper(f, sh, "CoreGrid 4x2", s, "absent", False)
            helper(f, sh, "CoreGrid 3x5", s, ORI["C"], True)
helper(f, "tuple", "CoreGrid 4x2", ttnn.TensorMemoryLayout.HEIGHT_SHARDED, "absent", False)
helper(f, "tuple", "CoreGrid 4x2", "HEIGHT", "absent", False)
helper(f, "tuple", "CoreGrid 4x2", S.HEIGHT, None, False)
helper(f, "tuple", "CoreGrid 4x2", S.HEIGHT, "ROW_MAJOR", False)
if hasattr(ttnn, "create_sharded_memory_config_"):
    for g in ("CoreGrid 4x2", "CoreGrid 3x5", "CoreRangeSet", "CoreRangeSet 2", "pair", "None"):
        for s in (S.HEIGHT, S.WIDTH, S.BLOCK, ttnn.TensorMemoryLayout.HEIGHT_SHARDED, ttnn.TensorMemoryLayout.INTERLEAVED):
            for tl in (False, True):
                helper(ttnn.create_sharded_memory_config_, "odd", g, s, ORI["R"], False, tile_layout=tl)
write(sys.argv[1], device_head(dev), out)
