"""All node tests that the onnx package brings, with their own inputs and outputs: none fails, and those that are refused
are the ones that tests/data/node_tests_refused.txt names, for the reasons it gives.

    UPDATE_REFUSED=1 pytest tests/python/test_node_tests.py

writes the list anew; its difference is what to review.
"""

import json
import os
import pathlib
import subprocess

import pytest

onnx_test = pytest.importorskip("onnx.backend.test")

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build"))
NODE_TESTS = pathlib.Path(onnx_test.__file__).parent / "data" / "node"
REFUSED = ROOT / "tests/data/node_tests_refused.txt"
LEAST_PASSED = 1560
LEVELS = ["portable", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"]


def outcomes(device="cpu", **environment):
    command = [BUILD / "tessera", "test-onnx", str(NODE_TESTS), "--device", device, "--format", "json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert done.stdout, done.stderr
    rows = json.loads(done.stdout)["rows"]
    if (rows[0]["reason"] or "").startswith("TESSERA_ISA"):
        pytest.skip(rows[0]["reason"])
    return rows


def by_status(rows, status):
    return {row["test"]: (row["reason"] or "").partition("\n")[0] for row in rows if row["status"] == status}


def stored():
    lines = [line for line in REFUSED.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def test_every_node_test_passes_or_is_refused_as_listed():
    rows = outcomes()
    assert len(rows) == len(list(NODE_TESTS.glob("*/model.onnx")))
    assert by_status(rows, "failed") == {}
    refused = by_status(rows, "unsupported")
    if os.environ.get("UPDATE_REFUSED"):
        head = "# Node tests of the onnx package that are refused, and why (tests/python/test_node_tests.py).\n"
        REFUSED.write_text(head + "".join(f"{test}: {reason}\n" for test, reason in sorted(refused.items())))
    assert refused == stored()
    assert len(by_status(rows, "passed")) >= LEAST_PASSED


@pytest.mark.parametrize("isa, threads", list(zip(LEVELS, ["1", "4"] * 3, strict=True)))
def test_no_node_test_fails_at_any_level(isa, threads):
    rows = outcomes(TESSERA_ISA=isa, OMP_NUM_THREADS=threads)
    assert by_status(rows, "failed") == {}
    assert by_status(rows, "unsupported") == stored()


def test_no_node_test_fails_by_the_reference():
    rows = outcomes(device="reference")
    assert by_status(rows, "failed") == {}
    assert by_status(rows, "unsupported") == stored()
