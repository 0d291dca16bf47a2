"""Runs a script that imports ttnn. Python processes that it starts see the same ttnn and the same card."""

import argparse
import os
import pathlib
import runpy
import site
import sys

import tessera
import tessera.compat  # `import ttnn` in this process
from tessera import ttnn


def _add_to_path(directories: list[pathlib.Path]) -> None:
    """Puts directories in front of PYTHONPATH, which child processes inherit."""
    old = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    new = [str(directory) for directory in directories]
    os.environ["PYTHONPATH"] = os.pathsep.join(new + [entry for entry in old if entry not in new])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tessera.compat", description=__doc__)
    parser.add_argument("--device", metavar="NAME", help="the card: a machine's name or file (default: TESSERA_DEVICE)")
    parser.add_argument(
        "--simulated-time", action="store_true", help="time.perf_counter and time.time show simulated time"
    )
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()

    if given.device:
        try:
            ttnn.set_default_machine(given.device)
        except tessera.Error as error:
            parser.error(str(error))
        is_path = os.sep in given.device or given.device.endswith(".toml")
        os.environ["TESSERA_DEVICE"] = os.path.abspath(given.device) if is_path else given.device
    package = pathlib.Path(tessera.__file__).resolve().parent
    directories = [pathlib.Path(__file__).resolve().parent / "shim"]
    if str(package.parent) not in site.getsitepackages():
        directories.append(package.parent)
    _add_to_path(directories)

    if not os.path.exists(given.script):
        parser.error(f"there is no script '{given.script}'")
    if given.simulated_time:
        tessera.compat.use_simulated_time()
    sys.argv = [given.script, *given.arguments]
    sys.path[0] = str(pathlib.Path(given.script).resolve().parent)
    runpy.run_path(given.script, run_name="__main__")


if __name__ == "__main__":
    main()
