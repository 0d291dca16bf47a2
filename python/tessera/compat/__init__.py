"""Lets programs written for ttnn, ncps, MLX and NKI run on Tessera.

    import tessera.compat            # from here on, `import ttnn` is tessera.ttnn
    python -m tessera.compat [--device NAME] [--simulated-time] script.py ...

Where they are not installed, `ncps` is tessera.ncps and `ncps.torch` tessera.ncps.torch (without PyTorch tessera.ncps:
numpy arrays in and out), `mlx.core` is tessera.mlx, and `neuronxcc.nki` and `nki` are tessera.nki.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import sys
import time
import types
from collections.abc import Sequence

import tessera.ttnn

# What stands in for modules that are not installed. Packages above them that are no modules here are empty.
_STAND_INS = {
    "models.tt_cnn.tt.builder": "tessera.cnn",
    "models.tt_cnn.tt.executor": "tessera.cnn.executor",
    "models.tt_cnn.tt.pipeline": "tessera.cnn.pipeline",
    "ncps": "tessera.ncps",
    "ncps.mlx": "tessera.ncps",
    "ncps.datasets": "tessera.ncps.datasets",
    "ncps.wirings": "tessera.ncps.wirings",
    "mlx.core": "tessera.mlx",
    "neuronxcc.starfish.support.util": "tessera.nki.support",
}
# Both generations of NKI's names.
for _package in ("neuronxcc.nki", "nki"):
    _STAND_INS[_package] = "tessera.nki"
    for _module in (
        "compiler",
        "isa",
        "isa.constants",
        "isa.neuron_isa",
        "language",
        "language.constants",
        "language.iterators",
        "typing",
    ):
        _STAND_INS[f"{_package}.{_module}"] = f"tessera.nki.{_module}"


# Those that import PyTorch, and so only when they are asked for; what stands in for them where there is none.
_WITH_TORCH = {
    "ncps.torch": ("tessera.ncps.torch", "tessera.ncps"),
    "ncps.datasets.torch": ("tessera.ncps.datasets.torch", "tessera.ncps.datasets"),
}


class _TorchFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes first: below a package of ours the usual finders would load a module from its folder a second time."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        above = sys.modules.get(fullname.rpartition(".")[0])
        if fullname not in _WITH_TORCH or above is None or not above.__name__.startswith("tessera."):
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        with_torch, without = _WITH_TORCH[module.__name__]
        ours = with_torch if importlib.util.find_spec("torch") is not None else without
        sys.modules[module.__name__] = importlib.import_module(ours)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes last, so that real modules are found first."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        above = any(name.startswith(fullname + ".") for name in _STAND_INS)
        if fullname not in _STAND_INS and not above:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=above)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        if name not in _STAND_INS:
            return
        sys.modules[name] = importlib.import_module(_STAND_INS[name])
        if name == "neuronxcc.nki" and not hasattr(logging, "OFF"):
            # neuronxcc adds a level above all others, and scripts that import it use that.
            logging.OFF = logging.CRITICAL + 10  # type: ignore[attr-defined]
            logging.addLevelName(logging.CRITICAL + 10, "OFF")
        # Modules below a package of ours must not be loaded from its folder a second time.
        for below, ours in _STAND_INS.items():
            if below.startswith(name + "."):
                sys.modules[below] = importlib.import_module(ours)
                if "." not in (last := below.removeprefix(name + ".")):
                    setattr(sys.modules[name], last, sys.modules[below])


def install() -> None:
    """Makes `import ttnn` give tessera.ttnn in this process, also where a real ttnn is installed, and
    `models.tt_cnn.tt.builder`, `ncps`, `mlx.core` and `neuronxcc.nki` give tessera.cnn, tessera.ncps, tessera.mlx and
    tessera.nki, unless there are real ones."""
    sys.modules["ttnn"] = tessera.ttnn
    for name in ("device", "core", "dot_access", "experimental", "model_preprocessing"):
        sys.modules[f"ttnn.{name}"] = importlib.import_module(f"tessera.ttnn.{name}")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _TorchFinder())
        sys.meta_path.append(_Finder())


_real_clocks = {name: getattr(time, name) for name in ("perf_counter", "perf_counter_ns", "time", "time_ns")}


def use_simulated_time(on: bool = True) -> None:
    """Lets time.perf_counter and time.time (and their _ns siblings) show simulated time, so that a script's own timers
    measure the card and the host that were simulated, not the computer that simulates them.

    The clock moves when something is asked of a device: calls of operators, transfers, waiting. What Python does in
    between takes no time. It is one clock for all devices, starts where the real one is, and never goes back. Functions
    imported by name before (`from time import perf_counter`) stay as they are.
    """
    if not on:
        for name, clock in _real_clocks.items():
            setattr(time, name, clock)
        return
    elapsed = tessera.ttnn.device.simulated_time
    start = elapsed()
    for name, clock in _real_clocks.items():
        began = clock()
        if name.endswith("_ns"):
            setattr(time, name, lambda began=began: began + round((elapsed() - start) * 1e9))
        else:
            setattr(time, name, lambda began=began: began + (elapsed() - start))


install()
