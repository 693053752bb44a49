"""The progress bar."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios

import pytest

from audit.scanner.progress import ProgressBar, bar
from audit.scanner.report import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def steps(stream: io.StringIO, seconds: list[float], monkeypatch: pytest.MonkeyPatch) -> str:
    clock = iter([0.0, *seconds])
    monkeypatch.setattr("audit.scanner.progress.time.monotonic", lambda: next(clock))
    progress = ProgressBar(stream)
    for number, _ in enumerate(seconds, 1):
        progress(Progress("extract", number, 4))
    progress.finish()
    return stream.getvalue()


def test_a_long_scan_draws_and_erases_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = steps(Terminal(), [0.1, 1.0, 2.0], monkeypatch)
    assert drawn.count("Parsing") == 2
    assert "3/4" in drawn
    assert drawn.endswith("\r\x1b[2K")
    assert "\n" not in drawn


def test_a_short_scan_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert steps(Terminal(), [0.1, 0.2], monkeypatch) == ""


def test_nothing_is_drawn_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert steps(io.StringIO(), [1.0, 2.0], monkeypatch) == ""


def test_a_phase_without_parts_has_no_bar() -> None:
    assert bar(Progress("link", 0, 1)) == "Linking ..."
    assert bar(Progress("read", 5, 10)) == f"Reading  [{'#' * 14}{'.' * 14}] 5/10"


def test_the_bar_never_wraps_because_only_one_line_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
    monkeypatch.setattr("audit.scanner.progress.time.monotonic", iter([0.0, 1.0]).__next__)
    with os.fdopen(theirs, "w") as stream, os.fdopen(ours, "rb", buffering=0) as seen:
        ProgressBar(stream)(Progress("extract", 1, 4))
        assert seen.read(1000) == b"\r\x1b[2KParsing  [#######..."[: 5 + 19]


def test_a_closed_stream_gets_no_bar() -> None:
    progress = ProgressBar(None)
    progress(Progress("extract", 1, 4))
    progress.finish()
