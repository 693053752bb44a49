"""Log files of the embedded services."""

from __future__ import annotations

from pathlib import Path


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log file, or say that there is none."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(no log)"
