#!/usr/bin/env python3
"""CoreCoord, CoreRange, CoreRangeSet, CoreGrid and the functions that make them. usage: cores.py OUT.json"""
import sys

import ttnn
from common import device_head, err, rng, write

dev = ttnn.open_device(device_id=0, l1_small_size=0)
out = []
CC, CR, CRS, CG = ttnn.CoreCoord, ttnn.CoreRange, ttnn.CoreRangeSet, ttnn.CoreGrid


def ask(q, fn, **inputs):
    rec = dict(q=q, **inputs)
    try:
        rec.update(ok=True, got=fn())
    except Exception as e:
        rec.update(ok=False, error=err(e))
    out.append(rec)


def rg(a, b, c, d):
    return CR(CC(a, b), CC(c, d))


def rs(ranges):
    return CRS([rg(*r) for r in ranges])


def xy(cores):
    return [[c.x, c.y] for c in cores]


c, r, s = CC(3, 4), rg(1, 2, 3, 5), rs([[0, 0, 1, 1], [3, 0, 3, 2]])
for name, v in (("CoreCoord", c), ("CoreRange", r), ("CoreRangeSet", s), ("CoreRangeSet empty", CRS([])), ("CoreGrid", CG(x=4, y=2))):
    ask("str", lambda: str(v), name=name)
    ask("repr", lambda: repr(v), name=name)
ask("CoreCoord fields", lambda: [c.x, c.y])
ask("CoreCoord tuple", lambda: str(CC((1, 2))))
ask("CoreCoord negative", lambda: str(CC(-1, 2)))
ask("CoreCoord equal", lambda: [CC(1, 2) == CC(1, 2), CC(1, 2) == CC(2, 1), CC(1, 2) != CC(2, 1)])
ask("CoreCoord hash", lambda: hash(CC(1, 2)) == hash(CC(1, 2)))
ask("CoreCoord less", lambda: CC(1, 2) < CC(2, 1))
ask("CoreRange one coord", lambda: str(CR(CC(2, 3))))
ask("CoreRange fields", lambda: [str(r.start), str(r.end)])
ask("CoreRange grid_size", lambda: str(r.grid_size()))
ask("CoreRange equal", lambda: [rg(0, 0, 1, 1) == rg(0, 0, 1, 1), rg(0, 0, 1, 1) == rg(0, 0, 1, 2)])
ask("CoreRange backwards x", lambda: str(rg(3, 0, 1, 1)))
ask("CoreRange backwards y", lambda: str(rg(0, 3, 1, 1)))
ask("CoreRange num_cores", lambda: r.num_cores())
ask("CoreRange size", lambda: r.size())
ask("CoreRange contains", lambda: r.contains(CC(1, 2)))
ask("CoreGrid fields", lambda: [CG(x=4, y=2).x, CG(x=4, y=2).y, CG(x=4, y=2).num_cores])
ask("CoreGrid positional", lambda: str(CG(4, 2)))
ask("CoreGrid equal", lambda: [CG(x=4, y=2) == CG(x=4, y=2), CG(x=4, y=2) == CG(x=2, y=4)])
ask("CoreGrid zero", lambda: str(CG(x=0, y=2)))
ask("set from python set", lambda: str(CRS({rg(0, 0, 1, 1)})))
ask("set from range", lambda: str(CRS(rg(0, 0, 1, 1))))
ask("set from coord list", lambda: str(CRS([CC(0, 0)])))
ask("set from nothing", lambda: str(CRS()))
ask("order kept", lambda: str(rs([[3, 0, 3, 2], [0, 0, 1, 1]])))
ask("set equal other order", lambda: rs([[3, 0, 3, 2], [0, 0, 1, 1]]) == rs([[0, 0, 1, 1], [3, 0, 3, 2]]))
ask("set equal split", lambda: rs([[0, 0, 1, 0], [0, 1, 1, 1]]) == rs([[0, 0, 1, 1]]))
ask("set hash other order", lambda: hash(rs([[3, 0, 3, 2], [0, 0, 1, 1]])) == hash(rs([[0, 0, 1, 1], [3, 0, 3, 2]])))
for ranges in ([[0, 0, 1, 1], [1, 1, 2, 2]], [[0, 0, 3, 3], [1, 1, 2, 2]], [[0, 0, 1, 1], [0, 0, 1, 1]], [[5, 5, 6, 6], [0, 0, 1, 1], [1, 0, 1, 5]]):
    ask("overlap", lambda: str(rs(ranges)), ranges=ranges)
