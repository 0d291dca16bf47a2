"""Names that instructions take: engines, versions, modes."""

from __future__ import annotations

import enum

from tessera._tessera import InvalidArgument


class Engine:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"nisa.{self.name}_engine"


tensor_engine, vector_engine, scalar_engine = Engine("tensor"), Engine("vector"), Engine("scalar")
gpsimd_engine, dma_engine, unknown_engine = Engine("gpsimd"), Engine("dma"), Engine("unknown")


class engine:  # noqa: N801
    """The same engines under the names of 2026."""

    tensor, vector, scalar, gpsimd, dma, unknown = (
        tensor_engine,
        vector_engine,
        scalar_engine,
        gpsimd_engine,
        dma_engine,
        unknown_engine,
    )


def engine_name(given: Engine | None, default: str) -> str:
    if given is None or given is unknown_engine:
        return default
    if not isinstance(given, Engine):
        raise InvalidArgument(f"{given!r} is no engine: there are nisa.vector_engine, nisa.scalar_engine and others")
    return given.name


class nc_version(enum.IntEnum):  # noqa: N801
    gen2 = 2
    gen3 = 3
    gen4 = 4


class reduce_cmd(enum.Enum):  # noqa: N801
    """What an instruction does with the engine's sums: one for each partition, kept from instruction to instruction."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3


class oob_mode(enum.Enum):  # noqa: N801
    error = 0
    skip = 1


class dge_mode(enum.Enum):  # noqa: N801
    """Who makes the descriptors of a copy. Copies here cost the same either way."""

    unknown = 0
    none = 1
    swdge = 2
    hwdge = 3


class matmul_perf_mode(enum.Enum):  # noqa: N801
    none = "none"
    double_row = "double_row"
    double_row_gen3 = "double_row_gen3"


performance_mode = matmul_perf_mode
