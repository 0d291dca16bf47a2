"""What a comparison came to, as text."""

import math
import statistics

# Results that differ by more are no rounding: of the largest value. float32 loses about a bit for every fourfold length
# of a sum; stored as bfloat16, every layer of a network rounds to 8 bits.
MOST_DIFFERENCE = {"f32": 2**-12, "bf16": 2**-3}


# Part of the time in which something waited for a processor: more than this, and other programs were at work.
MOST_WAITING = 0.1


def finished(row):
    """The peers of a row that have times, Tessera among them."""
    return {name: peer for name, peer in row["peers"].items() if "median_s" in peer}


def rivals(row):
    return {name: peer for name, peer in finished(row).items() if not name.startswith("tessera")}


def ratio(row, key, peer=None):
    """How many times as long the best peer (or that one) takes; None if one of the two has no time."""
    ours = finished(row).get("tessera")
    others = [p for name, p in rivals(row).items() if peer in (None, name)]
    if ours is None or not others:
        return None
    return min(p[key] for p in others) / ours[key]


def geometric_mean(values):
    values = [value for value in values if value]
    return statistics.geometric_mean(values) if values else math.nan


def milliseconds(peer):
    if "median_s" not in peer:
        return "-"
    return f"{peer['median_s'] * 1e3:.3f} ({peer['min_s'] * 1e3:.3f})"


def figure(value, digits=2):
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def aligned(lines):
    """Columns as wide as they need to be; all but the first to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    out = []
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line, widths)]
        cells[0] = line[0].ljust(widths[0])
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)


def table(rows, peers):
    lines = [["ms: median (min)", *peers, "ratio", "of mins", "% of peak", "difference"]]
    for row in rows:
        times = finished(row)
        ours = times.get("tessera")
        percent = 100 * row["flops"] / ours["min_s"] / row["peak_flop_per_s"] if ours and row["flops"] else None
        difference = max((p["difference"] for p in rivals(row).values() if "difference" in p), default=None)
        lines.append(
            [row["name"], *(milliseconds(row["peers"].get(peer, {})) for peer in peers), figure(ratio(row, "median_s")),
             figure(ratio(row, "min_s")), figure(percent, 1),
             "-" if difference is None else f"{difference:.0e}"])
    return aligned(lines)


def group_table(rows, peers, bars):
    """Geometric means over the rows of each group: against the best peer of each row, and against each peer."""
    others = [peer for peer in peers if not peer.startswith("tessera")]
    lines = [["geometric means of ratios", "rows", "to the best", "of mins", *(f"to {peer}" for peer in others), "bar"]]
    groups = dict.fromkeys(row["group"] for row in rows)
    for group in groups:
        of = [row for row in rows if row["group"] == group]
        best = geometric_mean([ratio(row, "median_s") for row in of])
        bar = bars.get(group, bars.get(""))
        lines.append(
            [group, str(len(of)), figure(best), figure(geometric_mean([ratio(row, "min_s") for row in of])),
             *(figure(geometric_mean([ratio(row, "median_s", peer) for row in of])) for peer in others),
             "-" if bar is None else f"{bar:g} {'met' if best >= bar else 'missed'}"])
    return aligned(lines)


def remarks(rows):
    """What is missing and what looks wrong, once each."""
    reasons = {}
    for row in rows:
        if row.get("waited", 0) > MOST_WAITING:
            text = "other programs used the machine at the same time: --redo measures again"
            reasons.setdefault(("disturbed", text), []).append(row["name"])
        for name, peer in row["peers"].items():
            if "error" in peer:
                reasons.setdefault((name, peer["error"]), []).append(row["name"])
            if peer.get("difference", 0) > MOST_DIFFERENCE[row["dtype"]]:
                text = f"results differ from Tessera's by {peer['difference']:.1e} of the largest"
                reasons.setdefault((name, text), []).append(row["name"])
    out = []
    for (name, error), names in reasons.items():
        where = "everywhere" if len(names) == len(rows) else ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")
        out.append(f"{name}: {error} ({where})")
    return out
