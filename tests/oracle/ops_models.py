#!/usr/bin/env python3
"""Operators that models call: which operands they take, and what their results are. usage: ops_models.py OUT.json"""
import sys

import ttnn
from common import device_head, last, mem, write
from ops_common import SpecRecorder, source

dev = ttnn.open_device(device_id=0, l1_small_size=16384)

R = SpecRecorder(dev)
FRACTIONS = ("bfloat16", "float32", "bfloat8_b")
ALL = (*FRACTIONS, "int32", "uint32", "uint16", "uint8")


def put(shape, dt="bfloat16", lay="TILE", cfg="dram"):
    return source(dev, cfg, shape, dt, lay)


# --- picked by indices ---
for dt in ALL:
    for index in ("uint32", "uint16", "int32"):
        R.ask("gather", lambda: [put([1, 1, 64, 96], dt), put([1, 1, 64, 32], index)], lambda x, i: ttnn.gather(x, -1, index=i), dtype=dt, index=index)
for shape, places, dim in (
    ([2, 3, 64, 96], [2, 3, 64, 32], -1), ([2, 3, 64, 96], [2, 3, 32, 96], 2), ([2, 3, 64, 96], [2, 1, 64, 96], 1), ([64, 96], [32, 96], 0), ([64, 96], [32, 200], 1),
    ([64, 96], [65, 96], 1), ([64, 96], [64, 96], 2), ([64, 96], [1, 64, 96], 0), ([50, 70], [50, 20], -1), ([3, 50, 70], [3, 10, 70], 1),
):  # fmt: skip
    for lay in ("TILE", "RM"):
        R.ask("gather", lambda: [put(shape, lay=lay), put(places, "uint32", lay)], lambda x, i: ttnn.gather(x, dim, index=i), shape=shape, places=places, dim=dim, layout=lay)
R.ask("gather", lambda: [put([64, 96]), put([64, 32], "uint32", "RM")], lambda x, i: ttnn.gather(x, 1, index=i), layouts="differ")
R.ask("gather", lambda: [put([64, 96], cfg="l1"), put([64, 32], "uint32")], lambda x, i: ttnn.gather(x, 1, index=i), src="l1")
for dt in ALL:
    for lay in ("TILE", "RM"):
        R.ask("scatter", lambda: [put([1, 1, 64, 96], dt, lay), put([1, 1, 64, 32], "int32", lay), put([1, 1, 64, 32], dt, lay)], lambda x, i, s: ttnn.scatter(x, -1, i, s), dtype=dt, layout=lay)
for op in ("scatter", "scatter_add"):
    for shape, places, src, dim in (
        ([64, 96], [64, 32], [64, 32], 1), ([64, 96], [64, 32], [64, 40], 1), ([64, 96], [65, 32], [65, 32], 1), ([64, 96], [1, 64, 32], [64, 32], 1), ([64, 96], [32, 96], [32, 96], 0),
        ([2, 3, 5, 7], [2, 3, 5, 3], [2, 3, 5, 3], -1), ([64, 96], [64, 32], [64, 32], 2),
    ):  # fmt: skip
        R.ask(op, lambda: [put(shape, lay="RM"), put(places, "int32", "RM"), put(src, lay="RM")], lambda x, i, s: getattr(ttnn, op)(x, dim, i, s), shape=shape, places=places, source=src, dim=dim)
R.ask("scatter", lambda: [put([64, 96], lay="RM"), put([64, 32], "bfloat16", "RM"), put([64, 32], lay="RM")], lambda x, i, s: ttnn.scatter(x, 1, i, s), index="bfloat16")
R.ask("scatter", lambda: [put([64, 96], lay="RM"), put([64, 32], "int32", "RM"), put([64, 32], "float32", "RM")], lambda x, i, s: ttnn.scatter(x, 1, i, s), source="float32")
R.ask("nonzero", lambda: [put([1, 1, 1, 64], lay="RM")], lambda x: ttnn.nonzero(x))
R.ask("nonzero", lambda: [put([1, 1, 2, 64], lay="RM")], lambda x: ttnn.nonzero(x), rows=2)
R.ask("nonzero", lambda: [put([1, 1, 1, 64])], lambda x: ttnn.nonzero(x), layout="TILE")
for cfg in ("hs4", "ws4", "bs22", "l1"):
    for lay in ("TILE", "RM"):
        R.ask("nonzero", lambda: [put([1, 1, 128, 128], lay=lay, cfg=cfg)], lambda x: ttnn.nonzero(x), src=cfg, layout=lay)
