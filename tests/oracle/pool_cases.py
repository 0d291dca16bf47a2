"""Pools that the oracle scripts ask about: plain data."""
from common import rng


def case(n, h, w, c, k, s, p, **more):
    two = lambda v: [v, v] if isinstance(v, int) else list(v)
    return dict(n=n, h=h, w=w, c=c, k=two(k), s=two(s), p=two(p), **more)


def plain():
    out = []
    for a in ((1, 112, 112, 64, 3, 2, 1), (16, 112, 112, 64, 3, 2, 1), (1, 56, 56, 64, 2, 2, 0), (1, 28, 28, 256, 2, 2, 0), (1, 14, 14, 512, 2, 2, 0), (2, 33, 47, 32, 3, 1, 1), (1, 224, 224, 64, 2, 2, 0), (1, 7, 7, 2048, 7, 1, 0), (1, 8, 8, 16, 5, 1, 2),
              (1, 16, 16, 3, 2, 2, 0), (1, 20, 20, 48, 3, 3, 0), (1, 32, 32, 96, 3, 1, [0, 1, 2, 0]), (4, 10, 10, 160, 3, 2, 1), (1, 1, 64, 32, [1, 4], [1, 2], 0), (1, 264, 40, 32, 2, 2, 0), (1, 13, 13, 512, 9, 1, 4), (1, 7, 7, 1280, 3, 1, 1), (1, 160, 160, 128, 5, 1, 2)):
        for kind in ("max", "avg"):
            out.append(case(*a, kind=kind))
    return out


def kinds():
    out = []
    base = (1, 56, 56, 64, 3, 2, 1)
    for kind in ("max", "avg"):
        for more in (dict(scheme="HEIGHT"), dict(scheme="BLOCK"), dict(scheme="WIDTH"), dict(ceil=True), dict(out_layout="TILE"), dict(out_layout="TILE", dtype="bfloat8_b"), dict(in_layout="TILE"), dict(in_layout="TILE", in_dtype="bfloat8_b"), dict(in_dtype="float32"),
                     dict(dtype="float32"), dict(place="DRAM"), dict(place="L1"), dict(in_place="L1"), dict(realloc=False), dict(dealloc=True)):
            out.append(case(*base, kind=kind, **more))
        for scheme in ("HEIGHT", "BLOCK", "WIDTH"):
            for a in ((1, 28, 28, 256, 3, 2, 1), (2, 14, 14, 1024, 2, 2, 0), (1, 40, 30, 96, 3, 1, 1)):
                out.append(case(*a, kind=kind, scheme=scheme))
                out.append(case(*a, kind=kind, scheme=scheme, in_layout="TILE"))
        out.append(case(1, 57, 57, 64, 3, 2, 1, kind=kind, ceil=True))
        out.append(case(1, 55, 55, 64, 2, 2, 0, kind=kind, ceil=True))
    out.append(case(*base, kind="max", dil=[2, 2]))
    out.append(case(1, 56, 56, 64, 3, 1, 2, kind="max", dil=[2, 2]))
    out.append(case(*base, kind="max", indices=True))
    for more in (dict(include=False), dict(divisor=5), dict(include=False, ceil=True)):
        out.append(case(*base, kind="avg", **more))
    for sh in (["HEIGHT", [0, 0, 6, 6], [64, 64]], ["HEIGHT", [0, 0, 7, 6], [56, 64]], ["BLOCK", [0, 0, 1, 6], [448, 32]], ["WIDTH", [0, 0, 1, 0], [3136, 32]]):
        for kind in ("max", "avg"):
            out.append(case(*base, kind=kind, shard=sh))
            out.append(case(*base, kind=kind, shard=sh, dealloc=True))
    return out


