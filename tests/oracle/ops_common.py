"""Sources, targets and the recorder for the data-movement oracle scripts."""
import ttnn
from common import BT, KINDS, LAYOUTS, ORI, TML, err, grid, last, mem, tensor_on, used


def mc(kind, ranges, shard, ori="R", buf="L1"):
    return ttnn.MemoryConfig(KINDS[kind], getattr(BT, buf), ttnn.ShardSpec(grid(*ranges), shard, ORI[ori]))


CONFIGS = {
    "dram": lambda: ttnn.DRAM_MEMORY_CONFIG,
    "l1": lambda: ttnn.L1_MEMORY_CONFIG,
    "hs4": lambda: mc("HEIGHT", [(0, 0, 3, 0)], [32, 128]),
    "hs4c": lambda: mc("HEIGHT", [(0, 0, 1, 1)], [32, 128], "C"),
    "hs2": lambda: mc("HEIGHT", [(0, 0, 1, 0)], [64, 128]),
    "hs3": lambda: mc("HEIGHT", [(0, 0, 2, 0)], [64, 128]),           # 3 cores, 2 used
    "ws4": lambda: mc("WIDTH", [(0, 0, 3, 0)], [128, 32]),
    "ws2": lambda: mc("WIDTH", [(0, 0, 1, 0)], [128, 64]),
    "bs22": lambda: mc("BLOCK", [(0, 0, 1, 1)], [64, 64]),
    "bs42": lambda: mc("BLOCK", [(0, 0, 3, 1)], [64, 32]),
    "bs42c": lambda: mc("BLOCK", [(0, 0, 3, 1)], [32, 64], "C"),
    "dhs4": lambda: mc("HEIGHT", [(0, 0, 3, 0)], [32, 128], buf="DRAM"),
    "dws4": lambda: mc("WIDTH", [(0, 0, 3, 0)], [128, 32], buf="DRAM"),
    "hs48": lambda: mc("HEIGHT", [(0, 0, 2, 0)], [48, 128]),          # legal for row major only
    "ws24": lambda: mc("WIDTH", [(0, 0, 5, 0)], [128, 24]),           # legal for row major only
    "bad_w": lambda: mc("HEIGHT", [(0, 0, 3, 0)], [32, 64]),
    "bad_n": lambda: mc("HEIGHT", [(0, 0, 0, 0)], [32, 128]),
    "none_hs": lambda: ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG,          # no shard spec
    "none_bs": lambda: ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG,
}


def source(dev, cfg, shape=(1, 1, 128, 128), dt="bfloat16", lay="TILE"):
    return tensor_on(dev, list(shape), dt, lay, CONFIGS[cfg]())


def describe(t):
    if not isinstance(t, ttnn.Tensor):
        return [describe(x) for x in t] if isinstance(t, (list, tuple)) else str(t)
    r = dict(shape=list(t.shape), padded=list(t.padded_shape), dtype=last(t.dtype), layout=last(t.layout))
    if t.storage_type() == ttnn.StorageType.DEVICE:
        r.update(mem=mem(t.memory_config()), addr=t.buffer_address() if t.is_allocated() else None)
    else:
        r["storage"] = "HOST"
    return r


class Recorder:
    """ask() makes the inputs, calls the op, notes the result, and frees everything again."""

    def __init__(self, dev):
        self.dev, self.out = dev, []

    def ask(self, op, make_inputs, call, **note):
        rec = dict(op=op, **note)
        ins, got = [], None
        try:
            ins = make_inputs()
        except Exception as e:
            rec.update(ok=False, stage="input", error=err(e))
            self.out.append(rec)
            return
        rec["in_addr"] = [t.buffer_address() if t.is_allocated() else None for t in ins]
        try:
            got = call(*ins)
            rec.update(ok=True, got=describe(got))
        except Exception as e:
            rec.update(ok=False, error=err(e))
        rec["in_alive"] = [t.is_allocated() for t in ins]
        rec["used"] = [used(self.dev, "L1"), used(self.dev, "DRAM")]
        for t in ins + (list(got) if isinstance(got, (list, tuple)) else [got]):
            if isinstance(t, ttnn.Tensor) and t.storage_type() == ttnn.StorageType.DEVICE and t.is_allocated():
                ttnn.deallocate(t)
        if hasattr(self.dev, "clear_program_cache"):
            self.dev.clear_program_cache()  # reshape keeps mapping tensors in it: they would shift the addresses
        self.out.append(rec)


class SpecRecorder(Recorder):
    """Results as tensors, without addresses: temporary tensors of the real operators lie where ours have none."""

    def ask(self, op, make_inputs, call, **note):
        super().ask(op, make_inputs, call, **note)
        record = self.out[-1]
        for name in ("in_addr", "used"):
            record.pop(name, None)
        results = record.get("got")
        for result in results if isinstance(results, list) else [results]:
            if isinstance(result, dict):
                result.pop("addr", None)
