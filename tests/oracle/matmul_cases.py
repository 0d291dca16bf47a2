"""Matrix products that the oracle scripts ask about: plain data, so that other languages can read the answers."""
from common import rng


def case(a, b, **more):
    return dict(a=a, b=b, **more)


def macs(c):
    out = c["b"][-1]
    for extent in c["a"]:
        out *= extent
    return out


def interleaved():
    """Shapes of every kind, all in DRAM."""
    out = []
    for m, k, n in ((128, 128, 128), (1024, 1024, 1024), (32, 2048, 1000), (1, 2048, 1000), (16, 2048, 1000), (3136, 64, 256), (50176, 64, 64), (784, 512, 128), (784, 128, 512), (196, 1024, 256), (49, 2048, 512),
                    (32, 32, 32), (64, 64, 64), (64, 4096, 64), (4096, 64, 64), (64, 64, 4096), (512, 512, 512), (2048, 2048, 2048), (32, 25088, 4096), (33, 65, 97), (100, 100, 100), (320, 96, 160),
                    (4096, 4096, 4096), (8192, 1024, 1024), (1024, 8192, 1024), (256, 256, 2304), (2304, 256, 256), (256, 256, 2048), (2048, 256, 256), (40960, 32, 32), (32, 32, 40960), (224, 224, 224), (1056, 1056, 1056)):
        out.append(case([1, 1, m, k], [1, 1, k, n]))
    for a, b in (([2, 1, 64, 64], [1, 1, 64, 64]), ([4, 1, 128, 256], [256, 128]), ([2, 3, 64, 96], [2, 3, 96, 128]), ([8, 1, 32, 32], [8, 1, 32, 32]), ([3, 64, 64], [3, 64, 64]), ([64, 128], [128, 64]), ([16, 1, 49, 2048], [1, 1, 2048, 512]), ([1, 1, 64, 64], [4, 1, 64, 64]),
                 ([2, 2, 256, 256], [2, 2, 256, 256]), ([8, 196, 768], [768, 768])):
        out.append(case(a, b))
    return out


def refused():
    return [case([1, 1, 64, 64], [1, 1, 32, 64]), case([2, 1, 64, 64], [3, 1, 64, 64]), case([64], [64, 64]), case([64, 64], [64]), case([64], [64]), case([1, 1, 64, 64], [1, 1, 64, 64], layout_a="RM"), case([1, 1, 64, 64], [1, 1, 64, 64], layout_b="RM"),
            case([1, 1, 64, 64], [1, 1, 64, 64], dtype_a="uint32"), case([1, 1, 64, 64], [1, 1, 64, 64], bias=[1, 1, 1, 32]), case([1, 1, 64, 64], [1, 1, 64, 64], bias=[1, 1, 64, 64]), case([1, 1, 64, 64], [1, 1, 64, 64], bias=[64])]


def kinds():
    """Dtypes, bias, activation, transposes, places."""
    out = []
    for s in ([1, 1, 1024, 512], [1, 1, 512, 768]), ([1, 1, 32, 2048], [1, 1, 2048, 1000]), ([1, 1, 3136, 64], [1, 1, 64, 256]):
        for da, db, dy in (("bfloat8_b", "bfloat8_b", None), ("bfloat16", "bfloat8_b", None), ("bfloat16", "bfloat4_b", "bfloat8_b"), ("float32", "float32", None), ("float32", "bfloat16", "bfloat16"), ("bfloat16", "float32", None), ("bfloat8_b", "bfloat8_b", "bfloat16")):
            out.append(case(*s, dtype_a=da, dtype_b=db, dtype=dy))
        for bias in (False, True):
            for act in (None, "relu", "gelu"):
                if bias or act:
                    out.append(case(*s, bias=[1, 1, 1, s[1][3]] if bias else None, activation=act))
        for fid, f32, l1 in (("LoFi", False, True), ("LoFi", False, False), ("HiFi4", True, True), ("HiFi4", True, False)):
            for bias in (None, [1, 1, 1, s[1][3]]):
                out.append(case(*s, compute=[fid, f32, l1], bias=bias))
                out.append(case(*s, compute=[fid, f32, l1], bias=bias, dtype="bfloat8_b"))
        out.append(case([1, 1, s[0][3], s[0][2]], s[1], transpose_a=True))
        out.append(case(s[0], [1, 1, s[1][3], s[1][2]], transpose_b=True))
        for pa in ("DRAM", "L1"):
            for pb in ("DRAM", "L1"):
                for py in (None, "DRAM", "L1", "HEIGHT", "WIDTH", "BLOCK"):
                    out.append(case(*s, place_a=pa, place_b=pb, place=py))
        for py in ("L1", "WIDTH", "BLOCK"):
            out.append(case(*s, place=py, bias=[1, 1, 1, s[1][3]]))
            out.append(case(*s, place_a="L1", place=py, bias=[1, 1, 1, s[1][3]]))
        out.append(case(*s, core_grid=[4, 4]))
        out.append(case(*s, core_grid=[1, 8]))
        out.append(case(*s, core_grid=[8, 1]))
    return out


