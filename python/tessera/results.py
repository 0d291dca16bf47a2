"""Types of the results that are dictionaries: for type checkers and editors. At run time they are plain dicts."""

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "EpochReport", "Evaluation", "NamedArrays", "PlanSummary", "ProfiledStep", "Program", "Quantized", "QuantizedLayer", "Transfer"]

Array = NDArray[Any]
NamedArrays = dict[str, NDArray[Any]]
Float32Array = NDArray[np.float32]


class ProfiledStep(TypedDict):
    """A step of a network and the time that it took: an item of ``Session.profile()``."""

    name: str
    node: str
    op: str
    kernel: str
    shape: str
    seconds: float
    begin_ns: float
    end_ns: float
    flops: float
    read_bytes: float
    write_bytes: float


class PlanSummary(TypedDict):
    """What a plan needs: the result of ``Session.plan_summary()``."""

    steps: int
    stages: int
    arena_bytes: int
    arena_lower_bound_bytes: int
    weight_bytes: int
    flops: float


class QuantizedLayer(TypedDict):
    """A layer of a network that was quantised: an item of ``Quantized["layers"]``."""

    node: str
    op: str
    int8: bool
    reason: str
    low: float
    high: float
    signal_db: float | None
    pcc_alone: float | None


class Quantized(TypedDict):
    """What ``tessera.quantize()`` came to, beside float32 over all samples."""

    layers: list[QuantizedLayer]
    pcc: float | None
    max_relative: float
    drop: float | None
    constant_bytes: int
    constant_bytes_before: int


# Bytes that an operation moved from one memory of a simulated card to another. ("from" is a word of the language.)
Transfer = TypedDict(
    "Transfer",
    {"from": str, "to": str, "bytes": int, "pieces": int, "local_bytes": int, "busiest_bank_bytes": int},
)


class _ProgramTime(TypedDict, total=False):
    kernel_ns: float
    bound_by: str
    basis: str


class Program(_ProgramTime):
    """An operation of a simulated card: an item of ``ttnn.transfers()``. Times are there for programs that have a price."""

    op: str
    detail: str
    total_bytes: int
    transfers: list[Transfer]


class _Validation(TypedDict, total=False):
    val_loss: float
    val_accuracy: float


class EpochReport(_Validation):
    """One epoch of ``fit()``; ``val_loss`` and ``val_accuracy`` are there with validation data."""

    epoch: int
    loss: float
    accuracy: float
    learning_rate: float
    gradient_norm: float
    seconds: float
    samples_per_second: float
    best: bool


class Evaluation(TypedDict):
    """The result of ``evaluate()``."""

    loss: float
    accuracy: float
