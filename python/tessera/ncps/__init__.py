"""Liquid networks under the names of ncps: wirings, CfC and LTC, their cells; numpy arrays in and out.

    from tessera.ncps import CfC, LTC, CfCCell, LTCCell, wirings

    model = CfC(20, wirings.AutoNCP(64, 8))
    output, hx = model(x, timespans=elapsed)

tessera.ncps.torch has the same layers as modules of PyTorch.
"""

import json
import os

from tessera._tessera import NcpLayer, NcpStepper
from tessera.ncps import datasets, wirings
from tessera.ncps.cfc import CfC, CfCCell, WiredCfCCell
from tessera.ncps.combined import Bidirectional, Stacked
from tessera.ncps.ltc import LTC, LTCCell
from tessera.ncps.model import Gradients, LossGradient, manual_seed

__all__ = [
    "Bidirectional",
    "CfC",
    "CfCCell",
    "Gradients",
    "LTC",
    "LTCCell",
    "LossGradient",
    "NcpStepper",
    "Stacked",
    "WiredCfCCell",
    "datasets",
    "load",
    "manual_seed",
    "wirings",
]


def load(path: str | os.PathLike[str]) -> CfC | LTC:
    """A layer that save() wrote, of either kind."""
    kind = json.loads(NcpLayer.load(path).json)["type"]
    return CfC.load(path) if kind == "CfC" else LTC.load(path)
