"""Arguments are honoured or refused by name: nothing that a kernel says is dropped."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tessera._tessera import Error, InvalidArgument

_F = TypeVar("_F", bound=Callable[..., Any])


def nearest(word: str, words: Iterable[str]) -> str:
    """' (did you mean x?)' or nothing."""
    close = difflib.get_close_matches(word, list(words), 1, 0.6)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _explained(function: Callable[..., Any], args: Any, kwargs: Any) -> str | None:
    """Why these arguments do not fit; None where they do."""
    signature = inspect.signature(function)
    names = [name for name, each in signature.parameters.items() if each.kind is not inspect.Parameter.VAR_POSITIONAL]
    for keyword in kwargs:
        if keyword not in names:
            return f"{function.__name__} has no argument '{keyword}'{nearest(keyword, names)}"
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return f"{function.__name__}: {error}"
    return None


def public(function: _F) -> _F:
    """A function of the language: arguments that it does not have are errors that name the nearest one."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
        except TypeError as error:
            why = None if isinstance(error, Error) else _explained(function, args, kwargs)
            if why is None:
                raise
            raise InvalidArgument(why) from None
        if kwargs.get("dtype") is not None and hasattr(result, "has_own_type"):
            result.has_own_type, result.is_masked = True, kwargs.get("mask") is not None
        return result

    return call  # type: ignore[return-value]


def refuse(function: str, **given: tuple[Any, Any]) -> None:
    """Refuses arguments that are not simulated, unless they have their default: name=(value, default)."""
    for name, (value, default) in given.items():
        if value is not default and value != default:
            raise InvalidArgument(f"{function}: {name}={value!r} is not simulated")
