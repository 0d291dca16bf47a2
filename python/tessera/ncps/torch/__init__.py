"""Liquid layers as modules of PyTorch, under the names of ncps.torch: CfC, LTC and their cells.

    from tessera.ncps.torch import CfC, LTC
    from tessera.ncps.wirings import AutoNCP

    model = CfC(20, AutoNCP(64, 8))
    output, hx = model(x, timespans=elapsed)
    output.square().mean().backward()

Parameters are PyTorch's, under the keys of ncps, and begin as theirs do for the same torch.manual_seed(). Forward and
backward run in the library, over the memory of the tensors.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "tessera.ncps.torch needs PyTorch: pip install torch. tessera.ncps has the same layers on numpy arrays",
        name=error.name,
    ) from error

from tessera.ncps.torch.cfc import CfC
from tessera.ncps.torch.cfc_cell import CfCCell, WiredCfCCell
from tessera.ncps.torch.ltc import LTC, LTCCell

__all__ = ["CfC", "CfCCell", "LTC", "LTCCell", "WiredCfCCell"]