for ranges in ([[0, 0, 1, 1], [3, 0, 3, 2]], [[2, 2, 2, 2]], [], [[0, 5, 7, 7], [3, 0, 3, 2]]):
    s = rs(ranges)
    for m in ("num_cores", "bounding_box", "ranges", "empty", "size", "to_json", "merge_ranges"):
        def f():
            v = getattr(s, m)()
            return v if isinstance(v, (int, str, bool)) else str(v) if not isinstance(v, list) else [str(x) for x in v]
        ask("set." + m, f, ranges=ranges)
    for p in ((0, 0), (2, 2), (3, 1), (7, 7)):
        ask("set.contains", lambda: s.contains(CC(*p)), ranges=ranges, core=p)
    ask("set.contains range", lambda: s.contains(rg(0, 0, 1, 1)), ranges=ranges)
    ask("set.subtract", lambda: str(s.subtract(rs([[0, 0, 0, 0]]))), ranges=ranges)
    ask("set.intersection", lambda: str(s.intersection(rs([[0, 0, 3, 3]]))), ranges=ranges)
    ask("set.merge", lambda: str(s.merge([rg(0, 0, 3, 3)])), ranges=ranges)
    ask("set.merge set", lambda: str(s.merge(rs([[0, 0, 3, 3]]))), ranges=ranges)
    for row in (True, False):
        ask("corerange_to_cores", lambda: xy(ttnn.corerange_to_cores(s, None, row)), ranges=ranges, row_wise=row)
    ask("corerange_to_cores max", lambda: xy(ttnn.corerange_to_cores(s, 3, True)), ranges=ranges)
    ask("corerange_to_cores keyword", lambda: xy(ttnn.corerange_to_cores(s, max_cores=2, row_wise=True)), ranges=ranges)
ask("corerange_to_cores too many", lambda: xy(ttnn.corerange_to_cores(rs([[0, 0, 1, 1]]), 9, True)))

R = rng(5)
for gx, gy in ((8, 8), (13, 10), (4, 3), (1, 6), (6, 1)):
    for n in sorted(set([0, 1, gx - 1, gx, gx + 1, 2 * gx, 2 * gx + 1, gy, gy - 1, gy + 1, gx * gy - 1, gx * gy, gx * gy + 1] + [R.randint(1, gx * gy) for _ in range(3)])):
        for row in (True, False):
            ask("num_cores_to_corerangeset", lambda: str(ttnn.num_cores_to_corerangeset(n, CC(gx, gy), row)), n=n, grid=[gx, gy], row_wise=row)
ask("num_cores_to_corerangeset default", lambda: str(ttnn.num_cores_to_corerangeset(10, CC(8, 8))))
ask("num_cores_to_corerangeset keyword", lambda: str(ttnn.num_cores_to_corerangeset(10, CC(8, 8), row_wise=True)))
ask("num_cores_to_corerangeset CoreGrid", lambda: str(ttnn.num_cores_to_corerangeset(10, CG(x=8, y=8), True)))
SUBS = {"one": [[0, 0, 7, 7]], "two": [[1, 0, 3, 4], [5, 0, 6, 7]], "ell": [[0, 0, 3, 0], [0, 1, 0, 4]], "strips": [[0, 0, 7, 0], [0, 2, 7, 2], [0, 4, 7, 4]]}
for name, ranges in SUBS.items():
    total = rs(ranges).num_cores()
    starts = [ranges[0][:2], [ranges[0][0] + 1, ranges[0][1]], ranges[-1][:2], [ranges[-1][2], ranges[-1][3]], [7, 6]]
    for st in starts:
        for n in (0, 1, 3, 8, 9, 17, total - 1, total, total + 1):
            for row in (True, False):
                ask("num_cores_to_corerangeset_in_subcoregrids",
                    lambda: str(ttnn.num_cores_to_corerangeset_in_subcoregrids(CC(*st), n, rs(ranges), row)), sub=name, ranges=ranges, start=st, n=n, row_wise=row)
for i in range(60):
    picks, seen = [], set()
    for _ in range(R.randint(1, 6)):
        x, y = R.randint(0, 5), R.randint(0, 5)
        q = [x, y, min(6, x + R.randint(0, 3)), min(6, y + R.randint(0, 3))]
        cells = {(a, b) for a in range(q[0], q[2] + 1) for b in range(q[1], q[3] + 1)}
        if not cells & seen:
            picks.append(q)
            seen |= cells
    x, y = R.randint(0, 5), R.randint(0, 5)
    other = [[x, y, min(6, x + R.randint(0, 4)), min(6, y + R.randint(0, 4))]]
    ask("merge random", lambda: str(rs(picks).merge(rs(other))), ranges=picks, other=other)
    ask("subtract random", lambda: str(rs(picks).subtract(rs(other))), ranges=picks, other=other)
write(sys.argv[1], device_head(dev), out)
