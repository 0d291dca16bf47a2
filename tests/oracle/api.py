#!/usr/bin/env python3
"""Names, str/repr, defaults and small behaviours of the public classes. usage: api.py OUT.json"""
import re
import sys

import numpy as np
import ttnn
from common import BT, ORI, TML, device_head, err, grid, write

dev = ttnn.open_device(device_id=0, l1_small_size=0)
out = []


def ask(q, fn):
    rec = dict(q=q)
    try:
        v = fn()
        v = v if isinstance(v, (int, float, bool, str, list, type(None))) else str(v)
        rec.update(ok=True, got=re.sub(r" at 0x[0-9a-f]+", "", v) if isinstance(v, str) else v)
    except Exception as e:
        rec.update(ok=False, error=err(e))
    out.append(rec)


def both(q, v):
    ask("str " + q, lambda: str(v()))
    ask("repr " + q, lambda: repr(v()))


DT = ["uint8", "int8", "uint16", "int32", "uint32", "float32", "bfloat16", "bfloat8_b", "bfloat4_b", "fp8_e4m3"]
for d in DT:
    both(d, lambda: getattr(ttnn, d))
    ask("name " + d, lambda: getattr(ttnn, d).name)
    ask("value " + d, lambda: getattr(ttnn, d).value)
for n in ("TILE_LAYOUT", "ROW_MAJOR_LAYOUT", "TILE_SIZE", "DRAM_MEMORY_CONFIG", "L1_MEMORY_CONFIG", "L1_BLOCK_SHARDED_MEMORY_CONFIG", "L1_HEIGHT_SHARDED_MEMORY_CONFIG", "L1_WIDTH_SHARDED_MEMORY_CONFIG"):
    both(n, lambda: getattr(ttnn, n))
for e in ("BufferType", "TensorMemoryLayout", "ShardOrientation", "ShardStrategy", "StorageType", "ShardDistributionStrategy", "ShardShapeAlignment", "Layout", "DataType"):
    ask("members " + e, lambda: sorted(getattr(ttnn, e).__members__))
    ask("values " + e, lambda: [[k, int(v.value)] for k, v in sorted(getattr(ttnn, e).__members__.items())])
    both("first " + e, lambda: getattr(ttnn, e)[sorted(getattr(ttnn, e).__members__)[0]])