# --- in order ---
for dt in ALL:
    for lay in ("TILE", "RM"):
        R.ask("sort", lambda: [put([1, 1, 64, 128], dt, lay)], lambda x: ttnn.sort(x, dim=-1), dtype=dt, layout=lay)
for shape, dim in (([64, 128], -1), ([64, 128], 0), ([2, 3, 50, 70], 1), ([2, 3, 50, 70], -1), ([100], 0), ([64, 128], 2), ([1, 1, 32, 4096], -1)):
    for down in (False, True):
        R.ask("sort", lambda: [put(shape)], lambda x: ttnn.sort(x, dim=dim, descending=down), shape=shape, dim=dim, descending=down)
for dt in ALL:
    R.ask("topk", lambda: [put([1, 1, 64, 128], dt)], lambda x: ttnn.topk(x, 32, dim=-1), dtype=dt)
for shape, dim, k in (([1, 1, 64, 128], -1, 5), ([64, 128], -1, 50), ([1, 1, 64, 128], 2, 5), ([2, 3, 64, 128], 1, 2), ([1, 1, 64, 128], -1, 0), ([1, 1, 64, 128], -1, 200), ([1, 1, 50, 70], -1, 3), ([1, 1, 64, 128], 4, 3)):
    R.ask("topk", lambda: [put(shape)], lambda x: ttnn.topk(x, k, dim=dim), shape=shape, dim=dim, k=k)
R.ask("topk", lambda: [put([1, 1, 64, 128], lay="RM")], lambda x: ttnn.topk(x, 5), layout="RM")
# --- norms ---
for dt in ALL:
    R.ask("batch_norm", lambda: [put([2, 32, 16, 16], dt), put([1, 32, 1, 1], dt), put([1, 32, 1, 1], dt)], lambda x, m, v: ttnn.batch_norm(x, running_mean=m, running_var=v), dtype=dt)
    R.ask("batch_norm", lambda: [put([2, 32, 16, 16]), put([1, 32, 1, 1], dt), put([1, 32, 1, 1])], lambda x, m, v: ttnn.batch_norm(x, running_mean=m, running_var=v), mean=dt)
R.ask("batch_norm", lambda: [put([2, 32, 16, 16])], lambda x: ttnn.batch_norm(x))
R.ask("batch_norm", lambda: [put([2, 32, 16, 16])], lambda x: ttnn.batch_norm(x, training=True), training=True)
R.ask("batch_norm", lambda: [put([32, 16, 16]), put([1, 32, 1, 1]), put([1, 32, 1, 1])], lambda x, m, v: ttnn.batch_norm(x, running_mean=m, running_var=v), rank=3)
R.ask("batch_norm", lambda: [put([2, 32, 16, 16]), put([1, 16, 1, 1]), put([1, 32, 1, 1])], lambda x, m, v: ttnn.batch_norm(x, running_mean=m, running_var=v), mean_channels=16)
R.ask("batch_norm", lambda: [put([2, 32, 16, 16], lay="RM"), put([1, 32, 1, 1]), put([1, 32, 1, 1])], lambda x, m, v: ttnn.batch_norm(x, running_mean=m, running_var=v), layout="RM")
GRID = ttnn.CoreGrid(y=2, x=2)
for dt in ALL:
    for lay in ("TILE", "RM"):
        R.ask("group_norm", lambda: [put([1, 1, 64, 128], dt, lay)], lambda x: ttnn.group_norm(x, num_groups=4, core_grid=GRID, inplace=False), dtype=dt, layout=lay)
for shape in ([1, 1, 64, 128], [2, 1, 64, 128], [1, 1, 50, 128], [64, 128], [1, 1, 256, 320]):
    for groups in (1, 3, 4, 32):
        R.ask("group_norm", lambda: [put(shape)], lambda x: ttnn.group_norm(x, num_groups=groups, core_grid=ttnn.CoreGrid(y=1, x=1), inplace=False), shape=shape, groups=groups)
