"""The Python examples of docs/ttnn.md run as they stand there, one after the other."""

import pathlib
import re

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "ttnn.md").read_text(encoding="utf-8")


def test_python_examples_run(capsys):
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/ttnn.md", "exec"), names)
    assert "'to': 'dram'" in capsys.readouterr().out
    assert (names["height"], names["width"]) == (56, 56)
    assert tuple(names["y"].shape) == (1, 1, 56 * 56, 32)
