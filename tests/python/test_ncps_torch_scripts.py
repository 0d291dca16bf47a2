"""Programs written for ncps.torch run under `python -m tessera.compat` as they are. Wants PyTorch: make test-torch."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch brings it")

import tessera  # noqa: E402

_PACKAGES = str(pathlib.Path(tessera.__file__).parents[1])

# An ncps that is installed would be found first.
_WITHOUT_NCPS = """
import importlib.machinery, sys
_find = importlib.machinery.PathFinder.find_spec
def _hide(name, path=None, target=None):
    return None if name.partition(".")[0] == "ncps" else _find(name, path, target)
importlib.machinery.PathFinder.find_spec = _hide
"""


def run(tmp_path, text):
    script = tmp_path / "program.py"
    script.write_text(_WITHOUT_NCPS + text)
    environment = {**os.environ, "PYTHONPATH": _PACKAGES}
    done = subprocess.run(
        [sys.executable, "-m", "tessera.compat", str(script)], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr
    return done.stdout


def test_modules_come_under_the_names_of_ncps(tmp_path):
    out = run(
        tmp_path,
        """
import sys
import ncps
assert "torch" not in sys.modules  # only who asks for it waits for it
from ncps.torch import CfC, LTC, CfCCell, LTCCell, WiredCfCCell
from ncps.wirings import AutoNCP
from ncps.datasets.torch import AtariCloningDataset
import ncps.torch, torch
assert ncps.torch.CfC is CfC and ncps.datasets.icra2020_lidar_collision_avoidance.load_data
model = CfC(20, AutoNCP(28, 4))
assert isinstance(model, torch.nn.Module) and isinstance(model.wiring, ncps.wirings.Wiring)
output, hx = model(torch.randn(2, 3, 20), torch.zeros(2, 28))
output.sum().backward()
print(CfC.__module__, tuple(output.shape), tuple(hx.shape), model.rnn_cell.layer_2.ff1.weight.grad.abs().sum().item() > 0)
""",
    )
    assert out == "tessera.ncps.torch.cfc (2, 3, 4) (2, 28) True\n"


def test_a_loop_over_a_data_loader_learns_from_games(tmp_path):
    folder = tmp_path / "data_atari_seq" / "pong"
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    for i in range(6):
        actions = random.integers(0, 3, 8)
        frames = (actions[:, None, None, None] * 80 + random.integers(0, 20, (8, 6, 6, 4))).astype(np.uint8)
        np.savez(folder / f"train_{i}.npz", obs=frames, actions=actions)
    out = run(
        tmp_path,
        """
import torch
from torch import nn
from ncps.torch import CfC
from ncps.datasets.torch import AtariCloningDataset

class Player(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 16, 3)
        self.rnn = CfC(16, 32, batch_first=True, proj_size=3)
    def forward(self, x, hx=None):
        batch, steps = x.shape[:2]
        x = torch.relu(self.conv(x.flatten(0, 1))).mean((-1, -2))
        return self.rnn(x.view(batch, steps, -1), hx)

torch.manual_seed(0)
data = torch.utils.data.DataLoader(AtariCloningDataset("pong"), batch_size=3, shuffle=True, num_workers=1)
model, criterion = Player(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for epoch in range(25):
    for x, y in data:
        optimizer.zero_grad()
        output, hx = model(x)
        loss = criterion(output.flatten(0, 1), y.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
model.eval()
with torch.no_grad():
    hx = None
    for frame in AtariCloningDataset("pong")[0][0]:
        action, hx = model(frame[None, None], hx)
print(losses[-1] < 0.3 * losses[0], tuple(action.shape), tuple(hx.shape))
""",
    )
    assert out == "True (1, 1, 3) (1, 32)\n"


def test_drawings_give_the_handles_of_a_legend(tmp_path):
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    out = run(
        tmp_path,
        """
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from ncps.wirings import AutoNCP
wiring = AutoNCP(16, 2)
wiring.build(3)
for layout in ("kamada", "circular", "random", "shell", "spring", "spectral", "spiral"):
    plt.figure()
    handles = wiring.draw_graph(layout=layout, draw_labels=True, neuron_colors={"command": "tab:cyan"})
    legend = plt.legend(handles=handles, loc="upper center")
    axes = plt.gca()
    assert len(axes.collections[0].get_offsets()) == 19 and len(axes.texts) >= 19
print([text.get_text() for text in legend.get_texts()])
""",
    )
    assert out == "['Command neurons', 'Inter neurons', 'Motor neurons', 'Sensory neurons']\n"


def test_the_examples_of_the_page_run(tmp_path):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "ncps.md").read_text(encoding="utf-8")
    blocks = re.findall(r'^```python title="with PyTorch"\n(.*?)^```', page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    for block in blocks:
        run(tmp_path, block)
