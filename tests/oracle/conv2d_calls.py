#!/usr/bin/env python3
"""conv2d and prepare_conv_* as Python calls them: what comes back, where it lies, what is refused. usage: conv2d_calls.py OUT.json"""
import sys

import numpy as np
import ttnn
from common import device_head, write
from ops_common import Recorder, mc, tensor_on

dev = ttnn.open_device(device_id=0, l1_small_size=16384)
R = Recorder(dev)
FULL = ttnn.Conv2dL1FullSliceConfig
LAYOUT = {"H": ttnn.TensorMemoryLayout.HEIGHT_SHARDED, "W": ttnn.TensorMemoryLayout.WIDTH_SHARDED, "B": ttnn.TensorMemoryLayout.BLOCK_SHARDED}


def host(*shape, dt="bfloat16"):
    return ttnn.Tensor(np.zeros(shape, np.float32), getattr(ttnn, dt))


def arguments(n, h, w, c, k, kernel, **more):
    return dict(device=dev, in_channels=c, out_channels=k, batch_size=n, input_height=h, input_width=w, kernel_size=kernel, **more)


def ask(n, h, w, c, k, kernel=(3, 3), groups=1, bias=False, place=None, lay="RM", dt="bfloat16", w_dt="bfloat16", column=False, shard=None, config=None, note=None, **more):
    shape = [1, 1, n * h * w, c] if column else [n, h, w, c]
    words = dict(config or {})
    given = dict(words)
    if shard:
        given["shard_layout"] = LAYOUT[shard]
    for name in ("weights_dtype",):
        if name in given:
            given[name] = getattr(ttnn, given[name])
    options = dict(more)
    if "dtype" in options:
        options["dtype"] = getattr(ttnn, options["dtype"])
    options.setdefault("slice_config", FULL)
    if bias:
        options["bias_tensor"] = host(1, 1, 1, k, dt=w_dt)
    if given:
        options["conv_config"] = ttnn.Conv2dConfig(**given)
    where = place() if place else ttnn.DRAM_MEMORY_CONFIG
    R.ask(
        "conv2d",
        lambda: [tensor_on(dev, shape, dt, lay, where)],
        lambda x: ttnn.conv2d(input_tensor=x, weight_tensor=host(k, c // groups, *kernel, dt=w_dt), **(arguments(n, h, w, c, k, kernel, groups=groups) | options)),
        q=[n, h, w, c, k, *kernel], groups=groups, bias=bias, lay=lay, dt=dt, w_dt=w_dt, column=column, shard=shard, config=words, note=note,
        more={key: value for key, value in more.items() if isinstance(value, (bool, int, str, list, tuple))},
    )  # fmt: skip


BOTH = dict(return_output_dim=True, return_weights_and_bias=True)
for returns in ({}, {"return_output_dim": True}, {"return_weights_and_bias": True}, BOTH):
    ask(1, 28, 28, 64, 64, **returns)
    ask(1, 28, 28, 64, 64, bias=True, padding=(1, 1), **returns)
for shard in ("H", "W", "B", None):
    for column in (False, True):
        ask(2, 14, 14, 128, 96, column=column, shard=shard, padding=(1, 1), bias=True, **BOTH)
    ask(1, 16, 24, 64, 128, (1, 1), shard=shard, **BOTH)
    ask(1, 16, 24, 64, 128, (1, 1), shard=shard, lay="TILE", column=True, **BOTH)
    ask(1, 16, 24, 64, 64, (3, 3), shard=shard, stride=(2, 2), padding=(0, 1, 0, 1), **BOTH)
    ask(1, 9, 33, 40, 72, (3, 5), shard=shard, dilation=(2, 1), padding=(2, 3), **BOTH)
    ask(1, 16, 16, 64, 64, groups=64, shard=shard, padding=(1, 1), **BOTH)
    ask(1, 16, 16, 64, 64, groups=4, shard=shard, padding=(1, 1), bias=True, **BOTH)
    ask(2, 14, 14, 128, 96, shard=shard, padding=(1, 1), dtype="bfloat8_b", config={"weights_dtype": "bfloat8_b"}, bias=True, **BOTH)
    ask(2, 14, 14, 128, 96, shard=shard, padding=(1, 1), lay="TILE", dt="bfloat8_b", column=True, **BOTH)
    ask(2, 14, 14, 64, 96, shard=shard, padding=(1, 1), dt="float32", w_dt="float32", **BOTH)
    ask(2, 14, 14, 64, 96, shard=shard, padding=(1, 1), place=lambda: ttnn.L1_MEMORY_CONFIG, config={"deallocate_activation": True})
    ask(2, 14, 14, 64, 96, shard=shard, padding=(1, 1), memory_config=ttnn.DRAM_MEMORY_CONFIG, note="to DRAM")
    ask(2, 14, 14, 64, 96, shard=shard, padding=(1, 1), memory_config=ttnn.L1_MEMORY_CONFIG, note="to L1")
height = lambda: mc("HEIGHT", [(0, 0, 7, 0)], [56, 64])
for config in ({}, {"deallocate_activation": True}, {"reshard_if_not_optimal": True}, {"deallocate_activation": True, "reallocate_halo_output": False}):
    ask(2, 14, 14, 64, 96, column=True, padding=(1, 1), place=lambda: mc("HEIGHT", [(0, 0, 7, 0)], [49, 64]), config=config, note="height shards", slice_config=None)
for override in (32, 64, 128, 480, 1024):
    ask(1, 224, 224, 16, 32, shard="H", padding=(1, 1), config={"act_block_h_override": override}, **BOTH)
ask(16, 56, 56, 64, 64, shard="H", padding=(1, 1), config={"act_block_h_override": 1600})
ask(16, 14, 14, 256, 256, shard="W", padding=(1, 1))
ask(1, 480, 640, 64, 32, shard="H", padding=(1, 1), config={"act_block_h_override": 32})
ask(1, 480, 640, 32, 32, shard="H", padding=(1, 1))
ask(1, 28, 28, 64, 64, stride=(0, 1))
ask(1, 28, 28, 64, 64, padding=(1, 1, 1))
ask(1, 28, 28, 64, 64, shard="H", config={"act_block_h_override": 32, "enable_act_double_buffer": True, "enable_weights_double_buffer": True})

# In slices, from DRAM to DRAM.
TYPES = {"height": ttnn.Conv2dDRAMSliceHeight, "width": ttnn.Conv2dDRAMSliceWidth}
for kind in TYPES:
    for slices in (0, 1, 2, 3):
        for n, h, w, c, k in ((1, 64, 96, 32, 64), (2, 40, 128, 64, 32)):
            ask(n, h, w, c, k, shard="H", padding=(1, 1), bias=True, note=f"{slices} by {kind}", slice_config=ttnn.Conv2dSliceConfig(slice_type=TYPES[kind], num_slices=slices), **BOTH)
for n, h, w, c, k in ((1, 64, 96, 32, 64), (1, 480, 640, 32, 32), (1, 480, 640, 64, 32), (1, 1024, 128, 32, 32)):
    ask(n, h, w, c, k, padding=(1, 1), config={"act_block_h_override": 32}, shard="H", note="nobody says", slice_config=None, **BOTH)
ask(1, 16, 24, 64, 128, (1, 1), note="product, nobody says", slice_config=None, **BOTH)


def transpose(n, h, w, c, k, kernel, shard=None, **window):
    options = dict(window)
    if shard:
        options["conv_config"] = ttnn.Conv2dConfig(shard_layout=LAYOUT[shard])
    R.ask(
        "conv_transpose2d",
        lambda: [tensor_on(dev, [n, h, w, c], "bfloat16", "RM", ttnn.DRAM_MEMORY_CONFIG)],
        lambda x: ttnn.conv_transpose2d(input_tensor=x, weight_tensor=host(c, k, *kernel), **arguments(n, h, w, c, k, kernel), **options, **BOTH),
        q=[n, h, w, c, k, *kernel], shard=shard, window={key: list(value) for key, value in window.items()},
    )  # fmt: skip


for shard in ("H", "B", None):
    transpose(1, 16, 16, 64, 32, (2, 2), shard, stride=(2, 2))
    transpose(2, 8, 12, 32, 64, (3, 3), shard, stride=(2, 2), padding=(1, 1), output_padding=(1, 1))
    transpose(1, 8, 8, 128, 64, (4, 4), shard, stride=(2, 2), padding=(1, 1))
    transpose(1, 10, 10, 32, 32, (3, 3), shard)
transpose(1, 8, 8, 32, 32, (2, 2), "H", stride=(2, 2), output_padding=(2, 0))

for shard in ("H", "W", "B", None):
    for where, lay in ((ttnn.DRAM_MEMORY_CONFIG, "RM"), (ttnn.L1_MEMORY_CONFIG, "TILE")):
        for kernel, pads, c, k, groups in (((3, 3), (1, 1), 64, 96, 1), ((1, 1), (0, 0), 64, 96, 1), ((3, 3), (1, 1), 40, 72, 4)):
            config = ttnn.Conv2dConfig(weights_dtype=ttnn.bfloat8_b, **({"shard_layout": LAYOUT[shard]} if shard else {}))
            common = dict(
                input_memory_config=where, input_layout=ttnn.TILE_LAYOUT if lay == "TILE" else ttnn.ROW_MAJOR_LAYOUT, in_channels=c, out_channels=k, batch_size=2, input_height=14, input_width=14,
                kernel_size=kernel, stride=(1, 1), padding=pads, dilation=(1, 1), groups=groups, device=dev, input_dtype=ttnn.bfloat16, conv_config=config, slice_config=FULL,
            )  # fmt: skip
            q = [2, 14, 14, c, k, *kernel, groups]
            R.ask("prepare_conv_weights", lambda: [], lambda: ttnn.prepare_conv_weights(weight_tensor=host(k, c // groups, *kernel), weights_format="OIHW", has_bias=True, **common), q=q, shard=shard, lay=lay)
            R.ask("prepare_conv_bias", lambda: [], lambda: ttnn.prepare_conv_bias(bias_tensor=host(1, 1, 1, k), **common), q=q, shard=shard, lay=lay)
write(sys.argv[1], device_head(dev), R.out)
