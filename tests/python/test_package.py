import ast
import pathlib
import re

import tessera

ROOT = pathlib.Path(__file__).parents[2]


def test_comes_from_the_build_folder():
    assert pathlib.Path(tessera.__file__).parts[-3:-1] == ("python", "tessera")


def test_version_is_the_one_in_cmake():
    declared = re.search(r"project\(Tessera VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert tessera.__version__ == declared.group(1)


def test_is_typed():
    package = pathlib.Path(tessera.__file__).parent
    assert (package / "py.typed").exists()
    stub = (package / "_tessera.pyi").read_text()
    ast.parse(stub)
    assert "def parse_dtype(text: str) -> DType" in stub
    assert "class InvalidArgument" in stub