R.ask("group_norm", lambda: [put([1, 1, 64, 128])], lambda x: ttnn.group_norm(x, num_groups=4, core_grid=GRID), inplace="default")
R.ask("group_norm", lambda: [put([1, 1, 64, 128]), put([1, 1, 4, 32], lay="RM")], lambda x, w: ttnn.group_norm(x, num_groups=4, core_grid=ttnn.CoreGrid(y=1, x=1), inplace=False, weight=w), weight=True)
R.ask("group_norm", lambda: [put([1, 1, 64, 128]), put([1, 1, 1, 128])], lambda x, w: ttnn.group_norm(x, num_groups=4, core_grid=GRID, inplace=False, weight=w), weight="TILE")
R.ask("group_norm", lambda: [put([1, 1, 64, 128])], lambda x: ttnn.group_norm(x, num_groups=4, core_grid=GRID, inplace=False, dtype=ttnn.float32), to="float32")
R.ask("group_norm", lambda: [put([1, 1, 64, 128])], lambda x: ttnn.group_norm(x, num_groups=4), core_grid=None)
R.ask("group_norm", lambda: [put([1, 1, 128, 128], cfg="ws4")], lambda x: ttnn.group_norm(x, num_groups=4, core_grid=GRID), src="ws4")
# --- softmax ---
for dt in ALL:
    R.ask("softmax_in_place", lambda: [put([2, 1, 64, 96], dt)], lambda x: ttnn.softmax_in_place(x), dtype=dt)
    R.ask("scale_mask_softmax", lambda: [put([2, 1, 64, 96], dt), put([2, 1, 32, 96])], lambda x, m: ttnn.scale_mask_softmax(x, 0.5, m), dtype=dt)
for shape in ([2, 1, 64, 96], [2, 3, 64, 96], [64, 96], [2, 1, 50, 70]):
    for mask in (None, [2, 1, 32, 96], [2, 1, 1, 96], [1, 1, 32, 96], [2, 1, 64, 96], [2, 1, 32, 64]):
        for op in ("scale_mask_softmax", "scale_mask_softmax_in_place"):
            R.ask(op, lambda: [put(shape)] + ([put(mask)] if mask else []), lambda x, *m: getattr(ttnn, op)(x, 0.5 if m else None, *m), shape=shape, mask=mask)
            R.ask(op, lambda: [put(shape)] + ([put(mask)] if mask else []), lambda x, *m: getattr(ttnn, op)(x, 0.5, *m, is_causal_mask=True), shape=shape, mask=mask, causal=True)
R.ask("softmax_in_place", lambda: [put([1, 1, 64, 96], lay="RM")], lambda x: ttnn.softmax_in_place(x), layout="RM")
for dim in (-1, 3, 2, 4):
    R.ask("softmax_in_place", lambda: [put([1, 1, 64, 96])], lambda x: ttnn.softmax_in_place(x, dim=dim), dim=dim)
for h, w, sub in ((1, 4, 1), (1, 4, 2), (2, 4, 2), (1, 2, 1), (1, 4, 3)):
    R.ask("softmax_in_place", lambda: [put([1, 1, 128, 128], cfg="hs4")],
          lambda x: ttnn.softmax_in_place(x, program_config=ttnn.SoftmaxShardedMultiCoreProgramConfig(compute_with_storage_grid_size=(4, 1), subblock_w=sub, block_h=h, block_w=w)), blocks=[h, w, sub])  # fmt: skip
for shape in ([1, 4, 64, 96], [4, 64, 96]):
    for head in (None, 64):
        R.ask("attention_softmax", lambda: [put(shape)], lambda x: ttnn.transformer.attention_softmax(x, head_size=head), shape=shape, head=head)
        R.ask("attention_softmax", lambda: [put(shape), put([1, 1, 32, 96])], lambda x, m: ttnn.transformer.attention_softmax(x, head_size=head, attention_mask=m), shape=shape, head=head, mask=True)
        R.ask("attention_softmax_", lambda: [put(shape), put([1, 1, 32, 96])], lambda x, m: ttnn.transformer.attention_softmax_(x, head_size=head, attention_mask=m), shape=shape, head=head, mask=True)
