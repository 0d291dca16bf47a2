"""The few functions of MLX that guides to liquid networks use, on host memory: arrays are numpy's, float32 by default.

    import tessera.mlx as mx

Nothing is lazy: what a function returns has been computed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tessera._tessera import InvalidArgument

__all__ = [
    "CompiledFunction",
    "Plan",
    "abs",
    "allclose",
    "arange",
    "array",
    "array_equal",
    "ascontiguousarray",
    "bfloat16",
    "bool_",
    "compile",
    "concatenate",
    "contiguous",
    "eval",
    "exp",
    "expand_dims",
    "float16",
    "float32",
    "full",
    "int32",
    "linspace",
    "matmul",
    "maximum",
    "mean",
    "minimum",
    "ones",
    "ones_like",
    "random",
    "reshape",
    "sigmoid",
    "sin",
    "cos",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "sum",
    "synchronize",
    "tanh",
    "transpose",
    "where",
    "zeros",
    "zeros_like",
]

float32 = np.float32
float16 = np.float16
int32 = np.int32
bool_ = np.bool_
# numpy has none; values are kept in float32.
bfloat16 = np.float32

Shape = int | Sequence[int]


class array(np.ndarray):  # noqa: N801 - MLX's name
    """An array of numpy; numbers that say nothing else are float32 or int32, as MLX takes them."""

    def __new__(cls, values: Any, dtype: npt.DTypeLike | None = None) -> array:
        if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
            values = np.from_dlpack(values)
        made = np.array(values, dtype)
        if dtype is None and made.dtype == np.float64:
            made = made.astype(np.float32)
        elif dtype is None and made.dtype == np.int64 and not hasattr(values, "dtype"):
            made = made.astype(np.int32)
        return made.view(cls)


def _wrapped(values: Any) -> array:
    return np.asarray(values).view(array)


def zeros(shape: Shape, dtype: npt.DTypeLike = float32) -> array:
    return _wrapped(np.zeros(shape, dtype))


def ones(shape: Shape, dtype: npt.DTypeLike = float32) -> array:
    return _wrapped(np.ones(shape, dtype))


def full(shape: Shape, value: Any, dtype: npt.DTypeLike = float32) -> array:
    return _wrapped(np.full(shape, value, dtype))


def zeros_like(a: Any) -> array:
    return _wrapped(np.zeros_like(a))


def ones_like(a: Any) -> array:
    return _wrapped(np.ones_like(a))


def arange(*arguments: Any, dtype: npt.DTypeLike | None = None) -> array:
    return array(np.arange(*arguments), dtype or (int32 if all(isinstance(a, int) for a in arguments) else float32))


def linspace(start: float, stop: float, num: int = 50, dtype: npt.DTypeLike = float32) -> array:
    return _wrapped(np.linspace(start, stop, num, dtype=dtype))


def contiguous(a: Any, allow_col_major: bool = False) -> array:
    """The same elements in row-major order: copied only if they are not already."""
    a = np.asarray(a)
    if a.flags.c_contiguous or (allow_col_major and a.flags.f_contiguous):
        return a.view(array)
    return np.ascontiguousarray(a).view(array)


# The name that guides use; MLX itself has contiguous() only.
ascontiguousarray = contiguous


def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Joined along an axis. Tuples, as models return them, are joined item by item."""
    if len(arrays) == 0:
        raise InvalidArgument("nothing to concatenate: at least one array is needed")
    if all(isinstance(item, (tuple, list)) for item in arrays):
        if len({len(item) for item in arrays}) != 1:
            raise InvalidArgument(f"tuples of {sorted({len(item) for item in arrays})} items cannot be joined item by item")
        return tuple(concatenate(items, axis) for items in zip(*arrays, strict=True))
    return _wrapped(np.concatenate([np.asarray(a) for a in arrays], axis=axis))


def stack(arrays: Sequence[Any], axis: int = 0) -> array:
    return _wrapped(np.stack([np.asarray(a) for a in arrays], axis=axis))


def eval(*arguments: Any) -> None:
    """Everything has been computed already."""


def synchronize() -> None:
    """Nothing is outstanding."""


def _same(function: Callable[..., Any]) -> Callable[..., array]:
    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> array:
        return _wrapped(function(*arguments, **options))

    return wrapper


abs = _same(np.abs)
exp = _same(np.exp)
tanh = _same(np.tanh)
sin = _same(np.sin)
cos = _same(np.cos)
sqrt = _same(np.sqrt)
square = _same(np.square)
mean = _same(np.mean)
sum = _same(np.sum)
maximum = _same(np.maximum)
minimum = _same(np.minimum)
matmul = _same(np.matmul)
where = _same(np.where)
reshape = _same(np.reshape)
transpose = _same(np.transpose)
expand_dims = _same(np.expand_dims)
squeeze = _same(np.squeeze)


