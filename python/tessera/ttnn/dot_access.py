"""Dictionaries whose keys are attributes, too."""

from __future__ import annotations

from typing import Any


class DotAccessDict(dict[Any, Any]):
    """d.key is d["key"]; a key that is not there is a KeyError in both forms."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __delattr__(self, name: str) -> None:
        del self[name]


def make_dot_access_dict(dictionary: dict[Any, Any], *, ignore_types: Any = None) -> Any:
    """The same with attributes at every depth; dictionaries of `ignore_types` stay what they are."""
    if isinstance(dictionary, DotAccessDict) or (ignore_types is not None and isinstance(dictionary, ignore_types)):
        return dictionary
    return DotAccessDict(
        {
            key: make_dot_access_dict(value, ignore_types=ignore_types) if isinstance(value, dict) else value
            for key, value in dictionary.items()
        }
    )


__all__ = ["DotAccessDict", "make_dot_access_dict"]
