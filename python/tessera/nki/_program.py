"""``python -m tessera.nki run FILE.py --kernel NAME --input x=1x256x32x16:float16 ...``: any kernel of a script, timed.

`run` prints what the kernel came to, `explain` the longest chain of its instructions and what would make it faster.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.machinery
import importlib.util
import inspect
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera._tessera import Error, InvalidArgument
from tessera.nki._dtypes import as_type, type_name
from tessera.nki._kernel import Kernel, Launch, Trace, changed, default_device, read, slowest_programs, trace

_USER_ERROR = 1
_MODULE = "kernels of a script"  # a name that no import has


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tessera.nki", description=__doc__)
    parser.add_argument("action", choices=("run", "explain"))
    parser.add_argument("file", metavar="FILE.py", type=pathlib.Path)
    parser.add_argument("--kernel", metavar="NAME", help="the kernel's name in the script; not needed where there is one only")
    parser.add_argument(
        "--input", metavar="NAME=SHAPE[:TYPE]|NAME=FILE.npy", action="append", default=[],
        help="an array: uniform numbers of [0, 1) of that shape, float32 unless a type is given, or those of a file",
    )  # fmt: skip
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="another argument of the kernel")
    parser.add_argument("--grid", metavar="N[,N...]", help="a launch grid")
    parser.add_argument("--device", default="trainium2", help="the machine (default: trainium2)")
    parser.add_argument("--seed", type=int, default=42, help="of the numbers (default: 42)")
    parser.add_argument("--output", metavar="FOLDER", type=pathlib.Path, help="write results as .npy files there")
    parser.add_argument("--without-values", action="store_true", help="times only")
    parser.add_argument("--trace", metavar="FILE.json", help="write a trace that Perfetto opens")
    parser.add_argument("--html", metavar="FILE.html", help="write a page: engines and DMA over time, and what bounds the kernel")
    parser.add_argument("--format", choices=("table", "md", "csv", "json"), default="table")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--wide", action="store_true", help="tables are as wide as they are, not as the terminal")
    return parser


def _split(word: str, option: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise InvalidArgument(f"--{option} {word}: that is not NAME=VALUE")
    return name, value


def _array(value: str, random: np.random.Generator) -> np.ndarray:
    if value.endswith(".npy"):
        try:
            return np.load(value)
        except (OSError, ValueError) as error:
            raise InvalidArgument(f"cannot read '{value}': {error}") from None
    sizes, _, kind = value.partition(":")
    try:
        shape = tuple(int(n) for n in sizes.split("x"))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        raise InvalidArgument(f"'{value}' is no array: write sizes with an x between them, 128x512 or 128x512:float16, or the name of a .npy file")
    return as_type(random.random(shape, dtype=np.float32), type_name(kind or "float32"))


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def kernel_named(file: pathlib.Path, name: str | None) -> Kernel:
    """A kernel of a script, which is run but not as the main one."""
    import tessera.compat  # noqa: F401  # neuronxcc.nki and nki are tessera.nki where they are not installed

    if not file.is_file():
        raise InvalidArgument(f"there is no script '{file}'")
    sys.path.insert(0, str(file.resolve().parent))
    loader = importlib.machinery.SourceFileLoader(_MODULE, str(file))
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(_MODULE, loader, origin=str(file)))
    sys.modules[_MODULE] = module
    # What the script prints is not what was asked for.
    with contextlib.redirect_stdout(sys.stderr):
        loader.exec_module(module)
    names = vars(module)
    kernels = {key: each for key, each in names.items() if isinstance(each, Kernel)}
    mine = {key: each for key, each in kernels.items() if each.function.__module__ == _MODULE}
    if name is None:
        if len(mine) != 1:
            there = ", ".join(sorted(mine)) or "none"
            raise InvalidArgument(f"'{file}' has {len(mine)} kernels ({there}): say which with --kernel NAME")
        return next(iter(mine.values()))
    if name in kernels:
        return kernels[name]
    # A plain function is a kernel too: simulate_kernel takes those.
    if inspect.isfunction(names.get(name)):
        return Kernel(names[name])
    raise InvalidArgument(f"'{file}' has no kernel '{name}'; it has {', '.join(sorted(kernels)) or 'none'}")


def arguments_of(kernel: Kernel, inputs: Sequence[str], settings: Sequence[str], seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    given: dict[str, Any] = {}
    words = [(*_split(word, "input"), True) for word in inputs] + [(*_split(word, "set"), False) for word in settings]
    for name, value, is_array in words:
        if name in given:
            raise InvalidArgument(f"'{name}' is given twice")
        given[name] = _array(value, random) if is_array else _value(value)
    signature = inspect.signature(kernel.function)
    takes = f"{kernel.__name__}{signature}"  # type: ignore[attr-defined]
    known = signature.parameters
    rest = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values())
    for name in given:
        if name not in known and not rest:
            raise InvalidArgument(f"the kernel has no argument '{name}': it is {takes}")
    for name, each in known.items():
        if each.default is inspect.Parameter.empty and name not in given and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise InvalidArgument(f"the kernel needs '{name}': it is {takes}; --input {name}=SHAPE is an array, --set {name}=VALUE anything else")
    return given


def _results(run: Trace) -> list[tuple[str, np.ndarray]]:
    """Arrays that the kernel returned, and those of the caller that it wrote."""
    found: list[tuple[str, np.ndarray]] = []

    def add(name: str, value: Any) -> None:
        if isinstance(value, (tuple, list)):
            for i, each in enumerate(value):
                add(f"{name}{i}", each)
        elif isinstance(value, dict):
            for key, each in value.items():
                add(str(key), each)
        elif isinstance(value, np.ndarray):
            found.append((name, value))

    add("output", read(run))
    return found + changed(run)


def _show(name: str, array: np.ndarray, folder: pathlib.Path | None) -> str:
    numbers = array.astype(np.float64)
    size = "x".join(str(n) for n in array.shape)
    text = f"{name}: {size} {array.dtype}, from {numbers.min():.6g} to {numbers.max():.6g}, mean {numbers.mean():.6g}"
    return text + (f", in {folder / name}.npy" if folder else "")


def _run(given: argparse.Namespace) -> None:
    kernel = kernel_named(given.file, given.kernel)
    arguments = arguments_of(kernel, given.input, given.set, given.seed)
    values = given.action == "run" and not given.without_values
    if given.output and not values:
        raise InvalidArgument("--output needs values, and this run is without them")
    launch = kernel.launch
    if given.grid:
        launch = Launch(tuple(int(_positive(n)) for n in given.grid.split(",")))
    device = default_device(given.device)
    with contextlib.redirect_stdout(sys.stderr):
        run = trace(kernel.function, device, values, (), arguments, launch)
        # Cores run side by side: what is shown is the slowest one.
        programs = slowest_programs(kernel.function, device, (), arguments, launch)
        timed = run if programs is None else trace(kernel.function, device, False, (), arguments, launch, programs)
    title = f"{kernel.__name__} on {device}"  # type: ignore[attr-defined]
    recorded = timed.recorder.kernel
    if given.trace:
        recorded.write_trace(title, given.trace)
    if given.html:
        recorded.write_page(title, given.html)
    people = given.format in ("table", "md") and not given.quiet
    if values:
        results = _results(run)
        if given.output:
            given.output.mkdir(parents=True, exist_ok=True)
            for name, array in results:
                _save(given.output / f"{name}.npy", array)
        if people:
            print("".join(_show(name, array, given.output) + "\n" for name, array in results))
    if given.action == "run":
        print(recorded.profile_text(title, given.format), end="")
    else:
        wide = given.wide or not sys.stdout.isatty()
        print(recorded.explanation(title, given.format, given.quiet, 0 if wide else _terminal_columns()), end="")


def _terminal_columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _positive(text: str) -> str:
    if not text.isdigit() or int(text) < 1:
        raise InvalidArgument(f"'{text}' is no number of programs")
    return text


def _save(path: pathlib.Path, array: np.ndarray) -> None:
    """Whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            np.save(file, array)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        _run(given)
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return _USER_ERROR
    except Exception as error:  # noqa: BLE001  # of the script: its own line says where
        print(f"error: {type(error).__name__}: {error}{_script_place(error, given.file)}", file=sys.stderr)
        return _USER_ERROR
    return 0


def _script_place(error: BaseException, file: pathlib.Path) -> str:
    """The last line of that script that an error came through."""
    place, at = "", error.__traceback__
    while at is not None:
        if pathlib.Path(at.tb_frame.f_code.co_filename).name == file.name:
            place = f"\n  at {at.tb_frame.f_code.co_filename}:{at.tb_lineno}"
        at = at.tb_next
    return place