R.ask("attention_softmax_", lambda: [put([1, 4, 64, 96])], lambda x: ttnn.transformer.attention_softmax_(x, head_size=64), mask=None)
# --- heads ---
split = ttnn.transformer.split_query_key_value_and_split_heads
for dt in ALL:
    R.ask("split_heads", lambda: [put([2, 64, 384], dt)], lambda x: split(x, num_heads=4), dtype=dt)
    R.ask("concatenate_heads", lambda: [put([2, 4, 64, 32], dt)], lambda x: ttnn.transformer.concatenate_heads(x), dtype=dt)
for shape, heads, kv in (([2, 64, 384], 4, None), ([2, 64, 384], 3, None), ([2, 64, 384], 4, 2), ([2, 50, 384], 4, None), ([1, 2, 64, 384], 4, None), ([2, 64, 192], 4, None), ([2, 64, 256], 4, 2), ([2, 64, 256], 4, 3)):
    for turn in (True, False):
        R.ask("split_heads", lambda: [put(shape)], lambda x: split(x, num_heads=heads, num_kv_heads=kv, transpose_key=turn), shape=shape, heads=heads, kv=kv, transposed=turn)
for shape, kv in (([2, 64, 128], [2, 64, 256]), ([2, 64, 128], [1, 64, 256]), ([2, 64, 128], [2, 32, 256]), ([2, 64, 128], [2, 64, 128])):
    R.ask("split_heads", lambda: [put(shape), put(kv)], lambda x, y: split(x, y, num_heads=4), shape=shape, kv=kv)
R.ask("split_heads", lambda: [put([2, 64, 384], lay="RM")], lambda x: split(x, num_heads=4), layout="RM")
for shape in ([2, 4, 64, 32], [2, 4, 50, 32], [2, 4, 64, 40], [4, 64, 32]):
    R.ask("concatenate_heads", lambda: [put(shape)], lambda x: ttnn.transformer.concatenate_heads(x), shape=shape)
    R.ask("nlp_concat_heads", lambda: [put(shape)], lambda x: ttnn.experimental.nlp_concat_heads(x), shape=shape)
for shape, heads, kv in (([2, 1, 64, 384], 4, None), ([2, 1, 64, 384], 4, 2), ([2, 1, 64, 256], 4, 2), ([2, 2, 64, 384], 4, None)):
    R.ask("nlp_create_qkv_heads", lambda: [put(shape)], lambda x: ttnn.experimental.nlp_create_qkv_heads(x, num_heads=heads, num_kv_heads=kv), shape=shape, heads=heads, kv=kv)
R.ask("nlp_create_qkv_heads_segformer", lambda: [put([1, 1, 64, 128])], lambda x: ttnn.experimental.nlp_create_qkv_heads_segformer(x))
# --- attention ---
sdpa = ttnn.transformer.scaled_dot_product_attention
for dt in ALL:
    R.ask("sdpa", lambda: [put([1, 4, 64, 32], dt) for _ in range(3)], lambda q, k, v: sdpa(q, k, v), dtype=dt)
for q, k, v, causal in (
    ([1, 4, 64, 32], [1, 4, 64, 32], [1, 4, 64, 32], True), ([1, 4, 64, 32], [1, 2, 64, 32], [1, 2, 64, 32], True), ([1, 4, 64, 32], [1, 3, 64, 32], [1, 3, 64, 32], True),
    ([1, 4, 64, 32], [1, 4, 128, 32], [1, 4, 128, 32], True), ([1, 4, 64, 32], [1, 4, 128, 32], [1, 4, 128, 32], False), ([1, 4, 64, 32], [1, 4, 64, 32], [1, 4, 32, 32], False),
    ([1, 4, 64, 32], [2, 4, 64, 32], [2, 4, 64, 32], False), ([1, 4, 64, 32], [1, 4, 64, 64], [1, 4, 64, 64], False), ([1, 4, 50, 32], [1, 4, 50, 32], [1, 4, 50, 32], False),
    ([1, 4, 64, 40], [1, 4, 64, 40], [1, 4, 64, 40], False), ([4, 64, 32], [4, 64, 32], [4, 64, 32], False),
):  # fmt: skip
    R.ask("sdpa", lambda: [put(s) for s in (q, k, v)], lambda q, k, v: sdpa(q, k, v, is_causal=causal), q=q, k=k, v=v, causal=causal)
