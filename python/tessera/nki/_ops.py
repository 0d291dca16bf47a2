"""Operations and functions of the engines: by which names kernels know them, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki._calls import nearest


def _integers(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*arrays: Any) -> Any:
        out = function(*(np.asarray(a).astype(np.int64) for a in arrays))
        if np.size(out) and np.max(np.abs(out)) > 1 << 24:
            raise InvalidArgument("integers beyond 2^24 are not simulated")
        return out

    return apply


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays: function(*arrays).astype(np.float32)


def _maximum(a: Any, b: Any) -> Any:
    return np.maximum(a, b)


# Of two operands. Those with a word of the core run there.
BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "power": np.power,
    "mod": np.mod,
    "fmod": np.fmod,
    "equal": _truth(np.equal),
    "not_equal": _truth(np.not_equal),
    "greater": _truth(np.greater),
    "greater_equal": _truth(np.greater_equal),
    "less": _truth(np.less),
    "less_equal": _truth(np.less_equal),
    "logical_and": _truth(np.logical_and),
    "logical_or": _truth(np.logical_or),
    "logical_xor": _truth(np.logical_xor),
    "bitwise_and": _integers(np.bitwise_and),
    "bitwise_or": _integers(np.bitwise_or),
    "bitwise_xor": _integers(np.bitwise_xor),
    "left_shift": _integers(np.left_shift),
    "right_shift": _integers(np.right_shift),
    "rsqrt": lambda a, _: 1 / np.sqrt(a),
    "abs": lambda a, _: np.abs(a),
}
CORE_BINARY = {"add", "subtract", "multiply", "divide", "max", "min"}
SWAPS = {"add", "multiply", "max", "min", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"}
ASSOCIATIVE = {"add", "multiply", "max", "min", "logical_and", "logical_or", "bitwise_and", "bitwise_or", "bitwise_xor"}

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.sum,
    "max": np.max,
    "min": np.min,
    "multiply": np.prod,
    "logical_and": lambda a, axis, where=True, initial=1: np.all(a != 0, axis=axis, where=where).astype(np.float32),
    "logical_or": lambda a, axis, where=True, initial=0: np.any(a != 0, axis=axis, where=where).astype(np.float32),
}
IDENTITY = {"add": 0.0, "max": -np.inf, "min": np.inf, "multiply": 1.0, "logical_and": 1.0, "logical_or": 0.0}
CORE_REDUCTIONS = {"add", "max", "min"}


def reduced(op: str, array: np.ndarray, axes: tuple[int, ...], table: np.ndarray | None = None) -> np.ndarray:
    if op not in REDUCTIONS:
        raise InvalidArgument(f"nothing is reduced by {op}; there are {', '.join(REDUCTIONS)}")
    if op == "add":
        where = True if table is None else table
        return np.sum(array, axis=axes, dtype=np.float64, where=where).astype(np.float32)
    if table is None:
        return np.asarray(REDUCTIONS[op](array, axis=axes))
    return np.asarray(REDUCTIONS[op](array, axis=axes, where=table, initial=IDENTITY[op]))


_erf = np.frompyfunc(math.erf, 1, 1)


def erf(x: Any) -> np.ndarray:
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(_erf(x), dtype=np.float64)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _gelu_dx(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + erf(x / math.sqrt(2))) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


# Of one operand, on ScalarE.
UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "square": np.square,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "log": np.log,
    "abs": np.abs,
    "silu": lambda x: x * _sigmoid(x),
    "silu_dx": lambda x: _sigmoid(x) * (1 + x * (1 - _sigmoid(x))),
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "gelu_dx": _gelu_dx,
    "gelu_apprx_tanh": _gelu_tanh,
    "gelu_apprx_sigmoid": lambda x: x * _sigmoid(1.702 * x),
    "erf": erf,
    "erf_dx": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
    "softplus": _softplus,
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arctan": np.arctan,
    "sign": np.sign,
    "trunc": np.trunc,
    "floor": np.floor,
    "ceil": np.ceil,
    "logical_not": lambda x: (x == 0).astype(np.float32),
    "negative": np.negative,
    "invert": _integers(np.invert),
}
CORE_UNARY = {"identity", "relu", "exp", "tanh", "sigmoid", "square", "sqrt", "rsqrt", "reciprocal", "log", "abs", "silu"}

# Names under which kernels say them: of nl, of numpy, or words.
_NAMES = {
    "sum": "add",
    "mul": "multiply",
    "subtract": "subtract",
    "true_divide": "divide",
    "maximum": "max",
    "amax": "max",
    "minimum": "min",
    "amin": "min",
    "prod": "multiply",
    "pow": "power",
    "float_power": "power",
    "remainder": "mod",
    "all": "logical_and",
    "any": "logical_or",
    "is_equal": "equal",
    "copy": "identity",
    "absolute": "abs",
    "bitwise_not": "invert",
    "logical_shift_left": "left_shift",
    "logical_shift_right": "right_shift",
    "gelu_dx": "gelu_dx",
}


def _word(op: Any) -> str:
    word = op if isinstance(op, str) else getattr(op, "__name__", str(op))
    return _NAMES.get(word, word)


def op_name(op: Any) -> str:
    """The operation of two operands that a kernel names; None is a copy."""
    if op is None:
        return "copy"
    word = _word(op)
    if word == "identity":
        return "copy"
    if word not in BINARY:
        raise InvalidArgument(f"{word} is no operation that engines have here{nearest(word, BINARY)}")
    return word


def function_name(op: Any) -> str:
    word = _word(op)
    if word not in UNARY:
        raise InvalidArgument(f"{word} is no function that the scalar engine has here{nearest(word, UNARY)}")
    return word


def apply_op(op: str, a: Any, b: Any) -> Any:
    return a if op == "copy" else BINARY[op](a, b)
