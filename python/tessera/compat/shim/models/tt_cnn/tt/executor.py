"""What `import models.tt_cnn.tt.executor` finds in processes that a script under tessera.compat starts."""

import sys

import tessera.cnn.executor
import tessera.compat  # `import ttnn` too

sys.modules[__name__] = tessera.cnn.executor