def slices():
    base = (1, 56, 56, 64, 3, 2, 1)
    out = []
    for kind in ("max", "avg"):
        for cut in (["DRAM_WIDTH", 2], ["DRAM_HEIGHT", 2], ["DRAM_HEIGHT", 3], ["DRAM_WIDTH", 1], ["DRAM_WIDTH", 0], ["DRAM_HEIGHT", 0], ["L1_FULL", 0], ["DRAM_WIDTH", 100], ["DRAM_WIDTH", 28]):
            out.append(case(*base, kind=kind, slice=cut))
        for cut, more in ((["DRAM_WIDTH", 2], dict(in_layout="TILE")), (["DRAM_HEIGHT", 2], dict(in_layout="TILE", in_dtype="bfloat8_b")), (["DRAM_WIDTH", 2], dict(out_layout="TILE")),
                          (["DRAM_HEIGHT", 2], dict(out_layout="TILE", dtype="bfloat8_b")), (["DRAM_HEIGHT", 2], dict(place="L1")), (["DRAM_HEIGHT", 2], dict(in_place="L1")), (["DRAM_HEIGHT", 2], dict(scheme="BLOCK"))):
            out.append(case(*base, kind=kind, slice=cut, **more))
        out.append(case(2, 33, 47, 32, 3, 1, 1, kind=kind, slice=["DRAM_WIDTH", 3]))
        out.append(case(2, 33, 47, 32, 3, 2, 1, kind=kind, slice=["DRAM_HEIGHT", 4], ceil=True))
        out.append(case(16, 224, 224, 64, 3, 2, 1, kind=kind))
        out.append(case(16, 224, 224, 64, 3, 2, 1, kind=kind, slice=["DRAM_HEIGHT", 0]))
        for cut in (["DRAM_WIDTH", 0], ["DRAM_WIDTH", 4], None):
            out.append(case(1, 512, 512, 64, 3, 1, 1, kind=kind, **({"slice": cut} if cut else {})))
    return out


def indices():
    out = [case(1, 56, 56, 64, 3, 2, 1, kind="max", indices=True, **more) for more in ({}, dict(scheme="HEIGHT"), dict(scheme="BLOCK"), dict(scheme="WIDTH"), dict(in_layout="TILE"), dict(in_layout="TILE", in_dtype="bfloat8_b"),
                                                                                    dict(out_layout="TILE"), dict(place="DRAM"), dict(ceil=True), dict(slice=["DRAM_HEIGHT", 2]), dict(dil=[2, 2]))]
    for a in ((1, 28, 28, 256, 2, 2, 0), (1, 14, 14, 512, 3, 1, 1), (2, 33, 47, 32, 3, 1, 1), (1, 112, 112, 16, 3, 2, 1), (1, 224, 224, 32, 2, 2, 0), (1, 16, 16, 32, 5, 1, 2), (1, 300, 300, 16, 2, 2, 0)):
        out.append(case(*a, kind="max", indices=True))
    return out


def refused():
    base = (1, 56, 56, 64, 3, 2, 1)
    return [case(1, 56, 56, 64, 3, 2, 2, kind="max"), case(*base, kind="max", in_dtype="uint32"), case(*base, kind="max", dtype="bfloat8_b"), case(1, 56, 56, 64, 3, 2, [1, 1, 1], kind="max"),
            case(16, 224, 224, 64, 3, 2, 1, kind="max"), case(1, 512, 512, 64, 3, 1, 1, kind="max")]


def random_cases(seed, count):
    r = rng(seed)
    out = []
    for _ in range(count):
        k = r.choice([2, 2, 3, 3, 5, 7])
        h, w = r.choice([(14, 14), (28, 28), (33, 47), (56, 56), (64, 64), (112, 112), (100, 60), (9, 130)])
        c = case(r.choice([1, 1, 2, 4]), h, w, r.choice([8, 16, 32, 48, 64, 96, 128, 256, 320]), k, r.choice([1, 2, 2, 3]), r.choice([0, k // 2]), kind=r.choice(["max", "avg"]), ceil=r.random() < 0.2)
        if r.random() < 0.4:
            c["scheme"] = r.choice(["HEIGHT", "BLOCK", "WIDTH"])
        if r.random() < 0.3:
            c["in_layout"] = "TILE"
            c["in_dtype"] = r.choice(["bfloat16", "bfloat8_b"])
        if r.random() < 0.2:
            c["out_layout"] = "TILE"
        out.append(c)
    return out
