#!/usr/bin/env python3
"""reshape, view, permute, transpose, squeeze, unsqueeze on device tensors. usage: ops_reshape.py OUT.json"""
import sys

import ttnn
from common import device_head, write
from ops_common import Recorder, source

dev = ttnn.open_device(device_id=0, l1_small_size=0)
R = Recorder(dev)
# reshape and view
for lay in ("TILE", "RM"):
    for shape, to in (([1, 1, 64, 64], [1, 64, 64]), ([1, 1, 64, 64], [64, 64]), ([1, 2, 64, 64], [2, 1, 64, 64]), ([1, 2, 64, 64], [1, 1, 128, 64]), ([1, 1, 64, 64], [1, 1, 128, 32]), ([1, 1, 64, 64], [1, 1, 32, 128]),
                      ([1, 1, 64, 64], [4096]), ([1, 1, 50, 70], [1, 1, 70, 50]), ([2, 3, 50, 70], [6, 50, 70]), ([2, 3, 50, 70], [1, 1, 300, 70]), ([1, 1, 64, 64], [1, 1, -1, 32]), ([1, 1, 64, 64], [1, 1, 64, 63]),
                      ([1, 1, 64, 64], [-1, -1, 64, 64]), ([64], [1, 64]), ([64], [64, 1]), ([1, 1, 1, 64], [1, 1, 64, 1]), ([2, 3, 33, 64], [2, 99, 64]), ([1, 1, 64, 64], [1, 1, 64, 64])):
        for s in ("dram", "l1"):
            R.ask("reshape", lambda: [source(dev, s, shape, lay=lay)], lambda x: ttnn.reshape(x, to), layout=lay, src=s, shape=shape, to=to)
        R.ask("view", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.view(x, to), layout=lay, src="dram", shape=shape, to=to)
    for s in ("hs4", "ws4", "bs22"):
        for to in ([128, 128], [1, 128, 128], [1, 2, 64, 128], [1, 1, 256, 64], [4, 1, 32, 128], [1, 1, 64, 256]):
            R.ask("reshape", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.reshape(x, to), layout=lay, src=s, to=to)
            R.ask("view", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.view(x, to), layout=lay, src=s, to=to)
    # permute, transpose
    for shape, dims in (([2, 3, 64, 32], [0, 1, 3, 2]), ([2, 3, 64, 32], [0, 2, 1, 3]), ([2, 3, 64, 32], [0, 3, 1, 2]), ([2, 3, 64, 32], [0, 2, 3, 1]), ([2, 3, 64, 32], [3, 2, 1, 0]), ([2, 3, 50, 70], [0, 1, 3, 2]), ([2, 3, 50, 70], [0, 2, 3, 1]),
                        ([64, 32], [1, 0]), ([3, 64, 32], [2, 0, 1]), ([2, 3, 64, 32], [0, 1, 2, 3]), ([2, 3, 64, 32], [0, 1, 2]), ([2, 3, 64, 32], [0, 1, 2, 2]), ([2, 3, 64, 32], [0, 1, 2, 7]), ([2, 3, 64, 32], [0, 1, -1, -2])):
        for s in ("dram", "l1"):
            R.ask("permute", lambda: [source(dev, s, shape, lay=lay)], lambda x: ttnn.permute(x, dims), layout=lay, src=s, shape=shape, dims=dims)
    for s in ("hs4", "ws4", "bs22"):
        R.ask("permute", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.permute(x, [0, 1, 3, 2]), layout=lay, src=s, dims=[0, 1, 3, 2])
        R.ask("transpose", lambda: [source(dev, s, lay=lay)], lambda x: ttnn.transpose(x, 2, 3), layout=lay, src=s)
    for shape in ([1, 1, 64, 64], [2, 1, 1, 64], [1, 64], [1, 1], [64]):
        R.ask("squeeze", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.squeeze(x, 0), layout=lay, shape=shape, dim=0)
        R.ask("squeeze", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.squeeze(x), layout=lay, shape=shape)
        for d in (0, 1, -1, 6):
            R.ask("unsqueeze", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.unsqueeze(x, d), layout=lay, shape=shape, dim=d)
        R.ask("unsqueeze_to_4D", lambda: [source(dev, "dram", shape, lay=lay)], lambda x: ttnn.unsqueeze_to_4D(x), layout=lay, shape=shape)
write(sys.argv[1], device_head(dev), R.out)
