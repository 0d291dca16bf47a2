"""What tests of kernels import from the vendor's compiler."""

from __future__ import annotations

from typing import Any

import numpy as np


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False, verbose: int = 0) -> bool:
    """As numpy's; `verbose` prints how far the two are apart."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    close = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if verbose and not close.all():
        print(f"{int((~close).sum())} of {close.size} differ, by up to {np.nanmax(np.abs(x - y))}")
    return bool(close.all())
