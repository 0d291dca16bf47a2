"""Modules of PyTorch, without importing it."""

from __future__ import annotations

from typing import Any


def is_module(module: Any, kind: str) -> bool:
    """Whether it is a torch.nn module of this kind, or derived from it."""
    return any(c.__name__ == kind and c.__module__.startswith("torch.nn") for c in type(module).__mro__)


def named_children(module: Any) -> list[tuple[str, Any]]:
    return list(module.named_children())


def own_parameters(module: Any) -> list[tuple[str, Any]]:
    """Without those of submodules."""
    return [(name, parameter) for name, parameter in module.named_parameters() if "." not in name]


__all__ = ["is_module", "named_children", "own_parameters"]