for mask in ([1, 1, 64, 64], [1, 4, 64, 64], [1, 2, 64, 64], [1, 1, 64, 32], [1, 1, 32, 64]):
    for causal in (False, True):
        R.ask("sdpa", lambda: [*(put([1, 4, 64, 32]) for _ in range(3)), put(mask)], lambda q, k, v, m: sdpa(q, k, v, attn_mask=m, is_causal=causal), mask=mask, causal=causal)
for rows, keys in ((32, 32), (64, 32), (48, 32), (32, 40)):
    R.ask("sdpa", lambda: [put([1, 4, 64, 32]) for _ in range(3)],
          lambda q, k, v: sdpa(q, k, v, program_config=ttnn.SDPAProgramConfig(compute_with_storage_grid_size=(8, 8), q_chunk_size=rows, k_chunk_size=keys)), blocks=[rows, keys])  # fmt: skip
R.ask("sdpa", lambda: [put([1, 4, 64, 32], lay="RM") for _ in range(3)], lambda q, k, v: sdpa(q, k, v), layout="RM")
R.ask("sdpa", lambda: [put([1, 4, 64, 32], cfg="l1") for _ in range(3)], lambda q, k, v: sdpa(q, k, v), src="l1")
# --- images between pixels ---
for dt in ALL:
    R.ask("grid_sample", lambda: [put([1, 8, 8, 32], dt, "RM"), put([1, 4, 4, 2], "float32", "RM")], lambda x, g: ttnn.grid_sample(x, g), dtype=dt)
    R.ask("rotate", lambda: [put([1, 8, 8, 32], dt, "RM")], lambda x: ttnn.rotate(x, 30.0), dtype=dt)
for shape, points, batch in (
    ([1, 8, 8, 32], [1, 4, 4, 2], False), ([1, 8, 8, 32], [1, 4, 4, 8], False), ([1, 8, 8, 32], [1, 4, 4, 8], True), ([1, 8, 8, 32], [1, 4, 4, 2], True), ([1, 8, 8, 32], [1, 4, 4, 3], False),
    ([1, 8, 8, 32], [2, 4, 4, 2], False), ([1, 8, 8, 40], [1, 4, 4, 2], False), ([8, 8, 32], [1, 4, 4, 2], False), ([1, 8, 8, 32], [4, 4, 2], False),
):  # fmt: skip
    R.ask("grid_sample", lambda: [put(shape, lay="RM"), put(points, "float32", "RM")], lambda x, g: ttnn.grid_sample(x, g, batch_output_channels=batch), shape=shape, points=points, batch=batch)
for mode, padding in (("nearest", "zeros"), ("bilinear", "border"), ("bicubic", "zeros")):
    R.ask("grid_sample", lambda: [put([1, 8, 8, 32], lay="RM"), put([1, 4, 4, 2], lay="RM")], lambda x, g: ttnn.grid_sample(x, g, mode=mode, padding_mode=padding), mode=mode, padding=padding)
R.ask("grid_sample", lambda: [put([1, 8, 8, 32], lay="RM"), put([1, 4, 4, 6], lay="RM")], lambda x, g: ttnn.grid_sample(x, g, use_precomputed_grid=True), prepared=True)
R.ask("grid_sample", lambda: [put([1, 8, 8, 32]), put([1, 4, 4, 2], lay="RM")], lambda x, g: ttnn.grid_sample(x, g), layout="TILE")
for shape, mode in (([1, 8, 8, 32], "nearest"), ([1, 8, 8, 32], "bilinear"), ([1, 8, 8, 512], "bilinear"), ([1, 8, 8, 5], "nearest"), ([8, 8, 32], "nearest"), ([1, 8, 8, 32], "cubic")):
    R.ask("rotate", lambda: [put(shape, lay="RM")], lambda x: ttnn.rotate(x, 30.0, interpolation_mode=mode), shape=shape, mode=mode)
