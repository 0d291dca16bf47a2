"""The Python examples of docs/library.md run as they stand there."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_python_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TT_METAL_HOME", raising=False)
    monkeypatch.delenv("TT_METAL_LOGS_PATH", raising=False)
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/library.md", "exec"), names)
    out = capsys.readouterr().out
    assert "(1, 1000)" in out and "[32, 64]" in out
    assert (tmp_path / "generated" / "reports" / "demo_l1_usage_summary.csv").exists()
