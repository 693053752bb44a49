"""A progress bar for people who wait at a terminal."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import IO, cast

from audit.scanner.report import Progress

_SHOWN_AFTER_SECONDS = 0.7
_REDRAWN_AFTER_SECONDS = 0.05
_WIDTH = 28
_COLUMNS = 80
_PHASES = {"read": "Reading", "extract": "Parsing", "link": "Linking", "judge": "Judging"}
_ERASE_LINE = "\r\x1b[2K"


class ProgressBar:
    """Draws the progress of a scan on one line, once the scan has taken a while, and erases it in the end."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream
        self._is_shown = stream is not None and stream.isatty()
        self._started = time.monotonic()
        self._drawn_at = 0.0

    def __call__(self, progress: Progress) -> None:
        """Take a step of the scan."""
        now = time.monotonic()
        is_due = now - self._started > _SHOWN_AFTER_SECONDS and now - self._drawn_at > _REDRAWN_AFTER_SECONDS
        if self._is_shown and is_due:
            self._drawn_at = now
            self._draw(_ERASE_LINE + bar(progress)[: self._columns() - 1])

    def finish(self) -> None:
        """Leave the line as it was found."""
        if self._drawn_at:
            self._draw(_ERASE_LINE)

    def _columns(self) -> int:
        """Return how wide the terminal is: of a line that wraps, only the end could be erased."""
        try:
            return os.get_terminal_size(cast("IO[str]", self._stream).fileno()).columns or _COLUMNS
        except (OSError, ValueError):
            return _COLUMNS

    def _draw(self, text: str) -> None:
        stream = cast("IO[str]", self._stream)
        with suppress(OSError):
            stream.write(text)
            stream.flush()


def bar(progress: Progress) -> str:
    """Draw one state of the bar."""
    label = _PHASES.get(progress.phase, progress.phase)
    if progress.total <= 1:
        return f"{label} ..."
    filled = _WIDTH * progress.done // progress.total
    return f"{label:8} [{'#' * filled}{'.' * (_WIDTH - filled)}] {progress.done:,}/{progress.total:,}"
