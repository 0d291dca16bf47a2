"""nki.isa: one function for each instruction. Results go where they are assigned to, or to `dst`."""

from tessera.nki._calls import public
from tessera.nki._recorder import current, is_recording
from tessera.nki.isa import constants, neuron_isa
from tessera.nki.isa.constants import (
    Engine,
    dge_mode,
    dma_engine,
    engine,
    gpsimd_engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    performance_mode,
    reduce_cmd,
    scalar_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
)
from tessera.nki.isa.neuron_isa import *  # noqa: F403


@public
def get_nc_version() -> nc_version:
    """Of the core that the kernel is written for."""
    from tessera.nki._kernel import default_device

    device = current().device if is_recording() else default_device(None)
    return nc_version.gen2 if device == "trainium1" else nc_version.gen3


__all__ = [
    "Engine",
    "constants",
    "dge_mode",
    "dma_engine",
    "engine",
    "get_nc_version",
    "gpsimd_engine",
    "matmul_perf_mode",
    "nc_version",
    "oob_mode",
    "performance_mode",
    "reduce_cmd",
    "scalar_engine",
    "tensor_engine",
    "unknown_engine",
    "vector_engine",
    *neuron_isa.__all__,
]
