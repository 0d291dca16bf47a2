"""nki.typing: what kernels annotate their arguments with."""

from __future__ import annotations

from typing import Any


class _Annotation(type):
    def __getitem__(cls, shape: Any) -> Any:
        return cls


class tensor(metaclass=_Annotation):  # noqa: N801
    """A tensor in HBM; tensor[128, 512] says its shape."""


class mutable_tensor(tensor):  # noqa: N801
    """A tensor that the kernel writes."""


class scalar(metaclass=_Annotation):  # noqa: N801
    """A number."""


class mutable(metaclass=_Annotation):  # noqa: N801
    """mutable[...]: what the kernel writes."""


__all__ = ["mutable", "mutable_tensor", "scalar", "tensor"]