R.ask("rotate", lambda: [put([1, 8, 8, 32], lay="RM")], lambda x: ttnn.rotate(x, 30.0, expand=True), expand=True)
R.ask("rotate", lambda: [put([1, 8, 8, 32])], lambda x: ttnn.rotate(x, 30.0), layout="TILE")
# --- tiles and their padding ---
for dt in ALL:
    for shape in ([1, 1, 64, 96], [1, 1, 50, 70]):
        R.ask("fill_implicit_tile_padding", lambda: [put(shape, dt)], lambda x: ttnn.fill_implicit_tile_padding(x, 2.0), dtype=dt, shape=shape)
        R.ask("tilize_with_zero_padding", lambda: [put(shape, dt, "RM")], lambda x: ttnn.tilize_with_zero_padding(x), dtype=dt, shape=shape)
    R.ask("untilize_with_unpadding", lambda: [put([1, 1, 50, 70], dt)], lambda x: ttnn.untilize_with_unpadding(x, [0, 0, 49, 69]), dtype=dt)
for shape, end in (([1, 1, 50, 70], [0, 0, 49, 69]), ([1, 1, 64, 96], [0, 0, 39, 79]), ([1, 1, 50, 70], [0, 0, 63, 95]), ([1, 1, 50, 70], [0, 0, 64, 69]), ([50, 70], [49, 69]), ([1, 1, 50, 70], [49, 69])):
    R.ask("untilize_with_unpadding", lambda: [put(shape)], lambda x: ttnn.untilize_with_unpadding(x, end), shape=shape, end=end)
for shape, to in (([1, 1, 50, 70], [1, 1, 64, 96]), ([1, 1, 50, 70], [1, 1, 96, 128]), ([1, 1, 64, 96], [1, 1, 64, 96]), ([1, 1, 64, 96], [1, 1, 32, 96]), ([1, 1, 50, 70], [1, 1, 60, 96]), ([50, 70], [64, 96]), ([1, 1, 50, 70], [2, 1, 64, 96])):
    R.ask("tilize_with_val_padding", lambda: [put(shape, lay="RM")], lambda x: ttnn.tilize_with_val_padding(x, to, 1.5), shape=shape, to=to)
for shifts, dims in ((3, 1), (-2, -1), ([1, 2], [0, 1]), ([1, 2], [0]), (5, None), (1, 4)):
    for lay in ("TILE", "RM"):
        R.ask("roll", lambda: [put([2, 3, 50, 70], lay=lay)], lambda x: ttnn.roll(x, shifts) if dims is None else ttnn.roll(x, shifts, dims), shifts=shifts, dims=dims, layout=lay)
# --- made of others ---
for op in ("glu", "reglu", "geglu", "swiglu"):
    for shape, dim in (([1, 1, 64, 128], -1), ([1, 1, 64, 128], 2), ([64, 128], -1), ([1, 1, 64, 96], -1), ([1, 1, 64, 128], 3)):
        R.ask(op, lambda: [put(shape)], lambda x: getattr(ttnn, op)(x, dim), shape=shape, dim=dim)
for op in ("var_hw", "std_hw", "normalize_hw", "normalize_global", "tril", "triu", "logit"):
    for dt in FRACTIONS:
        R.ask(op, lambda: [put([2, 3, 64, 96], dt)], lambda x: getattr(ttnn, op)(x), dtype=dt)
    for shape in ([2, 3, 50, 70], [64, 96]):
        R.ask(op, lambda: [put(shape)], lambda x: getattr(ttnn, op)(x), shape=shape)
for dt in ALL:
    R.ask("polyval", lambda: [put([1, 1, 64, 96], dt)], lambda x: ttnn.polyval(x, [1.0, 2.0, 3.0]), dtype=dt)
    R.ask("isclose", lambda: [put([1, 1, 64, 96], dt), put([1, 1, 64, 96], dt)], lambda x, y: ttnn.isclose(x, y), dtype=dt)
    R.ask("prelu", lambda: [put([1, 32, 64, 96], dt)], lambda x: ttnn.prelu(x, 0.25), dtype=dt)
    R.ask("outer", lambda: [put([1, 1, 64, 1], dt), put([1, 1, 1, 96], dt)], lambda x, y: ttnn.outer(x, y), dtype=dt)
