"""Times a kernel of a script, or says why it takes as long as it does."""

import sys

from tessera.nki._program import main

if __name__ == "__main__":
    sys.exit(main())
