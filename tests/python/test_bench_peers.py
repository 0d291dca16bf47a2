"""bench/peers: what it makes of times, and that a runtime which is missing is named and not hidden."""

import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build"))
PEERS = ROOT / "bench" / "peers"
sys.path.insert(0, str(PEERS))

import compare  # noqa: E402
import rows  # noqa: E402


def row(name, group="g", **peers):
    """Times in ms: medians, or (median, min)."""
    times = {}
    for peer, time in peers.items():
        median, least = time if isinstance(time, tuple) else (time, time)
        times[peer] = {"median_s": median * 1e-3, "min_s": least * 1e-3, "difference": 0.0}
    return {"key": name, "name": name, "group": group, "dtype": "f32", "flops": 2e9, "peak_flop_per_s": 1e12,
            "peers": times, "versions": {}}


def test_the_ratio_is_to_the_best_of_the_others():
    r = row("a", tessera=(2, 1), openvino=(4, 3), ncnn=(3, 2.5), tessera_python=1)
    r["peers"]["tessera-python"] = r["peers"].pop("tessera_python")
    assert rows.ratio(r, "median_s") == pytest.approx(1.5)
    assert rows.ratio(r, "min_s") == pytest.approx(2.5)
    assert rows.ratio(r, "median_s", "openvino") == pytest.approx(2)
    assert rows.ratio(r, "median_s", "torch") is None
    assert rows.ratio(row("b", tessera=1), "median_s") is None
    assert rows.ratio(row("c", ncnn=1), "median_s") is None


def test_groups_have_geometric_means_and_bars():
    of = [row("a", tessera=1, ncnn=2), row("b", tessera=1, ncnn=8), row("c", "h", tessera=2, ncnn=1), row("d", tessera=1)]
    text = rows.group_table(of, ["tessera", "ncnn"], {"g": 3.9, "": 1})
    g, h = (line.split() for line in text.splitlines()[1:])
    assert g == ["g", "3", "4.00", "4.00", "4.00", "3.9", "met"]
    assert h == ["h", "1", "0.50", "0.50", "0.50", "1", "missed"]
    assert math.isnan(rows.geometric_mean([None]))


def test_the_table_shows_medians_minima_and_the_part_of_the_peak():
    of = [row("a", tessera=(5, 4), ncnn=(10, 9))]
    of[0]["peers"]["torch"] = {"error": "not there"}
    of[0]["peers"]["ncnn"]["difference"] = 3e-6
    line = rows.table(of, ["tessera", "ncnn", "torch"]).splitlines()[1].split()
    assert line == ["a", "5.000", "(4.000)", "10.000", "(9.000)", "-", "2.00", "2.25", "50.0", "3e-06"]


def test_what_is_missing_or_differs_is_said():
    of = [row("a", tessera=1, ncnn=2), row("b", tessera=1, ncnn=2)]
    assert rows.remarks(of) == []
    for r in of:
        r["peers"]["torch"] = {"error": "No module named 'torch'"}
    of[1]["peers"]["ncnn"]["difference"] = 0.5
    of[0]["waited"] = 0.9
    text = "\n".join(rows.remarks(of))
    assert "torch: No module named 'torch' (everywhere)" in text
    assert "ncnn: results differ from Tessera's by 5.0e-01 of the largest (b)" in text
    assert "disturbed" in text and "(a)" in text


def test_differences_are_relative_to_the_largest_value():
    ours = {"0": numpy.array([1.0, -4.0]), "1": numpy.zeros((2, 2))}
    assert compare.difference(ours, {"0": numpy.array([[1.0, -4.0]]), "1": numpy.zeros(4)}) == 0
    assert compare.difference(ours, {"0": numpy.array([1.0, -3.0]), "1": numpy.zeros(4)}) == pytest.approx(0.25)
    with pytest.raises(compare.PeerError, match="1 outputs instead of 2"):
        compare.difference(ours, {"0": ours["0"]})
    with pytest.raises(compare.PeerError, match="shape"):
        compare.difference(ours, {"0": ours["0"], "1": numpy.zeros(3)})
    with pytest.raises(compare.PeerError, match="no numbers"):
        compare.difference(ours, {"0": numpy.array([numpy.nan, 0]), "1": numpy.zeros(4)})


def test_rows_are_kept_and_replaced(tmp_path):
    path = tmp_path / "rows.json"
    results = compare.Results(path)
    results.add({"key": "a", "value": 1})
    results.add({"key": "b", "value": 2})
    results.add({"key": "a", "value": 3})
    again = compare.Results(path)
    assert again.find("a")["value"] == 3 and again.find("b")["value"] == 2 and again.find("c") is None
    assert len(again.content["rows"]) == 2


@pytest.mark.skipif(not (BUILD / "bench/peers/tessera_peer_worker").exists(), reason="the benchmarks are not built")
@pytest.mark.skipif(importlib.util.find_spec("openvino") is not None, reason="openvino is there")
def test_a_missing_runtime_is_named_and_rows_are_not_measured_twice(tmp_path):
    layers = tmp_path / "one.txt"
    layers.write_text("small:one h8 w8 ic8 oc16 k3 p1 bias relu\nsmall:two h8 w8 ic8 oc8 k1\n")
    command = [sys.executable, PEERS / "compare.py", "--build", BUILD, "--layers", layers, "--rows", "one", "--rounds", "3",
               "--block", "0.001", "--peers", "openvino", "--threads", "1", "--json", tmp_path / "rows.json"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "[1/1] small:one" in done.stderr
    assert "openvino: ModuleNotFoundError: No module named 'openvino' (everywhere)" in done.stdout
    (kept,) = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert kept["peers"]["tessera"]["median_s"] >= kept["peers"]["tessera"]["min_s"] > 0
    assert kept["flops"] == pytest.approx(2 * 8 * 8 * 16 * 8 * 9)
    again = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert again.returncode == 0 and "[1/1]" not in again.stderr
    assert "small:one" in again.stdout
