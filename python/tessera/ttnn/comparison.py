"""How alike two arrays are."""

from __future__ import annotations

from typing import Any

import numpy

from tessera._tessera import Tensor


def _values(array: Any) -> Any:
    if isinstance(array, Tensor):
        array = array.to_numpy()
    if hasattr(array, "detach"):  # PyTorch, whose bfloat16 numpy does not have
        array = array.detach().cpu().float() if array.is_floating_point() else array.detach().cpu()
    return numpy.array(array, numpy.float64).ravel()


def pearson_correlation_coefficient(expected: Any, actual: Any) -> float:
    """The correlation of all elements, NaN and infinities as 0. Where one array is constant there is none: 1 if the two are
    close, else 0."""
    a, b = _values(expected), _values(actual)
    if a.size != b.size:
        return 0.0
    if numpy.isnan(a).all() or numpy.isnan(b).all():
        return float(numpy.isnan(a).all() and numpy.isnan(b).all())
    a, b = (numpy.where(numpy.isfinite(each), each, 0) for each in (a, b))
    if (a == b).all():
        return 1.0
    da, db = a - a.mean(), b - b.mean()
    spread = numpy.sqrt((da * da).sum() * (db * db).sum())
    if numpy.ptp(a) == 0 or numpy.ptp(b) == 0 or spread == 0:
        return float(numpy.allclose(a, b, rtol=1e-5, atol=1e-4))
    return float((da * db).sum() / spread)


__all__ = ["pearson_correlation_coefficient"]
