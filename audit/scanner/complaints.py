"""What a command line says on standard error when something is wrong."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from audit.scanner.output.style import visible

_DEBUG = "FERROAUDIT_DEBUG"


def complain(text: str) -> None:
    """Say on standard error what is wrong, in one line whatever names it holds."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"ferroaudit: {visible(text)}\n")


def complain_of_defect(error: Exception) -> None:
    """Say that something is wrong with this program, or go down with it where somebody looks for that."""
    if os.environ.get(_DEBUG):
        raise error
    complain(f"internal error: {type(error).__name__}: {error}. Set {_DEBUG}=1 to see where, and report it.")