def sharded():
    out = []
    H, W, B = "HEIGHT", "WIDTH", "BLOCK"
    for a, b, sh in (([1, 1, 3136, 64], [1, 1, 64, 256], [H, [0, 0, 6, 6], [64, 64]]), ([1, 1, 3136, 64], [1, 1, 64, 64], [H, [0, 0, 6, 6], [64, 64]]), ([1, 1, 50176, 64], [1, 1, 64, 256], [H, [0, 0, 7, 6], [896, 64]]),
                     ([1, 1, 12544, 128], [1, 1, 128, 512], [H, [0, 0, 7, 6], [224, 128]]), ([1, 1, 3136, 256], [1, 1, 256, 1024], [B, [0, 0, 7, 6], [448, 32]]), ([1, 1, 3136, 1024], [1, 1, 1024, 256], [B, [0, 0, 7, 7], [416, 128]]),
                     ([1, 1, 784, 2048], [1, 1, 2048, 512], [B, [0, 0, 7, 6], [128, 256]]), ([1, 1, 32, 2048], [1, 1, 2048, 1000], [W, [0, 0, 7, 3], [32, 64]]), ([1, 1, 32, 2048], [1, 1, 2048, 1000], [W, [0, 0, 7, 7], [32, 32]]),
                     ([1, 1, 256, 512], [1, 1, 512, 512], [B, [0, 0, 3, 3], [64, 128]]), ([1, 1, 256, 512], [1, 1, 512, 512], [B, [0, 0, 3, 7], [32, 128]]), ([1, 1, 128, 256], [1, 1, 256, 64], [H, [0, 0, 3, 0], [32, 256]]), ([1, 1, 128, 256], [1, 1, 256, 64], [W, [0, 0, 3, 0], [128, 64]]),
                     ([1, 1, 128, 2048], [1, 1, 2048, 512], [W, [0, 0, 7, 0], [128, 256]]), ([4, 1, 64, 64], [4, 1, 64, 64], [H, [0, 0, 3, 0], [64, 64]])):
        for py in (None, "DRAM", "L1", "SAME"):
            for bias in (None, [1, 1, 1, b[3]]):
                out.append(case(a, b, shard=sh, place=py, bias=bias))
        out.append(case(a, b, shard=sh, place="SAME", bias=[1, 1, 1, b[3]], activation="relu", dtype_a="bfloat8_b", dtype_b="bfloat8_b", dtype="bfloat8_b", compute=["LoFi", False, True]))
    return out


def near():
    """Inputs in L1: other programs than from DRAM."""
    out = []
    for m, k, n in ((64, 64, 64), (128, 96, 128), (1024, 512, 1024), (512, 512, 1536), (2048, 64, 256), (256, 64, 2048), (96, 160, 288), (320, 320, 320), (1056, 64, 1056), (4096, 64, 4096), (512, 2048, 640), (2048, 2048, 320)):
        for pa, py in (("L1", "L1"), ("DRAM", "L1"), ("L1", "DRAM"), ("L1", "WIDTH"), ("L1", "HEIGHT"), ("L1", "BLOCK")):
            out.append(case([1, 1, m, k], [1, 1, k, n], place_a=pa, place_b="DRAM", place=py))
    return out


def random_cases(seed, count):
    r = rng(seed)
    size = lambda: r.choice([r.randint(1, 8) * 32, r.randint(1, 64) * 32, r.randint(1, 128) * 32, r.randint(1, 700)])
    out = []
    for _ in range(count):
        m, k, n = size(), size(), size()
        batch = r.choice([1, 1, 1, r.randint(2, 8)])
        both = batch > 1 and r.random() < 0.4
        c = case([batch, 1, m, k], [batch if both else 1, 1, k, n])
        c["dtype_a"], c["dtype_b"] = r.choice([("bfloat16", "bfloat16"), ("bfloat16", "bfloat8_b"), ("bfloat8_b", "bfloat8_b"), ("float32", "float32")])
        if r.random() < 0.3:
            c["dtype"] = r.choice(["bfloat16", "bfloat8_b"])
        if r.random() < 0.4 and not both:
            c["bias"] = [1, 1, 1, n]
        if r.random() < 0.4:
            c["compute"] = [r.choice(["LoFi", "HiFi2", "HiFi4"]), r.random() < 0.5, r.random() < 0.5]
        out.append(c)
    return out


def small():
    """Products of few tiles, operands and result in either memory."""
    out = []
    for m, n in ((1, 1), (1, 2), (1, 8), (1, 9), (1, 16), (1, 17), (2, 1), (8, 1), (9, 1), (16, 1), (17, 1), (2, 2), (2, 16), (2, 17), (2, 18), (20, 2), (16, 16)):
        for k in (1, 2, 3, 4):
            for places in (dict(place_a="L1"), dict(place_b="L1"), dict(place="L1"), {}):
                out.append(case([1, 1, 32 * m, 32 * k - 5], [1, 1, 32 * k - 5, 32 * n - 3], **places))
    return out


def long():
    """Blocks that do not fit as they are, of odd numbers of tiles."""
    out = []
    for k, n, rows in ((1, 1, (150, 257, 260, 315, 375, 384, 509, 750, 1001)), (2, 2, (100, 125, 150, 175, 300, 375)), (3, 3, (100, 150, 250, 375)), (4, 1, (100, 175, 250))):
        for each in rows:
            out.append(case([1, 1, 64 * 32 * each, 32 * k], [1, 1, 32 * k, 32 * n], dtype_a="bfloat8_b", dtype_b="bfloat8_b", dtype="bfloat8_b", compute=["LoFi", False, True]))
    return out
