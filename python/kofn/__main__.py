"""`python -m kofn`."""

import sys

from kofn.cli import main

if __name__ == "__main__":
    sys.exit(main())
