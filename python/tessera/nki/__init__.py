"""NKI kernels on a simulated NeuronCore: ``import tessera.nki as nki`` in place of ``neuronxcc.nki`` or ``nki``.

A kernel is traced like the real one: its loops run in Python, its instructions are checked and timed in C++. Arguments
are honoured or refused by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument, nki_conv2d_script
from tessera.nki import compiler, isa, language, typing
from tessera.nki._calls import public
from tessera.nki._dtypes import type_name
from tessera.nki._kernel import Artifacts, BenchmarkKernel, Kernel, default_device, launch_of, plain, target_of
from tessera.nki.typing import tensor

__all__ = [
    "baremetal",
    "benchmark",
    "compiler",
    "conv2d_script",
    "isa",
    "jit",
    "language",
    "profile",
    "simulate_kernel",
    "tensor",
    "trace",
    "typing",
]

_MODES = ("auto", "jax", "torchxla", "trace", "simulation", "baremetal", "benchmark")


def _check_options(additional_compile_opt: Any, show_compiler_tb: Any = False, debug_kernel: Any = False) -> None:
    """Options of a compiler that is not here say nothing about values; they have to be of the right kind."""
    if not isinstance(additional_compile_opt, str):
        raise InvalidArgument(f"additional_compile_opt is a text, not {type(additional_compile_opt).__name__}")
    for flag in (show_compiler_tb, debug_kernel):
        if not isinstance(flag, (bool, int)):
            raise InvalidArgument(f"{flag!r} is no flag")


@public
def jit(
    func: Callable[..., Any] | None = None,
    mode: str = "auto",
    *,
    platform_target: str | None = None,
    kernel_return: bool = True,
    additional_compile_opt: str = "",
    show_compiler_tb: bool = False,
    debug_kernel: bool = False,
) -> Any:
    """A kernel. Every mode computes here; `benchmark` and `baremetal` time as well."""
    if mode not in _MODES:
        raise InvalidArgument(f"jit: there is no mode '{mode}'; there are {', '.join(_MODES)}")
    if kernel_return not in (True, False):
        raise InvalidArgument(f"jit: kernel_return={kernel_return!r}")
    _check_options(additional_compile_opt, show_compiler_tb, debug_kernel)

    def wrap(given: Callable[..., Any]) -> Kernel:
        if mode in ("baremetal", "benchmark"):
            return BenchmarkKernel(plain(given), platform_target, True)
        return Kernel(plain(given), platform_target)

    return wrap if func is None else wrap(func)


@public
def trace(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    return jit(func, mode="trace", **options)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Computes; arrays that the kernel writes are written."""
    return Kernel(plain(kernel), target_of(kernel), launch_of(kernel))(*args, **kwargs)


def _timed(
    function: Any, target: str | None, values: bool, artifacts: Artifacts
) -> Any:
    def wrap(given: Any) -> BenchmarkKernel:
        return BenchmarkKernel(plain(given), target or target_of(given), values, artifacts, launch_of(given))

    return wrap if function is None else wrap(function)


@public
def baremetal(
    kernel: Callable[..., Any] | None = None,
    *,
    platform_target: str | None = None,
    artifacts_dir: str | None = None,
    save_neff_name: str | None = None,
    save_trace_name: str | None = None,
    additional_compile_opt: str = "",
    debug_kernel: bool = False,
    show_compiler_tb: bool = False,
) -> Any:
    """Real arrays in and out, timed as benchmark does."""
    _check_options(additional_compile_opt, show_compiler_tb, debug_kernel)
    traces = [save_trace_name] if save_trace_name else []
    return _timed(kernel, platform_target, True, Artifacts(artifacts_dir, save_neff_name, traces))


@public
def benchmark(
    kernel: Callable[..., Any] | None = None,
    *,
    warmup: int = 10,
    iters: int = 100,
    device_count: int | None = None,
    platform_target: str | None = None,
    artifacts_dir: str | None = None,
    save_neff_name: str | None = None,
    save_trace_name: str | None = None,
    additional_compile_opt: str = "",
    show_compiler_tb: bool = False,
) -> Any:
    """Times a kernel without computing values. `warmup` and `iters` are taken as given: each run takes the same time."""
    if warmup < 0 or iters < 1:
        raise InvalidArgument(f"{warmup} warm-ups and {iters} iterations measure nothing")
    if device_count not in (None, 1):
        raise InvalidArgument(f"benchmark: device_count={device_count!r} is not simulated")
    _check_options(additional_compile_opt, show_compiler_tb)
    traces = [save_trace_name] if save_trace_name else []
    return _timed(kernel, platform_target, False, Artifacts(artifacts_dir, save_neff_name, traces))


@public
def profile(
    kernel: Callable[..., Any] | None = None,
    *,
    working_directory: str | None = None,
    save_neff_name: str = "file.neff",
    save_trace_name: str = "profile.ntff",
    overwrite: bool = False,
    num_execs: int | None = None,
    profile_nth: int | None = None,
    platform_target: str | None = None,
    additional_compile_opt: str = "",
) -> Any:
    """Times a kernel and leaves its summary in files, one for every `profile_nth` of `num_execs` runs. Every run is the
    same, so the n-th is any."""
    for count in (num_execs, profile_nth):
        if count is not None and int(count) < 1:
            raise InvalidArgument(f"profile: there is no run {count}")
    if overwrite not in (True, False):
        raise InvalidArgument(f"profile: overwrite={overwrite!r}")
    _check_options(additional_compile_opt)
    stem, dot, end = save_trace_name.rpartition(".")
    nth = int(profile_nth or 1)
    runs = list(range(nth, int(num_execs) + 1, nth)) if num_execs else []
    traces = [f"{stem}_exec_{k}{dot}{end}" if k > 1 and stem else save_trace_name for k in runs or [nth]]
    traces += [os.path.join("json_reports", f"report_{k}.json") for k in runs or [nth] if num_execs]
    files = Artifacts(working_directory, save_neff_name, traces) if working_directory is not None else Artifacts()
    return _timed(kernel, platform_target, True, files)


def conv2d_script(
    x_shape: tuple[int, int, int, int],
    out_channels: int,
    *,
    kernel: int = 3,
    dtype: Any = np.float32,
    pool_size: int = 1,
    platform_target: str | None = None,
    api: int = 2025,
) -> tuple[str, float]:
    """The fastest schedule that the tuner finds for a fused convolution, as a script, and its simulated microseconds.
    `api`: 2025, results of instructions, for neuronxcc.nki; 2026, results where dst says, for nki."""
    device = default_device(platform_target)
    return nki_conv2d_script(list(x_shape), out_channels, kernel, type_name(dtype), pool_size, device, api)
