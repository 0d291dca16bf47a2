"""What the package needs of the Python that imports it. Written for every Python 3, so that each can say what it lacks."""

import importlib.util
import pathlib
import platform
import sys
import sysconfig

_HERE = "this is Python {} ({})".format(platform.python_version(), sys.executable)


def _check():
    if sys.version_info < (3, 10):
        raise ImportError("tessera needs Python 3.10 or newer; " + _HERE)
    if platform.python_implementation() != "CPython":
        raise ImportError("tessera needs CPython; this is {} ({})".format(platform.python_implementation(), sys.executable))
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise ImportError("tessera is not built for Python without its global lock; " + _HERE)
    if not list(pathlib.Path(__file__).parent.glob("_tessera*.so")):
        raise ImportError("{} has no compiled part: install tessera-tiles, or put build/python of a build first on "
                          "PYTHONPATH".format(pathlib.Path(__file__).parent))
    for module, distribution in (("numpy", "numpy"), ("nanobind_backend", "nanobind-backend")):
        if importlib.util.find_spec(module) is None:
            raise ImportError(
                "tessera needs {}: {} -m pip install {}".format(module, sys.executable, distribution), name=module
            )


_check()
