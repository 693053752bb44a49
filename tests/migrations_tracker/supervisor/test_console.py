"""What is shown: no colour where none is wanted, and no control of the terminal by what programs write."""

from __future__ import annotations

import io
import os
import pty
from pathlib import Path

import pytest

from migrations_tracker.supervisor.console import Console


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[2J\x1b[1;31mred\x1b[0m", "red"),
        ("over\rwritten", "overwritten"),
        ("bell\x07 and \x9b31mcsi", "bell and 31mcsi"),
        ("\ttab and ünïcode", "\ttab and ünïcode"),
    ],
)
def test_what_a_program_writes_cannot_steer_the_terminal(written: str, shown: str) -> None:
    stream = io.StringIO()
    Console(stream).line_of("web", written)
    assert stream.getvalue() == f"web     | {shown}\n"


def test_an_empty_line_is_not_shown() -> None:
    stream = io.StringIO()
    Console(stream).line_of("web", "  ")
    assert stream.getvalue() == ""


def test_a_stream_that_is_no_terminal_gets_no_colour() -> None:
    stream = io.StringIO()
    console = Console(stream)
    console.warn("careful")
    console.block([("Open", "http://127.0.0.1:8000/")])
    assert "\x1b" not in stream.getvalue()


def test_two_programs_have_two_colours() -> None:
    stream = io.StringIO()
    console = Console(stream, is_coloured=True)
    console.line_of("web", "x")
    console.line_of("worker", "x")
    first, second = stream.getvalue().splitlines()
    assert first.split("web")[0] != second.split("worker")[0]


def test_a_step_that_fails_is_not_shown_as_done() -> None:
    stream = io.StringIO()
    with pytest.raises(ValueError, match="no"), Console(stream).step("Database"):
        raise ValueError("no")
    assert stream.getvalue() == "... Database\n"


def test_a_terminal_that_is_gone_does_not_stop_the_stop() -> None:
    stream = io.StringIO()
    console = Console(stream)
    stream.close()
    console.say("anybody there?")


def test_a_closed_terminal_is_noticed() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        console = Console(stream)
        assert not console.is_gone()
        os.close(ours)
        assert console.is_gone()


def test_a_pipe_that_nobody_reads_any_more_is_noticed() -> None:
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "w") as stream:
        console = Console(stream)
        assert not console.is_gone()
        os.close(ours)
        assert console.is_gone()


def test_a_file_never_goes(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as stream:
        assert not Console(stream).is_gone()


def test_what_was_held_back_for_a_closed_pipe_does_not_fail_later() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "w") as stream:
        console = Console(stream)
        console.say("lost")
        console.say("lost too")
        assert console.is_gone()
