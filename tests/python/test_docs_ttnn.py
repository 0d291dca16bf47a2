"""The Python examples of docs/ttnn.md run as they stand there, one after the other."""

import pathlib
import re
from types import SimpleNamespace

import numpy as np

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "ttnn.md").read_text(encoding="utf-8")


def test_python_examples_run(capsys):
    random = np.random.default_rng(0)
    layer = SimpleNamespace(
        in_channels=64, out_channels=32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1,
        weight=random.standard_normal((32, 64, 3, 3), np.float32), bias=random.standard_normal(32, np.float32),
    )  # fmt: skip
    names = {
        "layer": layer,
    }
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/ttnn.md", "exec"), names)
    assert "'to': 'dram'" in capsys.readouterr().out
    assert (names["height"], names["width"]) == (56, 56)
    assert tuple(names["y"].shape) == (1, 1, 56 * 56, 32)
