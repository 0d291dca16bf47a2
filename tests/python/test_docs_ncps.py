"""The examples of docs/ncps.md run as they stand there, one after the other."""

import pathlib
import re

import numpy as np

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "ncps.md").read_text(encoding="utf-8")


def test_python_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for number, block in enumerate(blocks):
        exec(compile(block, f"docs/ncps.md, block {number + 1}", "exec"), names)
    printed = capsys.readouterr().out
    # What the comments say.
    said = re.findall(r"^print\(.*\) +# (.*)$", PAGE, re.MULTILINE)
    for line in said[:2]:
        assert line in printed
    assert re.search(r"CfC cfc_f32_\w+ \[8, 32, 20\] -> \[8, 32, 4\]", printed)
    assert printed.count("epoch ") == len(names["history"]) >= 1
    assert names["history"][-1]["loss"] < names["history"][0]["loss"]
    assert names["states"].shape == (8, 32, 28)
    assert names["alone"].shape == (32, 4) and names["h"].shape == (28,)
    assert names["both"].shape == (8, 32, 32)
    assert (tmp_path / "wiring.svg").exists()
    whole, end = names["model"](names["batch"])
    np.testing.assert_array_equal(names["output"], whole)
    np.testing.assert_array_equal(names["hx"], end)
