"""`python -m audit.scanner`."""

from __future__ import annotations

import sys

from audit.scanner.cli import main

if __name__ == "__main__":
    sys.exit(main())
