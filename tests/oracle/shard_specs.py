#!/usr/bin/env python3
"""Shards that people meet first: helper, explicit spec, derived spec, and interleaved tensors in L1. usage: shard_specs.py OUT.json"""
import json
import sys

import ttnn
from common import KINDS, err, grid, last, used

dev = ttnn.open_device(device_id=0, l1_small_size=0)
out = []
LAYOUT = {"TILE": ttnn.TILE_LAYOUT, "ROW_MAJOR": ttnn.ROW_MAJOR_LAYOUT}


def attempt(rec, stage, fn):
    """fn() or None; a refusal goes into the record, which then is complete."""
    try:
        return fn()
    except Exception as e:
        text = err(e)["text"]
        rec.update(ok=False, **({"stage": stage} if stage else {}), error={"text": text})
        out.append(rec)
        return None


def buffer_facts(t, before):
    return dict(ok=True, padded_shape=list(t.padded_shape), page_size=t.buffer_page_size(), aligned_page_size=t.buffer_aligned_page_size(),
                num_pages=t.buffer_num_pages(), address=t.buffer_address(), bytes_per_bank=used(dev, "L1") - before)


def place(rec, shape, dtype, layout, config):
    before = used(dev, "L1")
    t = attempt(rec, None, lambda: ttnn.allocate_tensor_on_device(ttnn.Shape(shape), getattr(ttnn, dtype), LAYOUT[layout], dev, config))
    if t is None:
        return
    rec.update(buffer_facts(t, before))
    m = t.memory_config()
    s = m.shard_spec
    rec.update(layout=last(m.memory_layout), shard_shape=list(s.shape) if s else None, grid=str(s.grid) if s else None,
               orientation=last(s.orientation) if s else None)
    ttnn.deallocate(t)
    out.append(rec)


def helper(shape, rows_columns, strategy, dtype="bfloat16", layout="TILE", orient="ROW_MAJOR", use_hw=False):
    rec = dict(api="create_sharded_memory_config", shape=list(shape), grid_yx=list(rows_columns), strategy=strategy, dtype=dtype,
               layout_in=layout, orient_in=orient, use_height_and_width_as_shard_shape=use_hw)
    y, x = rows_columns
    config = attempt(rec, "helper", lambda: ttnn.create_sharded_memory_config(
        shape, core_grid=ttnn.CoreGrid(y=y, x=x), strategy=getattr(ttnn.ShardStrategy, strategy),
        orientation=getattr(ttnn.ShardOrientation, orient), use_height_and_width_as_shard_shape=use_hw))
    if config is not None:
        rec["helper_shard_shape"] = list(config.shard_spec.shape)
        place(rec, shape, dtype, layout, config)


def explicit(shape, rows_columns, shard, kind, dtype="bfloat16", layout="TILE", orient="ROW_MAJOR"):
    rec = dict(api="ShardSpec", shape=list(shape), grid_yx=list(rows_columns), shard_in=list(shard), kind=kind + "_SHARDED", dtype=dtype,
               layout_in=layout, orient_in=orient)
    y, x = rows_columns
    spec = ttnn.ShardSpec(grid((0, 0, x - 1, y - 1)), list(shard), getattr(ttnn.ShardOrientation, orient))
    place(rec, shape, dtype, layout, ttnn.MemoryConfig(KINDS[kind], ttnn.BufferType.L1, spec))


def derived(shape, how, rows_columns, layout="TILE", dims=None):
    rec = dict(api="TensorSpec." + how, shape=list(shape), grid_yx=list(rows_columns), dtype="bfloat16", layout_in=layout, shard_in=dims)
    y, x = rows_columns
    cores = grid((0, 0, x - 1, y - 1))

    def make():
        spec = ttnn.TensorSpec(ttnn.Shape(shape), ttnn.bfloat16, LAYOUT[layout], ttnn.BufferType.L1)
        if how == "block_sharded":
            return spec.block_sharded(ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(x - 1, y - 1)))
        return spec.sharded_across_dims(dims, cores) if dims else getattr(spec, how)(cores)

    spec = attempt(rec, "spec", make)
    if spec is None:
        return
    rec["spec_memory_config"] = str(spec.memory_config)
    before = used(dev, "L1")
    t = attempt(rec, "allocate", lambda: ttnn.allocate_tensor_on_device(spec, dev))
    if t is not None:
        rec.update(buffer_facts(t, before))
        ttnn.deallocate(t)
        out.append(rec)