# Shape
S = ttnn.Shape
both("Shape", lambda: S([1, 2, 3]))
both("Shape []", lambda: S([]))
ask("Shape len rank", lambda: [len(S([1, 2, 3])), S([1, 2, 3]).rank])
ask("Shape index", lambda: [S([4, 5, 6])[0], S([4, 5, 6])[-1]])
ask("Shape index out", lambda: S([4, 5, 6])[3])
ask("Shape index -4", lambda: S([4, 5, 6])[-4])
ask("Shape slice", lambda: str(S([4, 5, 6])[1:]))
ask("Shape iterate", lambda: list(S([4, 5, 6])))
ask("Shape equal", lambda: [S([1, 2]) == S([1, 2]), S([1, 2]) == [1, 2], S([1, 2]) == (1, 2), S([1, 2]) == S([1, 1, 2]), S([1, 2]) != S([2, 1])])
ask("Shape hash", lambda: hash(S([1, 2])) == hash(S([1, 2])))
ask("Shape to_rank", lambda: [str(S([1, 2]).to_rank(4)), str(S([1, 1, 3, 4]).to_rank(2))])
ask("Shape to_rank bad", lambda: str(S([2, 2, 3, 4]).to_rank(2)))
ask("Shape negative", lambda: str(S([-1, 2])))
ask("Shape tuple", lambda: str(S((1, 2))))
ask("Shape float", lambda: str(S([1.5])))
# MemoryConfig, ShardSpec
spec = lambda: ttnn.ShardSpec(grid((0, 0, 3, 0), (0, 1, 1, 1)), [32, 64], ORI["R"])
mc = lambda: ttnn.MemoryConfig(TML.HEIGHT_SHARDED, BT.L1, spec())
nd = lambda: ttnn.NdShardSpec(S([1, 32, 64]), grid((0, 0, 3, 0)))
both("ShardSpec", spec)
both("NdShardSpec", nd)
both("MemoryConfig sharded", mc)
both("MemoryConfig nd", lambda: ttnn.MemoryConfig(BT.L1, nd()))
both("MemoryConfig default", lambda: ttnn.MemoryConfig())
both("Tile", lambda: ttnn.Tile((16, 32)))
ask("MemoryConfig equal", lambda: [mc() == mc(), mc() == ttnn.DRAM_MEMORY_CONFIG, ttnn.MemoryConfig() == ttnn.DRAM_MEMORY_CONFIG, mc() != mc()])
ask("MemoryConfig hash", lambda: hash(mc()) == hash(mc()))
ask("MemoryConfig keyword", lambda: str(ttnn.MemoryConfig(memory_layout=TML.INTERLEAVED, buffer_type=BT.L1)) == str(ttnn.L1_MEMORY_CONFIG))
ask("MemoryConfig keyword shard", lambda: ttnn.MemoryConfig(memory_layout=TML.HEIGHT_SHARDED, buffer_type=BT.L1, shard_spec=spec()) == mc())
ask("MemoryConfig tensor_memory_layout keyword", lambda: str(ttnn.MemoryConfig(tensor_memory_layout=TML.INTERLEAVED)))
ask("MemoryConfig is_sharded", lambda: [mc().is_sharded(), ttnn.MemoryConfig().is_sharded()])
ask("MemoryConfig fields", lambda: [str(mc().memory_layout), str(mc().buffer_type), mc().shard_spec is None, ttnn.MemoryConfig().shard_spec is None])
ask("MemoryConfig interleaved property", lambda: mc().interleaved)
ask("ShardSpec fields", lambda: [list(spec().shape), str(spec().grid), str(spec().orientation), spec().num_cores()])
ask("ShardSpec shape type", lambda: type(spec().shape).__name__)
ask("ShardSpec equal", lambda: [spec() == spec(), spec() != spec()])
ask("ShardSpec keyword", lambda: str(ttnn.ShardSpec(grid=grid((0, 0, 1, 1)), shard_shape=[32, 32], shard_orientation=ORI["C"])))
ask("ShardSpec set shape", lambda: setattr(spec(), "shape", [1, 1]))
ask("ShardSpec no orientation", lambda: str(ttnn.ShardSpec(grid((0, 0, 1, 1)), [32, 32])))
ask("MemoryConfig to_json", lambda: mc().to_json())
ask("ShardSpec to_json", lambda: spec().to_json())
# TensorSpec
ts = lambda: ttnn.TensorSpec(S([2, 3]), ttnn.bfloat16, ttnn.TILE_LAYOUT)
both("TensorSpec", ts)
both("TensorSpec sharded", lambda: ttnn.TensorSpec(S([64, 64]), ttnn.float32, ttnn.ROW_MAJOR_LAYOUT, BT.L1).height_sharded(grid((0, 0, 1, 0))))
ask("TensorSpec fields", lambda: [str(ts().shape), str(ts().dtype), str(ts().layout), str(ts().tile), str(ts().memory_config)])
ask("TensorSpec equal", lambda: [ts() == ts(), ts() == ttnn.TensorSpec(S([2, 4]), ttnn.bfloat16, ttnn.TILE_LAYOUT)])
ask("TensorSpec list shape", lambda: str(ttnn.TensorSpec([2, 3], ttnn.bfloat16, ttnn.TILE_LAYOUT)))
ask("Tile fields", lambda: [list(ttnn.Tile((16, 32)).tile_shape), ttnn.Tile((16, 32)).get_tile_size(ttnn.bfloat16)])
ask("Tile equal", lambda: [ttnn.Tile((32, 32)) == ttnn.Tile((32, 32)), ttnn.Tile((16, 32)) == ttnn.Tile((32, 32))])
ask("Tile list", lambda: str(ttnn.Tile([16, 32])))
# tensors
host = lambda **k: ttnn.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3), ttnn.bfloat16, **k)
both("host tensor rm", lambda: host())
both("host tensor tile", lambda: host(layout=ttnn.TILE_LAYOUT))
both("device tensor", lambda: host(layout=ttnn.TILE_LAYOUT).to(dev))
both("host int tensor", lambda: ttnn.Tensor(np.arange(6, dtype=np.int32).reshape(2, 3), ttnn.int32))
both("host big tensor", lambda: ttnn.Tensor(np.arange(3000, dtype=np.float32).reshape(3, 1000), ttnn.float32))
SAMPLES = {"neg": [[-1.5, 2.25], [0.0, -0.0]], "small": [[1e-5, 1.0]], "tiny": [[1e-5, 2e-6]], "thousand": [[1000.0, 1.0]], "999": [[999.99, 1.0]], "ten thousand": [[10000.0, 1.0]], "1e5": [[1e5, 1.0]], "1e8 whole": [[1e8, 1.0]],
           "nan": [[float("nan"), 1.0, float("inf")]], "scalar": 3.5, "rank1": [1.0, 2.0, 3.0], "rank3": [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]], "empty": [[]]}
