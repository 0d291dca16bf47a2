"""Every cell of examples/tessera.ipynb runs, in order and in one namespace, without anything but NumPy and Tessera."""

import json
import pathlib
import socket

import pytest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples" / "tessera.ipynb"


def test_every_cell_runs_offline(tmp_path, monkeypatch, capsys):
    def refused(*_):
        raise OSError("the notebook must not need a network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", refused)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names = {"__name__": "__main__"}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"tessera.ipynb, cell {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert "best classes:" in printed and "at address" in printed
    assert (tmp_path / "wiring.svg").read_text(encoding="utf-8").startswith("<svg")


def test_it_is_stored_without_results():
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, cell["source"]


if __name__ == "__main__":
    pytest.main([__file__])