def interleaved(shape, dtype, layout="TILE"):
    rec = dict(api="interleaved", shape=list(shape), dtype=dtype, layout_in=layout)
    place(rec, shape, dtype, layout, ttnn.L1_MEMORY_CONFIG)


for dtype in ("bfloat16", "bfloat8_b", "bfloat4_b", "float32"):
    helper((1, 1, 2048, 64), (8, 8), "HEIGHT", dtype)
    helper((1, 1, 32, 4096), (8, 8), "WIDTH", dtype)
    helper((1, 1, 1024, 512), (8, 8), "BLOCK", dtype)
for orient in ("ROW_MAJOR", "COL_MAJOR"):
    helper((1, 1, 1024, 512), (4, 8), "BLOCK", orient=orient)
helper((1, 1, 50176, 64), (8, 8), "HEIGHT")  # 784 rows on a core: no whole tiles
helper((1, 1, 50176, 64), (7, 8), "HEIGHT")  # 896
helper((1, 1, 50176, 64), (7, 8), "HEIGHT", layout="ROW_MAJOR")
helper((1, 1, 50176, 64), (8, 8), "HEIGHT", layout="ROW_MAJOR")
helper((1, 1, 1000, 64), (8, 8), "HEIGHT")
helper((1, 1, 2048, 64), (9, 9), "HEIGHT")  # a Wormhole has 8x8
helper((1, 1, 800, 64), (8, 8), "HEIGHT", use_hw=True)
helper((1, 1, 2048, 100), (8, 8), "HEIGHT")
helper((2, 3, 64, 96), (2, 3), "HEIGHT")
helper((1, 1, 1024, 500), (8, 8), "BLOCK")
for layout in ("TILE", "ROW_MAJOR"):
    for rows in (800, 784, 768):  # 64 shards of 768 rows are too few
        explicit((1, 1, 50176, 64), (8, 8), (rows, 64), "HEIGHT", layout=layout)
    explicit((1, 1, 1024, 512), (8, 8), (128, 64), "BLOCK", layout=layout)
    explicit((1, 1, 1024, 512), (8, 8), (160, 96), "BLOCK", layout=layout)  # the last shards are partly empty
    explicit((1, 1, 1024, 512), (8, 4), (128, 128), "BLOCK", layout=layout, orient="COL_MAJOR")
    explicit((1, 1, 1024, 512), (8, 8), (64, 64), "BLOCK", layout=layout)  # too many shards
    explicit((1, 1, 64, 512), (1, 8), (64, 64), "WIDTH", layout=layout)
    explicit((1, 1, 64, 500), (1, 8), (64, 64), "WIDTH", layout=layout)
    explicit((1, 1, 64, 512), (1, 8), (64, 48), "WIDTH", layout=layout)
    explicit((1, 1, 2048, 64), (8, 8), (32, 32), "HEIGHT", layout=layout)  # half the width
    for rows in (1024, 2048):  # 1 MiB on each core; 2 MiB, which is too much
        explicit((1, 1, 64 * rows, 512), (8, 8), (rows, 512), "HEIGHT", layout=layout)
for width in (24, 20):  # rows of 48 and 40 bytes: aligned to 16, and not
    explicit((1, 1, 2048, width), (8, 8), (32, width), "HEIGHT", layout="ROW_MAJOR")
for how in ("height_sharded", "width_sharded", "block_sharded"):
    for shape in ((1, 1, 2048, 512), (1, 1, 1000, 500), (4, 3, 96, 160)):
        derived(shape, how, (8, 8))
        derived(shape, how, (2, 3), layout="ROW_MAJOR")
for dims in ([0, 1], [2, 3]):
    derived((4, 3, 96, 160), "sharded_across_dims", (8, 8), dims=dims)
for shape in ((1, 1, 1024, 1024), (1, 1, 1000, 1000), (1, 1, 32, 32)):
    for dtype in ("bfloat16", "bfloat8_b", "float32"):
        interleaved(shape, dtype)
    interleaved(shape, "bfloat16", "ROW_MAJOR")
interleaved((1, 1, 8192, 8192), "bfloat16")

view = ttnn.get_memory_view(dev, ttnn.BufferType.L1)
head = {"arch": str(dev.arch()), "grid": str(dev.compute_with_storage_grid_size()), "l1_banks": view.num_banks,
        "l1_bytes_per_bank": view.total_bytes_per_bank, "l1_small_size": 0}
with open(sys.argv[1], "w") as f:
    json.dump({"device": head, "records": out}, f)
