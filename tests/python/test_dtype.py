import pytest

from tessera import DType, parse_dtype


@pytest.mark.parametrize("dtype", list(DType))
def test_every_dtype_is_parsed_from_its_name(dtype):
    assert parse_dtype(dtype.name) is dtype


def test_sizes_and_kinds():
    assert {d.name: d.element_bytes for d in DType} == {
        "float32": 4, "bfloat16": 2, "float16": 2, "bfloat8_b": 0, "bfloat4_b": 0,
        "uint8": 1, "uint16": 2, "uint32": 4, "int32": 4,
    }  # fmt: skip
    assert [d.name for d in DType if d.is_block_float] == ["bfloat8_b", "bfloat4_b"]
    assert [d.name for d in DType if d.is_integer] == ["uint8", "uint16", "uint32", "int32"]
