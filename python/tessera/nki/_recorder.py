"""A kernel while it is being written, and the line of the script that is being run."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera._tessera import Error, NkiKernel, NkiView

if TYPE_CHECKING:
    from tessera.nki._tile import Pending, Tile

_HERE = os.path.dirname(os.path.abspath(__file__))
_ours: dict[str, bool] = {}


def is_ours(file: str) -> bool:
    """Whether a file is part of this package."""
    if file not in _ours:
        _ours[file] = os.path.abspath(file).startswith(_HERE + os.sep)
    return _ours[file]


class Program:
    """One of the programs that a launch grid starts."""

    def __init__(self, sizes: tuple[int, ...] = (), at: tuple[int, ...] = ()) -> None:
        self.sizes, self.at = sizes, at


class Recorder:
    """A kernel that is being written, results that have no tile yet, and what programs of one launch share."""

    def __init__(
        self, device: str, values: bool, endless_memory: bool = False, lifetimes: Sequence[int] = (), middle_end: bool = True
    ) -> None:
        self.device, self.values, self.middle_end = device, values, middle_end
        self.kernel = NkiKernel(device, values, endless_memory, list(lifetimes))
        if not middle_end:
            self.kernel.run_turns_as_written()
        self.limits: dict[str, int] = self.kernel.limits()
        self.pending: weakref.WeakValueDictionary[int, Pending] = weakref.WeakValueDictionary()  # by their order
        self.count = 0
        self.program = Program()
        self.shared: list[Tile] = []  # tensors in HBM, in the order in which a program makes them
        self.shared_at = 0
        self.random = np.random.default_rng(0)
        self.turn_override: int | None = None

    def name(self, name: str) -> str:
        self.count += 1
        return name or f"tile_{self.count}"

    def locate(self) -> str:
        """The line of the script that is being run: the innermost one outside of this package."""
        frame = sys._getframe(1)
        while frame is not None and is_ours(frame.f_code.co_filename):
            frame = frame.f_back  # type: ignore[assignment]
        return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""

    def settle(self, tile: int) -> None:
        """Computes results that still have to read a tile, before it is written."""
        for _, each in sorted(self.pending.items(), key=lambda item: item[0]):
            if tile in each.reads and each.access_or_none is None:
                each.access  # noqa: B018

    def write(self, dst: NkiView, location: str, run: Callable[[], None], turn: int | None = None) -> None:
        """Runs an instruction that writes dst."""
        if self.pending:
            self.settle(dst.tile)
        self.kernel.set_location(location)
        now = self.kernel.turn()
        if turn is not None and turn != now:
            self.kernel.set_turn(turn)
        try:
            run()
        finally:
            self.kernel.set_turn(now)


def script_line(error: BaseException) -> str:
    """The innermost line outside of this package that an error came through."""
    line, at = "", error.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if not is_ours(file):
            line = f"{file}:{at.tb_lineno}"
        at = at.tb_next
    return line


_current: list[Recorder] = []


def current() -> Recorder:
    if not _current:
        raise Error("this runs within a kernel only: one that nki.jit, nki.simulate_kernel or nki.benchmark calls")
    return _current[-1]


def is_recording() -> bool:
    return bool(_current)


class recording:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __enter__(self) -> Recorder:
        _current.append(self.recorder)
        return self.recorder

    def __exit__(self, *_: object) -> None:
        _current.pop()


def located(error: Error, location: str) -> Any:
    """The same error with the kernel's line."""
    if "in the kernel, " in str(error):
        return error
    out = type(error)(f"{error}\n  in the kernel, {location}")
    out.__dict__.update(error.__dict__)
    return out
