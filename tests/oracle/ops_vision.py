#!/usr/bin/env python3
"""upsample, fold, convert_to_hwc/chw, concat with groups, global_avg_pool2d: places and refusals. usage: ops_vision.py OUT.json"""
import sys

import ttnn
from common import device_head, tensor_on, write
from ops_common import CONFIGS, Recorder, mc

dev = ttnn.open_device(device_id=0, l1_small_size=16384)
R = Recorder(dev)
PLACES = {"dram": ttnn.DRAM_MEMORY_CONFIG, "l1": ttnn.L1_MEMORY_CONFIG}


def make(shape, place="dram", dt="bfloat16", lay="RM"):
    return tensor_on(dev, shape, dt, lay, PLACES[place] if isinstance(place, str) else mc(*place))


# upsample
for lay in ("RM", "TILE"):
    for shape in ([1, 8, 8, 32], [2, 5, 7, 40], [1, 16, 16, 64], [1, 32, 32, 3], [1, 1, 64, 32], [4, 4, 4, 1024]):
        for scale in (2, [2, 3], 3, 1, 1.5, [1.5, 2.0]):
            for mode in ("nearest", "bilinear"):
                for place in ("dram", "l1"):
                    R.ask("upsample", lambda: [make(shape, place, lay=lay)], lambda x: ttnn.upsample(x, scale, mode=mode), layout=lay, shape=shape, scale=scale, mode=mode, src=place)
    for shape, place in (([1, 8, 8, 32], ["HEIGHT", [(0, 0, 7, 0)], [8, 32]]), ([1, 8, 8, 32], ["HEIGHT", [(0, 0, 3, 0)], [16, 32]]), ([1, 8, 8, 32], ["HEIGHT", [(0, 0, 2, 0)], [24, 32]]), ([1, 8, 8, 32], ["HEIGHT", [(0, 0, 3, 3)], [4, 32]]), ([2, 8, 8, 64], ["HEIGHT", [(0, 0, 7, 1)], [8, 64]]),
                         ([1, 8, 8, 256], ["BLOCK", [(0, 0, 3, 7)], [8, 64]]), ([1, 8, 8, 256], ["WIDTH", [(0, 0, 7, 0)], [64, 32]]), ([1, 32, 32, 64], ["HEIGHT", [(0, 0, 7, 3)], [32, 64]]), ([1, 32, 32, 32], ["HEIGHT", [(0, 0, 7, 7)], [16, 32]]), ([1, 32, 32, 64], ["HEIGHT", [(0, 0, 7, 0)], [128, 64]])):
        for scale in (2, [2, 3], 1.5, 3):
            for mode in ("nearest", "bilinear"):
                for dst in (None, "dram"):
                    kw = {} if dst is None else {"memory_config": PLACES[dst]}
                    R.ask("upsample", lambda: [make(shape, place, lay=lay)], lambda x: ttnn.upsample(x, scale, mode=mode, **kw), layout=lay, shape=shape, scale=scale, mode=mode, src=place, dst=dst)
for dt in ("bfloat8_b", "float32", "uint16"):
    for mode in ("nearest", "bilinear"):
        R.ask("upsample", lambda: [make([1, 8, 8, 32], dt=dt, lay="TILE" if dt == "bfloat8_b" else "RM")], lambda x: ttnn.upsample(x, 2, mode=mode), dtype=dt, mode=mode)
R.ask("upsample", lambda: [make([1, 8, 8, 32])], lambda x: ttnn.upsample(x, 2, mode="cubic"), mode="cubic")
R.ask("upsample", lambda: [make([8, 8, 32])], lambda x: ttnn.upsample(x, 2), rank=3)
# fold
for lay in ("RM", "TILE"):
    for shape in ([1, 8, 8, 16], [2, 224, 224, 4], [1, 9, 8, 16], [16, 224, 224, 3]):
        for sh, sw in ((2, 2), (4, 4), (2, 1), (3, 3)):
            for place in ("dram", "l1"):
                for collapse in (False, True):
                    R.ask("fold", lambda: [make(shape, place, lay=lay)], lambda x: ttnn.fold(x, sh, sw, collapse_output=collapse), layout=lay, shape=shape, stride=[sh, sw], src=place, collapse=collapse)
    for shape, place in (([1, 8, 8, 16], ["HEIGHT", [(0, 0, 3, 0)], [16, 16]]), ([1, 16, 16, 16], ["HEIGHT", [(0, 0, 7, 0)], [32, 16]]), ([1, 1, 256, 16], ["HEIGHT", [(0, 0, 7, 0)], [32, 16]]), ([2, 32, 32, 32], ["HEIGHT", [(0, 0, 7, 1)], [128, 32]]), ([1, 8, 8, 16], ["HEIGHT", [(0, 0, 7, 0)], [8, 16]])):
        R.ask("fold", lambda: [make(shape, place, lay=lay)], lambda x: ttnn.fold(x, 2, 2), layout=lay, shape=shape, src=place)
for pad in ([1, 1], [3, 3, 3, 3], [0, 1, 0, 1], [1]):
    R.ask("fold", lambda: [make([1, 8, 8, 16])], lambda x: ttnn.fold(x, 2, 2, padding=pad), pad=pad)
