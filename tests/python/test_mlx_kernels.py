"""Kernels that a layer is said to launch, beside those in the graph of the real MLX, as written and under mx.compile."""

import json
import os
import pathlib
import subprocess

import pytest

from tessera.mlx_profile import fusion_report
from tessera.ncps import CfC
from tessera.ncps.wirings import AutoNCP

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build")) / "tessera"
MLX = ROOT / ".venv-mlx" / "bin" / "python"

pytestmark = [
    pytest.mark.skipif(not COMMAND.exists(), reason=f"{COMMAND} has not been built"),
    pytest.mark.skipif(not MLX.exists(), reason="MLX is not there: tools/setup mlx"),
]

LAYERS = {
    "one layer": lambda: CfC(3, 9, backbone_units=11),
    "two layers": lambda: CfC(3, 9, backbone_units=11, backbone_layers=2),
    "no backbone": lambda: CfC(3, 9, backbone_layers=0),
    "silu": lambda: CfC(3, 9, activation="silu"),
    "tanh": lambda: CfC(3, 9, activation="tanh"),
    "pure": lambda: CfC(3, 9, mode="pure"),
    "no gate": lambda: CfC(3, 9, mode="no_gate"),
    "mlx": lambda: CfC(3, 9, dialect="mlx"),
    "projected": lambda: CfC(3, 9, proj_size=4),
    "wired": lambda: CfC(3, AutoNCP(14, 2)),
}

# What a step adds to the graph: primitives that make new values. Views launch nothing.
COUNT = """
import importlib.util, json, re
import mlx.core as mx, numpy as np
mx.set_default_device(mx.cpu)
spec = importlib.util.spec_from_file_location("net", "net.py")
net = importlib.util.module_from_spec(spec)
spec.loader.exec_module(net)
w = {name: mx.array(values) for name, values in net.read_safetensors(net.WEIGHTS_FILE).items()}
mx.eval(list(w.values()))
VIEWS = {"Slice", "Squeeze", "ExpandDims", "Broadcast", "Transpose", "Reshape", "Full", "Split"}

def kernels(run, steps):
    x, elapsed = mx.zeros((2, steps, 3)), mx.ones((2, steps))
    mx.eval(x, elapsed)
    mx.export_to_dot("graph.dot", *run(w, x, elapsed))
    names = re.findall(r'label ="(\\w+)", shape=rectangle', open("graph.dot").read())
    return [name for name in names if name not in VIEWS]

found = {}
for how, make in (("none", lambda f: f), ("elementwise", mx.compile)):
    found[how] = len(kernels(make(net.network), 6)) - len(kernels(make(net.network), 5))
print(json.dumps(found))
"""


@pytest.mark.parametrize("name", LAYERS)
def test_kernels_of_a_step_are_those_of_mlx(name, tmp_path):
    layer = LAYERS[name]()
    layer.save(tmp_path / "layer.safetensors")
    for words in ([COMMAND, "plan", "layer.safetensors", "--emit", "mlx", "net.py"], [MLX, "-c", COUNT]):
        done = subprocess.run([str(w) for w in words], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    reports = [fusion_report(layer, 2, steps) for steps in (6, 5)]
    counted = {how: reports[0][how]["kernels"] - reports[1][how]["kernels"] for how in ("none", "elementwise")}
    # The sign of the elapsed time, one number for each sample, is no work to the formulas, but a kernel to MLX.
    counted["none"] += name == "pure"
    assert counted == json.loads(done.stdout)