for a, b in (([1, 1, 1, 64], [1, 1, 1, 96]), ([64], [96]), ([1, 1, 64, 1], [1, 1, 96, 1]), ([1, 1, 64, 2], [1, 1, 1, 96])):
    R.ask("outer", lambda: [put(a), put(b)], lambda x, y: ttnn.outer(x, y), shapes=[a, b])
R.ask("prelu", lambda: [put([1, 32, 64, 96]), put([32])], lambda x, w: ttnn.prelu(x, w), weight=[32])
R.ask("prelu", lambda: [put([1, 32, 64, 96]), put([16])], lambda x, w: ttnn.prelu(x, w), weight=[16])
for op in ("mse_loss", "l1_loss"):
    for mode in ("NONE", "SUM", "MEAN"):
        R.ask(op, lambda: [put([1, 1, 64, 96]), put([1, 1, 64, 96])], lambda x, y: getattr(ttnn, op)(x, y, reduction=getattr(ttnn.LossReductionMode, mode)), mode=mode)
for math in ("ADD", "SUB", "MUL"):
    for dim, shape in (("H", [1, 1, 1, 96]), ("W", [1, 1, 64, 1]), ("HW", [1, 1, 1, 1]), ("H", [1, 1, 64, 96])):
        R.ask("bcast", lambda: [put([2, 3, 64, 96]), put(shape)], lambda x, y: ttnn.bcast(x, y, getattr(ttnn.BcastOpMath, math), getattr(ttnn.BcastOpDim, dim)), math=math, dim=dim, shape=shape)
for dt in ALL:
    R.ask("narrow", lambda: [put([4, 64, 96], dt)], lambda x: ttnn.narrow(x, 0, 1, 2), dtype=dt)
for dim, start, length in ((0, 1, 2), (1, 32, 32), (2, 0, 96), (0, 3, 2), (3, 0, 1), (-1, 0, 32)):
    R.ask("narrow", lambda: [put([4, 64, 96])], lambda x: ttnn.narrow(x, dim, start, length), dim=dim, start=start, length=length)
for shape in ([2, 3, 64, 96], [3, 64, 96], [4, 3, 64, 96]):
    R.ask("broadcast_to", lambda: [put([1, 3, 64, 96])], lambda x: ttnn.experimental.broadcast_to(x, ttnn.Shape(shape)), to=shape)
for dt in FRACTIONS:
    R.ask("addmm", lambda: [put([64, 96], dt), put([64, 32], dt), put([32, 96], dt)], lambda x, a, b: ttnn.addmm(x, a, b), dtype=dt)
R.ask("addmm", lambda: [put([64, 96]), put([64, 32]), put([64, 96])], lambda x, a, b: ttnn.addmm(x, a, b), shapes="do not fit")
# --- helpers on the host ---
for channels, groups, cores in ((128, 4, 1), (128, 32, 1), (320, 32, 1), (320, 32, 2), (96, 6, 2), (480, 8, 1), (1280, 32, 4), (640, 32, 1), (64, 2, 2)):
    for op in ("create_group_norm_input_mask", "create_group_norm_input_negative_mask"):
        mask = getattr(ttnn, op)(channels, groups, cores)
        ones = [[c for c, v in enumerate(rows[5]) if v] for rows in mask.to_list()[0]]
        R.out.append(dict(op=op, arguments=[channels, groups, cores], ok=True, got=[list(mask.shape), last(mask.dtype), [[r[0], r[-1], len(r)] if r else [] for r in ones]]))
for channels, groups, pixels in ((128, 4, 1024), (320, 32, 4096), (640, 32, 1024), (1280, 32, 256), (1280, 32, 64), (256, 8, 800), (64, 2, 100)):
    for tall, rows in ((True, False), (False, False), (False, True)):
        config, grid = ttnn.determine_expected_group_norm_sharded_config_and_grid_size(
            device=dev, num_channels=channels, num_groups=groups, input_nhw=pixels, is_height_sharded=tall, is_row_major=rows
        )
        R.out.append(dict(op="group_norm_shards", arguments=[channels, groups, pixels, tall, rows], ok=True, got=[mem(config), [grid.x, grid.y]]))
write(sys.argv[1], device_head(dev), R.out)
