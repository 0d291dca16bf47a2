import pytest

import tessera


def test_invalid_argument_is_an_error_and_a_value_error():
    assert issubclass(tessera.Error, RuntimeError)
    assert not issubclass(tessera.Error, ValueError)
    assert issubclass(tessera.InvalidArgument, tessera.Error)
    assert issubclass(tessera.InvalidArgument, ValueError)


def test_carries_the_text_and_its_parts():
    with pytest.raises(tessera.InvalidArgument) as caught:
        tessera.parse_dtype("float7")
    error = caught.value
    assert str(error) == f"{error.message}\nhint: {error.hint}"
    assert error.message == "'float7' is not a dtype"
    assert "bfloat8_b" in error.hint
    assert error.code == "invalid_argument"
    assert error.context == []


def test_wrong_python_types_stay_type_errors():
    with pytest.raises(TypeError):
        tessera.parse_dtype(7)


def test_is_shown_under_the_name_that_people_import():
    assert f"{tessera.Error.__module__}.{tessera.Error.__qualname__}" == "tessera.Error"


def test_what_the_file_system_refuses_is_an_error_of_ours():
    with pytest.raises(tessera.Error, match="File name too long") as caught:
        tessera.Session("a" * 300)
    assert caught.value.code == "io"
