"""`python -m audit.scanner`."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

_INTERRUPTED = 130


def command() -> NoReturn:
    """Run the command line; an interrupt ends it with one line from the first moment on."""
    # The process is short-lived: what is loaded stays to the end, and walking it again and again costs time.
    gc.disable()
    try:
        # A third of a second goes by here, in which somebody may press Ctrl-C.
        from audit.scanner.cli import command as run

        run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("ferroaudit: interrupted\n")
            sys.stderr.flush()
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    command()