def sigmoid(a: Any) -> array:
    a = np.asarray(a)
    return _wrapped((0.5 * (1 + np.tanh(0.5 * a))).astype(a.dtype))


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    return bool(np.allclose(a, b, rtol, atol))


def array_equal(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b))


_generator = np.random.default_rng()


def _seed(seed: int) -> None:
    global _generator
    _generator = np.random.default_rng(seed)


def _normal(shape: Shape = (), dtype: npt.DTypeLike = float32, loc: float = 0.0, scale: float = 1.0, key: Any = None) -> array:
    generator = _generator if key is None else np.random.default_rng(np.asarray(key).tolist())
    return _wrapped((loc + scale * generator.standard_normal(shape)).astype(dtype))


def _uniform(low: float = 0.0, high: float = 1.0, shape: Shape = (), dtype: npt.DTypeLike = float32, key: Any = None) -> array:
    generator = _generator if key is None else np.random.default_rng(np.asarray(key).tolist())
    return _wrapped(generator.uniform(low, high, shape).astype(dtype))


def _randint(low: int, high: int, shape: Shape = (), dtype: npt.DTypeLike = int32, key: Any = None) -> array:
    generator = _generator if key is None else np.random.default_rng(np.asarray(key).tolist())
    return _wrapped(generator.integers(low, high, shape).astype(dtype))


def _key(seed: int) -> array:
    return array([0, seed], np.uint32)


random = SimpleNamespace(seed=_seed, normal=_normal, uniform=_uniform, randint=_randint, key=_key)


class Plan(NamedTuple):
    """What a compiled function has run for: shapes of its arrays, values of everything else, and the layers it called."""

    arrays: tuple[tuple[tuple[int, ...], str], ...]
    values: tuple[Any, ...]
    steps: tuple[str, ...]


def _sort(name: str, value: Any, arrays: list[Any], values: list[Any]) -> None:
    """Arrays count by shape and type, wherever they are; other things by value, or by type where they have no hash."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        arrays.append((tuple(value.shape), str(value.dtype)))
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            _sort(f"{name}[{i}]", item, arrays, values)
    elif isinstance(value, dict):
        for key, item in value.items():
            _sort(f"{name}[{key!r}]", item, arrays, values)
    else:
        values.append((name, value if isinstance(value, Hashable) else type(value).__name__))


class CompiledFunction:
    """A function with a plan for each combination of shapes and static values. Its results are the function's own."""

    def __init__(
        self, function: Callable[..., Any], static_argnums: Iterable[int] = (), static_argnames: Iterable[str] = ()
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._signature = inspect.signature(function)
        names = list(self._signature.parameters)
        static = set(static_argnames)
        for number in static_argnums:
            if not -len(names) <= number < len(names):
                raise InvalidArgument(
                    f"static argument {number} of {function.__name__}(): it has {len(names)} arguments"
                )
            static.add(names[number])
        for name in static - set(names):
            raise InvalidArgument(f"{function.__name__}() has no argument '{name}' to be static, only {', '.join(names)}")
        self.static_argnames = frozenset(static)
        self._plans: dict[Hashable, Plan] = {}
        self.calls = 0

    @property
    def plans(self) -> list[Plan]:
        return list(self._plans.values())

    def _key(self, arguments: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        arrays: list[Any] = []
        values: list[Any] = []
        for name, value in arguments.items():
            if name in self.static_argnames:
                try:
                    hash(value)
                except TypeError:
                    raise InvalidArgument(
                        f"static argument '{name}' of {self._function.__name__}() is a {type(value).__name__}, which "
                        "cannot be told from another: pass a number, a string, a bool or a tuple of them"
                    ) from None
                values.append((name, value))
            else:
                _sort(name, value, arrays, values)
        return tuple(arrays), tuple(values)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        bound = self._signature.bind(*arguments, **options)
        bound.apply_defaults()
        arrays, values = key = self._key(bound.arguments)
        self.calls += 1
        if key in self._plans:
            return self._function(*arguments, **options)
        from tessera.ncps.model import recorded_calls  # noqa: PLC0415 - models are only needed here

        with recorded_calls() as steps:
            result = self._function(*arguments, **options)
        self._plans[key] = Plan(arrays, values, tuple(steps))
        return result


def compile(
    fun: Callable[..., Any] | None = None,
    inputs: Any = None,
    outputs: Any = None,
    shapeless: bool = False,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Any:
    """A function that keeps a plan for each combination of shapes and static values; also ``@mx.compile(...)``.

    Layers are compiled already, and packed for the processor at their first call; a plan says which layers a call runs,
    with which kernels. Outputs are those of the function, to the bit. `inputs`, `outputs` and `shapeless` are MLX's, and
    change nothing here.
    """
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if fun is None:
        return lambda function: CompiledFunction(function, numbers, names)
    return CompiledFunction(fun, numbers, names)
