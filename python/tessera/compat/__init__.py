"""Lets programs written for ttnn run on Tessera.

    import tessera.compat            # from here on, `import ttnn` is tessera.ttnn
    python -m tessera.compat [--device NAME] script.py ...
"""

import sys

import tessera.ttnn


def install() -> None:
    """Makes `import ttnn` give tessera.ttnn in this process, also where a real ttnn is installed."""
    sys.modules["ttnn"] = tessera.ttnn
    sys.modules["ttnn.device"] = tessera.ttnn.device
    sys.modules["ttnn.core"] = tessera.ttnn.core
    sys.modules["ttnn.experimental"] = tessera.ttnn.experimental
    sys.modules["ttnn.model_preprocessing"] = tessera.ttnn.model_preprocessing


install()