for k, v in SAMPLES.items():
    ask("print " + k, lambda: str(ttnn.Tensor(np.array(v, np.float32), ttnn.float32)))
for n in (6, 7, 1000, 1001, 1024):
    ask("print arange %d" % n, lambda: str(ttnn.Tensor(np.arange(n, dtype=np.float32), ttnn.float32)))
ask("print 20x60", lambda: str(ttnn.Tensor(np.ones((20, 60), np.float32), ttnn.float32)))
ask("print 2x2x9x9x9", lambda: str(ttnn.Tensor(np.ones((2, 2, 9, 9, 9), np.float32), ttnn.float32)))
for k, v in (("int32", [[1, -200000], [3, 4]]), ("uint8", [[1, 200]]), ("uint16", [[1, 65535]]), ("uint32", [[1, 4294967295]])):
    ask("print " + k, lambda: str(ttnn.Tensor(np.array(v, getattr(np, k)), getattr(ttnn, k))))
ask("print bfp8", lambda: str(ttnn.Tensor(np.ones((2, 3), np.float32), ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT)))
ask("print device sharded", lambda: str(host(layout=ttnn.TILE_LAYOUT).to(dev, ttnn.MemoryConfig(TML.HEIGHT_SHARDED, BT.L1, ttnn.ShardSpec(grid((0, 0, 0, 0)), [32, 32], ORI["R"])))))
t = host(layout=ttnn.TILE_LAYOUT)
d = t.to(dev)
for n in ("shape", "padded_shape", "dtype", "layout", "tile", "spec"):
    ask("property " + n, lambda: str(getattr(t, n)))
for n in ("memory_config", "storage_type", "is_allocated", "is_sharded", "volume", "logical_volume", "element_size", "get_dtype", "get_layout", "get_tile", "device", "buffer_address", "buffer_page_size", "buffer_num_pages", "to_list", "item", "devices"):
    if n not in ("device", "devices"):
        ask("host." + n, lambda: getattr(t, n)())
    ask("device." + n, lambda: getattr(d, n)() if n not in ("device", "devices") else type(getattr(d, n)()).__name__)
ask("device.buffer_address after free", lambda: (ttnn.deallocate(d), d.buffer_address())[1])
ask("shape after free", lambda: str(d.shape))
ask("memory_config after free", lambda: str(d.memory_config()))
ask("is_allocated after free", lambda: d.is_allocated())
ask("deallocate twice", lambda: ttnn.deallocate(d))
ask("use after free", lambda: str(ttnn.to_memory_config(d, ttnn.L1_MEMORY_CONFIG).shape))
ask("host deallocate", lambda: ttnn.deallocate(t))
ask("is_tensor_storage_on_device", lambda: [ttnn.is_tensor_storage_on_device(host()), ttnn.is_tensor_storage_on_device(host().to(dev))])
# device
ask("open_device positional", lambda: ttnn.open_device(0))
ask("arch", lambda: str(dev.arch()))
ask("core_grid", lambda: str(dev.core_grid))
ask("grid", lambda: str(dev.compute_with_storage_grid_size()))
ask("dram grid", lambda: str(dev.dram_grid_size()))
ask("id", lambda: dev.id())
ask("device str type", lambda: str(dev).split("(")[0][:40])
ask("num_program_cache_entries", lambda: dev.num_program_cache_entries())
ask("worker core", lambda: str(dev.worker_core_from_logical_core(ttnn.CoreCoord(0, 0))))
ask("shape", lambda: str(dev.shape))
ask("get_num_devices", lambda: dev.get_num_devices())
ask("GetNumAvailableDevices", lambda: ttnn.GetNumAvailableDevices())
ask("dir Tensor", lambda: [x for x in dir(ttnn.Tensor) if x[0] != "_"])
ask("dir device", lambda: [x for x in dir(dev) if x[0] != "_"])
ask("dir MemoryConfig", lambda: [x for x in dir(ttnn.MemoryConfig) if x[0] != "_"])
ask("dir Tile", lambda: [x for x in dir(ttnn.Tile) if x[0] != "_"])
ask("dir ttnn.device", lambda: [x for x in dir(ttnn.device) if x[0] != "_"])
write(sys.argv[1], device_head(dev), out)
