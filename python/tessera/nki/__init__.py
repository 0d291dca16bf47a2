"""NKI kernels on a simulated NeuronCore: ``import tessera.nki as nki`` in place of ``neuronxcc.nki``.

A kernel is traced like the real one: its loops run in Python, its instructions are checked, computed and timed in C++.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from tessera._tessera import Error, InvalidArgument, nki_conv2d_script
from tessera.nki import isa, language
from tessera.nki._tile import Recorder, Tile, recording, script_line, type_name

__all__ = ["baremetal", "benchmark", "conv2d_script", "isa", "jit", "language", "profile", "simulate_kernel"]

_TARGETS = {"trn1": "trainium1", "trn2": "trainium2"}


def _device(target: str | None) -> str:
    word = target or os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE") or "trn2"
    return _TARGETS.get(word, word)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (hasattr(value, "__array__") and hasattr(value, "shape") and value.shape != ())


def _trace(function: Callable[..., Any], device: str, values: bool, args: Any, kwargs: Any) -> tuple[Recorder, Any]:
    recorder = Recorder(device, values)

    def tensor(name: str, value: Any) -> Any:
        if not _is_array(value):
            return value
        if values:
            return Tile(recorder, recorder.kernel.input(name, value))
        array = np.asarray(value)
        return Tile(recorder, recorder.kernel.shape_input(name, type_name(array.dtype), list(array.shape)))

    bound = inspect.signature(function).bind(*args, **kwargs)
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            bound.arguments[name] = tuple(tensor(f"{name}{i}", each) for i, each in enumerate(value))
        elif kind is inspect.Parameter.VAR_KEYWORD:
            bound.arguments[name] = {key: tensor(key, each) for key, each in value.items()}
        else:
            bound.arguments[name] = tensor(name, value)
    with recording(recorder):
        try:
            return recorder, function(*bound.args, **bound.kwargs)
        except Error as error:
            line = script_line(error)
            if "in the kernel, " in str(error) or not line:
                raise
            raise type(error)(f"{error}\n  in the kernel, {line}") from None


def _read(recorder: Recorder, result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(_read(recorder, each) for each in result)
    return recorder.kernel.read(result.view) if isinstance(result, Tile) else result


class Latency:
    """Of one core. A simulated kernel takes the same time whenever it is run, so every percentile is that time."""

    def __init__(self, us: float) -> None:
        self.us = us

    def get_latency_percentile(self, percentile: float) -> float:
        if not 0 <= percentile <= 100:
            raise InvalidArgument(f"there is no {percentile}th percentile")
        return self.us


class BenchmarkResult:
    def __init__(self, summary: dict[str, float]) -> None:
        self.summary = summary
        self.nc_latency = Latency(summary["total_time"] * 1e6)


class Kernel:
    """A traced function: called with arrays, it gives arrays."""

    def __init__(self, function: Callable[..., Any], target: str | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function, self.target = function, target

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # A kernel that another one calls is part of that.
        if any(isinstance(each, Tile) for each in (*args, *kwargs.values())):
            return self.function(*args, **kwargs)
        recorder, result = _trace(self.function, _device(self.target), True, args, kwargs)
        return _read(recorder, result)

    def __getitem__(self, grid: Any) -> Kernel:
        raise InvalidArgument("kernels over a grid of programs are not simulated: one core runs one program")


class BenchmarkKernel(Kernel):
    """Called with arrays, it gives arrays; `benchmark_result` then says how long that took on the machine."""

    benchmark_result: BenchmarkResult

    def __init__(self, function: Callable[..., Any], target: str | None, values: bool) -> None:
        super().__init__(function, target)
        self.values = values

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorder, result = _trace(self.function, _device(self.target), self.values, args, kwargs)
        self.benchmark_result = BenchmarkResult(recorder.kernel.profile())
        return _read(recorder, result) if self.values else None


def _plain(kernel: Any) -> Callable[..., Any]:
    return kernel.function if isinstance(kernel, Kernel) else kernel


def jit(function: Callable[..., Any] | None = None, *, platform_target: str | None = None, **_: Any) -> Any:
    def wrap(given: Callable[..., Any]) -> Kernel:
        return Kernel(_plain(given), platform_target)

    return wrap if function is None else wrap(function)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    target = kernel.target if isinstance(kernel, Kernel) else None
    return Kernel(_plain(kernel), target)(*args, **kwargs)


def baremetal(function: Callable[..., Any] | None = None, **_: Any) -> Any:
    """Real arrays in and out, timed as benchmark does."""

    def wrap(given: Any) -> BenchmarkKernel:
        return BenchmarkKernel(_plain(given), given.target if isinstance(given, Kernel) else None, True)

    return wrap if function is None else wrap(function)


def benchmark(
    function: Callable[..., Any] | None = None, *, warmup: int = 10, iters: int = 100, platform_target: str | None = None, **_: Any
) -> Any:
    """Times a kernel without computing values. `warmup` and `iters` are taken as given: each run takes the same time."""
    if warmup < 0 or iters < 1:
        raise InvalidArgument(f"{warmup} warm-ups and {iters} iterations measure nothing")

    def wrap(given: Any) -> BenchmarkKernel:
        target = platform_target or (given.target if isinstance(given, Kernel) else None)
        return BenchmarkKernel(_plain(given), target, False)

    return wrap if function is None else wrap(function)


profile = benchmark


def conv2d_script(
    x_shape: tuple[int, int, int, int],
    out_channels: int,
    *,
    kernel: int = 3,
    dtype: Any = np.float32,
    pool_size: int = 1,
    platform_target: str | None = None,
) -> tuple[str, float]:
    """The fastest schedule that the tuner finds for a fused convolution, as a script, and its simulated microseconds."""
    return nki_conv2d_script(list(x_shape), out_channels, kernel, type_name(dtype), pool_size, _device(platform_target))
