"""Lets programs written for ttnn, ncps and MLX run on Tessera.

    import tessera.compat            # from here on, `import ttnn` is tessera.ttnn
    python -m tessera.compat [--device NAME] script.py ...

Where they are not installed, `ncps` and `ncps.torch` are tessera.ncps (numpy arrays in and out), and `mlx.core` is
tessera.mlx.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence

import tessera.ttnn

# What stands in for modules that are not installed. Packages above them that are no modules here are empty.
_STAND_INS = {
    "models.tt_cnn.tt.builder": "tessera.cnn",
    "ncps": "tessera.ncps",
    "ncps.mlx": "tessera.ncps",
    "ncps.torch": "tessera.ncps",
    "ncps.wirings": "tessera.ncps.wirings",
    "mlx.core": "tessera.mlx",
}


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
        # Modules below a package of ours must not be loaded from its folder a second time.
        for below, ours in _STAND_INS.items():
            if below.startswith(name + "."):
                sys.modules[below] = importlib.import_module(ours)
                setattr(sys.modules[name], below.removeprefix(name + "."), sys.modules[below])


def install() -> None:
    """Makes `import ttnn` give tessera.ttnn in this process, also where a real ttnn is installed, and
    `models.tt_cnn.tt.builder`, `ncps` and `mlx.core` give tessera.cnn, tessera.ncps and tessera.mlx, unless there are
    real ones."""
    sys.modules["ttnn"] = tessera.ttnn
    for name in ("device", "core", "experimental", "model_preprocessing"):
        sys.modules[f"ttnn.{name}"] = importlib.import_module(f"tessera.ttnn.{name}")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


install()
