"""What `import ttnn` finds in processes that a script under tessera.compat starts."""

import tessera.compat  # puts tessera.ttnn where this module was
