"""`python -m audit.check`."""

from __future__ import annotations

import sys

from audit.check.cli import main

if __name__ == "__main__":
    sys.exit(main())
