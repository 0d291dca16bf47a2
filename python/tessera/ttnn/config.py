"""ttnn.CONFIG: settings of the package."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

from tessera._tessera import Error

# What TTNN would do that is not there yet: these stay False.
_ABSENT = {
    "enable_comparison_mode": "compares each operator with its golden function",
    "enable_detailed_buffer_report": "writes the buffers of each operator",
    "enable_detailed_tensor_report": "writes the tensors of each operator",
    "enable_graph_python_stack_traces": "notes where each operator was called",
    "enable_graph_report": "writes a graph of the operators",
    "enable_logging": "logs each operator",
    "enable_model_cache": "keeps preprocessed parameters in files",
    "strict_ccl_topology": "refuses collectives on another topology",
    "validate_program_args": "checks the arguments of programs again",
}
# Flags that change nothing here, since what they ask for is always so.
_ALWAYS = {
    "enable_fast_runtime_mode": True,  # arguments are checked in both modes
    "throw_exception_on_fallback": False,  # nothing falls back
    "comparison_mode_should_raise_exception": False,  # only in comparison mode
}
_PATHS = {
    "cache_path": pathlib.Path.home() / ".cache" / "ttnn",
    "model_cache_path": pathlib.Path.home() / ".cache" / "ttnn" / "models",
    "root_report_path": pathlib.Path("generated/ttnn/reports"),
    "tmp_dir": pathlib.Path("/tmp/ttnn"),
}


class Config:
    """Settings by name, with the names and types of TTNN 0.81.1.

    Setting a flag for something that Tessera does not do is an error that says what it would be.
    """

    def __init__(self) -> None:
        self.__dict__["_values"] = (
            dict.fromkeys(_ABSENT, False) | _ALWAYS | _PATHS | {"comparison_mode_pcc": 0.9999, "report_name": None}
        )

    @property
    def report_path(self) -> pathlib.Path | None:
        """Where reports of this name would be; None without a name."""
        return None if self.report_name is None else self.root_report_path / str(self.report_name)

    def keys(self) -> list[str]:
        return list(self._values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"'Config' object has no attribute '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._values:
            raise AttributeError(f"'Config' object has no attribute '{name}'")
        if name in _ABSENT or name in _ALWAYS:
            if not isinstance(value, bool):
                raise TypeError(f"ttnn.CONFIG.{name} is a bool, not {value!r}")
            if value and name in _ABSENT:
                raise Error(f"ttnn.CONFIG.{name} ({_ABSENT[name]}) is not there yet: it stays False")
        elif name == "comparison_mode_pcc":
            value = float(value)
        elif name != "report_name" or value is not None:
            if not isinstance(value, (str, pathlib.PurePath)):
                raise TypeError(f"ttnn.CONFIG.{name} is a path, not {value!r}")
            value = value if name == "report_name" else pathlib.Path(value)
        self._values[name] = value

    def __repr__(self) -> str:
        return "Config{" + ",".join(f"{name}={value}" for name, value in self._values.items()) + "}"


CONFIG = Config()


@contextlib.contextmanager
def manage_config(name: str, value: Any) -> Iterator[None]:
    """A setting for the length of a `with` block."""
    before = getattr(CONFIG, name)
    setattr(CONFIG, name, value)
    try:
        yield
    finally:
        setattr(CONFIG, name, before)


__all__ = ["CONFIG", "Config", "manage_config"]
