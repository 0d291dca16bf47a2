"""Lets programs written for ttnn run on Tessera.

    import tessera.compat            # from here on, `import ttnn` is tessera.ttnn
    python -m tessera.compat [--device NAME] script.py ...
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence

import tessera.ttnn

_BUILDER = "models.tt_cnn.tt.builder"


class _Builder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds tessera.cnn where TT-CNN's builder would be, with the packages above it where there are none."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _BUILDER and not _BUILDER.startswith(fullname + "."):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname != _BUILDER)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ == _BUILDER:
            sys.modules[_BUILDER] = importlib.import_module("tessera.cnn")


def install() -> None:
    """Makes `import ttnn` give tessera.ttnn in this process, also where a real ttnn is installed, and
    `import models.tt_cnn.tt.builder` give tessera.cnn, unless there is a real one."""
    sys.modules["ttnn"] = tessera.ttnn
    for name in ("device", "core", "experimental", "model_preprocessing"):
        sys.modules[f"ttnn.{name}"] = importlib.import_module(f"tessera.ttnn.{name}")
    if not any(isinstance(finder, _Builder) for finder in sys.meta_path):
        sys.meta_path.append(_Builder())


install()