# layouts of images
for c, hw, cores, buf in ((4, 64, 2, "L1"), (4, 128, 4, "L1"), (8, 128, 4, "L1"), (3, 128, 4, "L1"), (16, 256, 8, "L1"), (4, 100, 4, "L1"), (32, 128, 4, "L1"), (64, 128, 4, "L1"), (4, 256, 4, "DRAM"), (16, 1024, 8, "L1")):
    place = ["WIDTH", [(0, 0, cores - 1, 0)], [c, -(-hw // cores)], "R", buf]
    R.ask("convert_to_hwc", lambda: [make([1, 1, c, hw], place)], ttnn.experimental.convert_to_hwc, shape=[c, hw], cores=cores, buf=buf)
    R.ask("convert_to_hwc", lambda: [make([1, 1, c, hw], place)], lambda x: ttnn.experimental.convert_to_hwc(x, dtype=ttnn.bfloat16), shape=[c, hw], cores=cores, buf=buf, dtype="bfloat16")
    R.ask("convert_to_hwc", lambda: [make([1, 1, c, hw], place)], lambda x: ttnn.experimental.convert_to_hwc(x, memory_config=mc("HEIGHT", [(0, 0, cores - 1, 0)], [-(-hw // cores), max(8, c)])), shape=[c, hw], cores=cores, buf=buf, dst="height")
R.ask("convert_to_hwc", lambda: [make([1, 1, 4, 64])], ttnn.experimental.convert_to_hwc, src="dram")
R.ask("convert_to_hwc", lambda: [make([2, 1, 4, 64], ["WIDTH", [(0, 0, 1, 0)], [8, 32]])], ttnn.experimental.convert_to_hwc, src="batch 2")
R.ask("convert_to_hwc", lambda: [make([1, 1, 32, 64], ["WIDTH", [(0, 0, 1, 0)], [32, 32]], lay="TILE")], ttnn.experimental.convert_to_hwc, src="tile")
for c, hw, cores in ((4, 64, 2), (4, 128, 4), (8, 128, 4), (32, 128, 4), (4, 100, 4), (16, 256, 2)):
    for lay in ("TILE", "RM"):
        R.ask("convert_to_chw", lambda: [make([1, 1, hw, c], ["HEIGHT", [(0, 0, cores - 1, 0)], [-(-hw // cores), 32 if lay == "TILE" else c]], lay=lay)], ttnn.experimental.convert_to_chw, shape=[hw, c], cores=cores, layout=lay)
R.ask("convert_to_chw", lambda: [make([1, 1, 64, 4], lay="TILE")], ttnn.experimental.convert_to_chw, src="dram")
# concat with groups
for lay in ("RM", "TILE"):
    for widths, groups in (([32, 32], 2), ([32, 64], 2), ([64, 64], 4), ([16, 32], 2), ([48, 32], 4), ([32, 32], 3), ([32, 32, 32], 2), ([32, 32], 1)):
        for cores, rows in ((4, 32), (2, 64)):
            R.ask("concat", lambda: [make([1, 1, 128, w], ["HEIGHT", [(0, 0, cores - 1, 0)], [rows, w]], lay=lay) for w in widths],
                  lambda *x: ttnn.concat(list(x), 3, groups=groups, memory_config=mc("HEIGHT", [(0, 0, cores - 1, 0)], [rows, sum(widths)])), layout=lay, widths=widths, groups=groups, cores=cores)
    R.ask("concat", lambda: [make([1, 1, 128, 32], lay=lay), make([1, 1, 128, 32], lay=lay)], lambda *x: ttnn.concat(list(x), 3, groups=2), layout=lay, groups=2, src="dram")
    R.ask("concat", lambda: [make([1, 1, 128, 32], ["HEIGHT", [(0, 0, 3, 0)], [32, 32]], lay=lay) for _ in range(2)], lambda *x: ttnn.concat(list(x), 3, groups=2), layout=lay, groups=2, src="hs4")
    R.ask("concat", lambda: [make([1, 1, 128, 32], ["HEIGHT", [(0, 0, 3, 0)], [32, 32]], lay=lay) for _ in range(2)], lambda *x: ttnn.concat(list(x), 2, groups=2), layout=lay, groups=2, src="hs4", dim=2)
# global average pooling
for lay in ("TILE", "RM"):
    for shape in ([1, 7, 7, 2048], [2, 7, 7, 64], [1, 8, 8, 32], [1, 4, 8, 40], [7, 7, 64], [7, 7], [1, 1, 49, 64]):
        for place in ("dram", "l1"):
            R.ask("global_avg_pool2d", lambda: [make(shape, place, lay=lay)], ttnn.global_avg_pool2d, layout=lay, shape=shape, src=place)
    R.ask("global_avg_pool2d", lambda: [make([1, 7, 7, 64], lay=lay)], lambda x: ttnn.global_avg_pool2d(x, memory_config=ttnn.L1_MEMORY_CONFIG), layout=lay, dst="l1")
    R.ask("global_avg_pool2d", lambda: [make([1, 7, 7, 64], lay=lay)], lambda x: ttnn.global_avg_pool2d(x, dtype=ttnn.float32), layout=lay, dtype="float32")
write(sys.argv[1], device_head(dev), R.out)
