"""Lets programs written for ttnn run on Tessera.

    import tessera.compat            # from here on, `import ttnn` is tessera.ttnn
    python -m tessera.compat [--device NAME] [--simulated-time] script.py ...
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import time
import types
from collections.abc import Sequence

import tessera.ttnn

_MODULES = {
    "models.tt_cnn.tt.builder": "tessera.cnn",
    "models.tt_cnn.tt.executor": "tessera.cnn.executor",
    "models.tt_cnn.tt.pipeline": "tessera.cnn.pipeline",
}


class _Builder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds tessera.cnn where TT-CNN's modules would be, with the packages above them where there are none."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _MODULES and not any(name.startswith(fullname + ".") for name in _MODULES):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname not in _MODULES)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ in _MODULES:
            sys.modules[module.__name__] = importlib.import_module(_MODULES[module.__name__])


def install() -> None:
    """Makes `import ttnn` give tessera.ttnn in this process, also where a real ttnn is installed, and
    `import models.tt_cnn.tt.builder` give tessera.cnn, unless there is a real one."""
    sys.modules["ttnn"] = tessera.ttnn
    for name in ("device", "core", "experimental", "model_preprocessing"):
        sys.modules[f"ttnn.{name}"] = importlib.import_module(f"tessera.ttnn.{name}")
    if not any(isinstance(finder, _Builder) for finder in sys.meta_path):
        sys.meta_path.append(_Builder())


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
