"""What `import models.tt_cnn.tt.pipeline` finds in processes that a script under tessera.compat starts."""

import sys

import tessera.cnn.pipeline
import tessera.compat  # `import ttnn` too

sys.modules[__name__] = tessera.cnn.pipeline
