"""Element types: words of the core, numpy's and ml_dtypes' types."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument

try:
    import ml_dtypes

    bfloat16: Any = np.dtype(ml_dtypes.bfloat16)
    float8_e4m3: Any = np.dtype(ml_dtypes.float8_e4m3)
    float8_e5m2: Any = np.dtype(ml_dtypes.float8_e5m2)
except ImportError:
    bfloat16, float8_e4m3, float8_e5m2 = "bfloat16", "float8_e4m3", "float8_e5m2"

_BYTES = {
    "float32": 4,
    "int32": 4,
    "uint32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "uint16": 2,
    "float8_e4m3": 1,
    "float8_e5m2": 1,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}
# The higher one of two is the type of a result.
_PRECEDENCE = [
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32",
    "float8_e5m2", "float8_e4m3", "float16", "bfloat16", "float32",
]  # fmt: skip
_FLOATS = {"float32", "float16", "bfloat16", "float8_e4m3", "float8_e5m2"}
# Held as float32, integers are exact up to here.
EXACT = 1 << 24


def type_name(dtype: Any) -> str:
    """The name of an element type: of numpy's, of ml_dtypes', or a word."""
    if isinstance(dtype, str):
        word = dtype
    else:
        try:
            word = np.dtype(dtype).name
        except TypeError:
            word = str(dtype).removeprefix("torch.")
    word = {"tfloat32": "float32", "bool_": "bool", "float": "float32", "int": "int32"}.get(word, word)
    if word not in _BYTES:
        raise InvalidArgument(f"'{word}' is no element type of a NeuronCore; there are {', '.join(_BYTES)}")
    return word


def dtype_of(name: str) -> Any:
    return {"bfloat16": bfloat16, "float8_e4m3": float8_e4m3, "float8_e5m2": float8_e5m2}.get(name) or np.dtype(name)


def element_bytes(dtype: Any) -> int:
    return _BYTES[type_name(dtype)]


def is_float(name: str) -> bool:
    return name in _FLOATS


def promoted(*names: str) -> str:
    return max(names, key=_PRECEDENCE.index)


def as_floats(array: np.ndarray, name: str) -> np.ndarray:
    """The numbers of an array as the core holds them. Integers that float32 does not have are refused."""
    if array.dtype.kind in "iu" and array.size and max(abs(int(array.min())), abs(int(array.max()))) > EXACT:
        raise InvalidArgument(f"'{name}' has integers beyond 2^24, which are not simulated")
    return np.ascontiguousarray(array, dtype=np.float32)


def as_type(array: np.ndarray, name: str) -> np.ndarray:
    """Numbers that the core holds as an array of their type."""
    kind = dtype_of(name)
    return np.array(array, dtype=np.float32 if isinstance(kind, str) else kind)
