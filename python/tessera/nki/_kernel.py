"""Kernels: functions that are traced when they are called with arrays, over a grid of programs where they have one."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tessera._tessera import Error, InvalidArgument
from tessera.nki._dtypes import as_floats, as_type, type_name
from tessera.nki._recorder import Program, Recorder, is_recording, located, recording, script_line
from tessera.nki._tile import Tile

_TARGETS = {"trn1": "trainium1", "trn1n": "trainium1", "inf2": "trainium1", "trn2": "trainium2", "auto": "trainium2"}


def default_device(target: str | None) -> str:
    word = target or os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE") or "trn2"
    return _TARGETS.get(word, word)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (hasattr(value, "__array__") and hasattr(value, "shape") and value.shape != ())


class Launch:
    """A grid of programs: its sizes, and how many cores they are dealt out to."""

    def __init__(self, grid: Any = ()) -> None:
        from tessera.nki.language._loops import nc, spmd_dim

        given = grid if isinstance(grid, (tuple, list)) else (grid,)
        self.sizes: list[int] = []
        self.dims: list[spmd_dim] = []
        for each in given:
            size = each.size if isinstance(each, spmd_dim) else each.cores if isinstance(each, nc) else int(each)
            if size < 1:
                raise InvalidArgument(f"a grid of {size} programs")
            self.sizes.append(size)
            self.dims.append(each if isinstance(each, spmd_dim) else spmd_dim(each if isinstance(each, nc) else size))

    def programs(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*(range(n) for n in self.sizes)))

    def by_core(self) -> list[list[tuple[int, ...]]]:
        """The programs of each core."""
        groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for at in self.programs():
            core = tuple(dim.core(i) for i, dim in zip(at, self.dims))
            groups.setdefault(core, []).append(at)
        return list(groups.values())


class Trace:
    """What a traced kernel is: its recorder, what it gave, and which arrays of the caller it wrote."""

    def __init__(self, recorder: Recorder, result: Any, arrays: dict[str, tuple[Any, Tile]]) -> None:
        self.recorder, self.result, self.arrays = recorder, result, arrays

    def profile(self) -> dict[str, float]:
        return self.recorder.kernel.profile()


def trace(
    function: Callable[..., Any], device: str, values: bool, args: Any, kwargs: Any, launch: Launch, programs: Any = None
) -> Trace:
    """Memory is a tile's until the kernel lets go of it. Where that is too much, the kernel is traced once more without
    limits to learn which instruction is the last to use each tile, and again with memory that is free behind that."""

    middle_end = not getattr(function, "skips_middle_end", False)

    def run(recorder: Recorder) -> Trace:
        return _trace(function, recorder, args, kwargs, launch, programs)

    try:
        return run(Recorder(device, values, middle_end=middle_end))
    except Error as full:
        if getattr(full, "code", "") != "out_of_memory":
            raise
        try:
            lifetimes = run(Recorder(device, False, endless_memory=True, middle_end=middle_end)).recorder.kernel.lifetimes()
        except Error:
            raise full from None
        return run(Recorder(device, values, lifetimes=lifetimes, middle_end=middle_end))


def _trace(function: Callable[..., Any], recorder: Recorder, args: Any, kwargs: Any, launch: Launch, programs: Any) -> Trace:
    values = recorder.values
    arrays: dict[str, tuple[Any, Tile]] = {}

    def tensor(name: str, value: Any) -> Any:
        if isinstance(value, (tuple, list)) and any(_is_array(each) for each in value):
            return type(value)(tensor(f"{name}{i}", each) for i, each in enumerate(value))
        if not _is_array(value):
            return value
        array = np.asarray(value)
        kind = type_name(array.dtype)
        if values:
            tile = Tile(recorder, recorder.kernel.input(name, kind, as_floats(array, name)))
        else:
            tile = Tile(recorder, recorder.kernel.shape_input(name, kind, list(array.shape)))
        arrays[name] = (value, tile)
        return tile

    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise InvalidArgument(f"{getattr(function, '__name__', 'the kernel')}: {error}") from None
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            bound.arguments[name] = tuple(tensor(f"{name}{i}", each) for i, each in enumerate(value))
        elif kind is inspect.Parameter.VAR_KEYWORD:
            bound.arguments[name] = {key: tensor(key, each) for key, each in value.items()}
        else:
            bound.arguments[name] = tensor(name, value)
    result = None
    with recording(recorder):
        try:
            for at in launch.programs() if programs is None else programs:
                recorder.program = Program(tuple(launch.sizes), at)
                recorder.shared_at = 0
                result = function(*bound.args, **bound.kwargs)
        except Error as error:
            line = script_line(error)
            if not line:
                raise
            raise located(error, line) from None
        _check_written(recorder, result)
    carried = recorder.kernel.carried()
    if carried and values:
        warnings.warn(f"{carried}: turns run as they are written only because the kernel skips the middle end", stacklevel=2)
    return Trace(recorder, result, arrays)


def _tiles_of(result: Any) -> list[Tile]:
    if isinstance(result, (tuple, list)):
        return [tile for each in result for tile in _tiles_of(each)]
    if isinstance(result, dict):
        return [tile for each in result.values() for tile in _tiles_of(each)]
    return [result] if isinstance(result, Tile) else []


def _check_written(recorder: Recorder, result: Any) -> None:
    for at, tile in enumerate(_tiles_of(result)):
        access = tile.access
        missing = recorder.kernel.unwritten(access)
        if access.memory == "hbm" and missing == tile.size:
            raise InvalidArgument(f"output {at}, '{access.name}' {list(tile.shape)}, was never written: the kernel returns it as it was")


def read(run: Trace, result: Any = None) -> Any:
    result = run.result if result is None else result
    if isinstance(result, (tuple, list)):
        return type(result)(read(run, each) if each is not None else None for each in result)
    if isinstance(result, dict):
        return {key: read(run, each) for key, each in result.items()}
    if not isinstance(result, Tile):
        return result
    return as_type(run.recorder.kernel.array(result.access), result.type_name)


def changed(run: Trace) -> list[tuple[str, np.ndarray]]:
    """What the kernel made of the arrays that it was given, where it wrote them."""
    found = []
    for name, (value, tile) in run.arrays.items():
        if isinstance(value, np.ndarray):
            now = as_type(run.recorder.kernel.array(tile.access), tile.type_name)
            if not np.array_equal(now, value, equal_nan=value.dtype.kind == "f"):
                found.append((name, now))
    return found


def write_back(run: Trace) -> None:
    """Arrays that the kernel was given and wrote hold what it wrote."""
    for name, now in changed(run):
        value = run.arrays[name][0]
        if value.flags.writeable:
            value[...] = now


def slowest_programs(
    function: Callable[..., Any], device: str, args: Any, kwargs: Any, launch: Launch
) -> list[tuple[int, ...]] | None:
    """The programs of the core that takes longest, where a launch has several."""
    parts = launch.by_core()
    if len(parts) < 2:
        return None
    return max(parts, key=lambda part: trace(function, device, False, args, kwargs, launch, part).profile()["total_time"])


class Kernel:
    """A traced function: called with arrays, it gives arrays."""

    def __init__(self, function: Callable[..., Any], target: str | None = None, launch: Launch | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function, self.target, self.launch = function, target, launch or Launch()

    @property
    def func(self) -> Callable[..., Any]:
        return self.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # A kernel that another one calls is part of that.
        if is_recording():
            return self.function(*args, **kwargs)
        run = trace(self.function, default_device(self.target), True, args, kwargs, self.launch)
        write_back(run)
        return read(run)

    def __getitem__(self, grid: Any) -> Kernel:
        return self._copy(Launch(grid))

    def _copy(self, launch: Launch) -> Kernel:
        return Kernel(self.function, self.target, launch)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


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


class Artifacts:
    """Files that a run leaves. The simulator has neither NEFF nor NTFF: both are its own summaries, in JSON."""

    def __init__(self, folder: str | None = None, neff: str | None = None, traces: Sequence[str] = ()) -> None:
        self.folder, self.neff, self.traces = folder, neff, list(traces)

    def write(self, name: str, device: str, summary: dict[str, float]) -> None:
        files = ([self.neff] if self.neff else []) + self.traces
        if not files:
            return
        if self.folder:
            os.makedirs(self.folder, exist_ok=True)
        text = json.dumps({"format": "tessera simulated kernel", "kernel": name, "device": device, "summary": summary}, indent=1)
        for each in files:
            if os.path.dirname(each):
                os.makedirs(os.path.join(self.folder or "", os.path.dirname(each)), exist_ok=True)
            with open(os.path.join(self.folder or "", each), "w", encoding="utf-8") as file:
                file.write(text + "\n")


class BenchmarkKernel(Kernel):
    """Called with arrays, it gives arrays; `benchmark_result` then says how long that took on the machine."""

    benchmark_result: BenchmarkResult

    def __init__(
        self,
        function: Callable[..., Any],
        target: str | None,
        values: bool,
        artifacts: Artifacts | None = None,
        launch: Launch | None = None,
    ) -> None:
        super().__init__(function, target, launch)
        self.values, self.artifacts = values, artifacts or Artifacts()
        self.parent: BenchmarkKernel | None = None

    def _copy(self, launch: Launch) -> BenchmarkKernel:
        out = BenchmarkKernel(self.function, self.target, self.values, self.artifacts, launch)
        out.parent = self
        return out

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_recording():
            return self.function(*args, **kwargs)
        device = default_device(self.target)
        run = trace(self.function, device, self.values, args, kwargs, self.launch)
        # Cores run side by side: the slowest one is the time.
        programs = slowest_programs(self.function, device, args, kwargs, self.launch)
        timed = run if programs is None else trace(self.function, device, False, args, kwargs, self.launch, programs)
        summary = timed.profile()
        self.benchmark_result = BenchmarkResult(summary)
        if self.parent is not None:
            self.parent.benchmark_result = self.benchmark_result
        self.artifacts.write(getattr(self, "__name__", "kernel"), device, summary)
        if not self.values:
            return None
        write_back(run)
        return read(run)


def plain(kernel: Any) -> Callable[..., Any]:
    return kernel.function if isinstance(kernel, Kernel) else kernel


def launch_of(kernel: Any) -> Launch:
    return kernel.launch if isinstance(kernel, Kernel) else Launch()


def target_of(kernel: Any) -> str | None:
    return kernel.target if isinstance(kernel, Kernel) else None
