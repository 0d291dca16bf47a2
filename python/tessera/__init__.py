"""Plans, runs and simulates convolutional and liquid networks on tile machines."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import tessera._requirements  # first: says what is wrong where this Python cannot load the rest
from tessera._tessera import (
    DType,
    Error,
    FusedConv2dMaxPool,
    InvalidArgument,
    Plan,
    PlanStep,
    Port,
    Session,
    Simulation,
    __version__,
    export_onnx,
    fused_conv2d_maxpool,
    load_plan,
    parse_dtype,
    plan,
    quantize,
    simulate,
    zoo,
)

__all__ = [
    "DType",
    "Error",
    "FusedConv2dMaxPool",
    "InvalidArgument",
    "Plan",
    "PlanStep",
    "Port",
    "Session",
    "Simulation",
    "__version__",
    "export_onnx",
    "fused_conv2d_maxpool",
    "load",
    "load_plan",
    "parse_dtype",
    "plan",
    "quantize",
    "simulate",
    "zoo",
]


def load(
    path: str | os.PathLike[str],
    *,
    threads: int = 0,
    storage: str = "float32",
    shapes: Mapping[str, Sequence[int]] | None = None,
    isa: str | None = None,
    **options: Any,
) -> Session:
    """A session of an ONNX file: ``load("m.onnx", threads=4)``. It takes the options of Session, and means the same."""
    given = None if shapes is None else {name: list(extents) for name, extents in shapes.items()}
    return Session(path, threads=threads, storage=storage, shapes=given, isa=isa, **options)


# Tracebacks and help() name what people import, not where it is compiled.
for _type in (DType, Error, FusedConv2dMaxPool, InvalidArgument, Plan, PlanStep, Port, Session, Simulation):
    _type.__module__ = __name__
del _type
