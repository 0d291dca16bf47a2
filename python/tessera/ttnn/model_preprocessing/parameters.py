"""Parameters of a model as a tree: dictionaries by name, lists for lists of modules, tensors at the leaves."""

from __future__ import annotations

from typing import Any

from tessera.ttnn.dot_access import DotAccessDict

_INDENT = "  "


def _text(value: Any, indent: str = "") -> str:
    """A line for each parameter."""
    from tessera.ttnn import Tensor

    if isinstance(value, dict):
        opening, closing, lines = "{", "}", [f"{key}: {_text(item, indent + _INDENT)}" for key, item in value.items()]
    elif isinstance(value, list):
        opening, closing, lines = "[", "]", [_text(item, indent + _INDENT) for item in value]
    elif isinstance(value, Tensor):
        return f"ttnn.Tensor(shape={value.shape}, layout={value.layout}, dtype={value.dtype})"
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"torch.Tensor(shape={value.shape}, dtype={value.dtype})"
    else:
        return repr(value)
    if not lines:
        return opening + closing
    inside = ",\n".join(indent + _INDENT + line for line in lines)
    return f"{opening}\n{inside}\n{indent}{closing}"


class ParameterDict(DotAccessDict):
    """Parameters by name: parameters.conv1.weight."""

    def __repr__(self) -> str:
        return _text(self)


class ParameterList(list[Any]):
    """Parameters of a ModuleList; `index in parameters` says whether there is such an element."""

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int) and index < len(self)

    def __repr__(self) -> str:
        return _text(self)


def make_parameter_dict(dictionary: dict[Any, Any]) -> ParameterDict:
    """The same with attributes at every depth; arguments of modules stay what they are."""
    from tessera.ttnn.model_preprocessing.module_args import ModuleArgs

    if isinstance(dictionary, ParameterDict):
        return dictionary
    return ParameterDict(
        {
            key: make_parameter_dict(value) if isinstance(value, dict) and not isinstance(value, ModuleArgs) else value
            for key, value in dictionary.items()
        }
    )


__all__ = ["ParameterDict", "ParameterList", "make_parameter_dict"]
