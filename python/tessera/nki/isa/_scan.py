"""Recurrences along the free dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera._tessera import InvalidArgument
from tessera.nki import _ops
from tessera.nki._calls import public
from tessera.nki._instruction import elementwise, given
from tessera.nki._tile import Tile
from tessera.nki.isa._passes import check_dtype, joint_shape, operand_of, result_type


@public
def tensor_tensor_scan(
    *args: Any,
    data0: Tile | None = None,
    data1: Tile | None = None,
    initial: Any = None,
    op0: Any = None,
    op1: Any = None,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: Any = None,
    mask: Any = None,
    dst: Tile | None = None,
    name: str | None = None,
) -> Any:
    """result[i] = (data0[i] op0 result[i - 1]) op1 data1[i], from `initial` on; reversed operands change places."""
    names = ["data0", "data1", "initial", "op0", "op1", "reverse0", "reverse1"]
    given_words = {"data0": data0, "data1": data1, "initial": initial, "op0": op0, "op1": op1}
    rest = list(args)
    # What comes before the operations is data0, data1 and initial; one more is the destination.
    before = next((i for i, each in enumerate(rest) if callable(each) or isinstance(each, str)), len(rest))
    if dst is None and before + sum(each is not None for each in (data0, data1, initial)) == 4:
        dst = rest.pop(0)
    words = dict(zip(names, rest))
    if len(rest) > len(names) or any(given_words.get(key) is not None for key in words):
        raise InvalidArgument("tensor_tensor_scan: an argument is given twice")
    given_words.update({key: value for key, value in words.items() if key in given_words})
    reverse0, reverse1 = words.get("reverse0", reverse0), words.get("reverse1", reverse1)
    missing = [key for key, value in given_words.items() if value is None]
    if missing:
        raise InvalidArgument(f"tensor_tensor_scan needs {', '.join(missing)}")
    a, b = given_words["data0"], given_words["data1"]
    check_dtype("tensor_tensor_scan", dtype)
    first, second = _ops.op_name(given_words["op0"]), _ops.op_name(given_words["op1"])
    number, column = operand_of("tensor_tensor_scan", given_words["initial"], a)

    def meaning(x: np.ndarray, y: np.ndarray, *start: np.ndarray) -> np.ndarray:
        rows, more = x.reshape(x.shape[0], -1), np.broadcast_to(y, x.shape).reshape(x.shape[0], -1)
        state = start[0].reshape(-1).astype(np.float32) if start else np.full(rows.shape[0], number, dtype=np.float32)
        out = np.empty(rows.shape, dtype=np.float32)
        for i in range(rows.shape[1]):
            state = _ops.apply_op(first, state, rows[:, i]) if reverse0 else _ops.apply_op(first, rows[:, i], state)
            state = _ops.apply_op(second, more[:, i], state) if reverse1 else _ops.apply_op(second, state, more[:, i])
            out[:, i] = state
        return out.reshape(x.shape)

    operands = [a, b, *([column] if column is not None else [])]
    result = elementwise(
        "tensor_tensor_scan",
        "vector",
        operands,
        meaning,
        columns=len(operands) - 2,
        shape=joint_shape("tensor_tensor_scan", a, b),
        dtype=result_type(dtype, dst, a, b),
        mask=mask,
        name=name,
    )
    return given(dst, result)
