"""The Python example of the README runs as it stands there."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TT_METAL_HOME", raising=False)
    monkeypatch.delenv("TT_METAL_LOGS_PATH", raising=False)
    (block,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    exec(compile(block, "README.md", "exec"), {})
    assert "[32, 64]" in capsys.readouterr().out
    assert (tmp_path / "generated" / "reports" / "demo_l1_usage_summary.csv").exists()
