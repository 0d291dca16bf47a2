"""Tests run against the package that was just built, not against one that happens to be installed."""

import os
import pathlib
import sys

_BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", pathlib.Path(__file__).parents[2] / "build"))
sys.path.insert(0, str(_BUILD / "python"))

# Tests name the card they want.
os.environ.pop("TESSERA_DEVICE", None)
