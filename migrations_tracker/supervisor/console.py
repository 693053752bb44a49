"""What the person at the terminal sees: steps, the children's lines with prefixes, and the closing block."""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

RESET = "\033[0m"
BOLD = "\033[1m"
DIM = "\033[2m"
RED = "\033[31m"
GREEN = "\033[32m"
COLOURS = ("\033[36m", "\033[35m", "\033[33m", "\033[34m")
# A child may write whatever was in a scanned repository: its bytes must not steer the terminal.
CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
PREFIX_WIDTH = 8


class Console:
    """Writes to one stream, in colour where that is a terminal and NO_COLOR is not set."""

    def __init__(
        self,
        stream: TextIO,
        *,
        is_coloured: bool | None = None,
        before_step: Callable[[], None] = lambda: None,
    ) -> None:
        self._stream = stream
        self._before_step = before_step
        self._is_coloured = (
            stream.isatty() and "NO_COLOR" not in os.environ if is_coloured is None else is_coloured
        )
        self._prefixes: dict[str, str] = {}
        self._is_gone = False

    @contextmanager
    def step(self, title: str) -> Iterator[list[str]]:
        """Show a step while it is done; what is appended to the list is shown when it has been."""
        self._before_step()
        facts: list[str] = []
        started = time.monotonic()
        self.say(f"{self._in(DIM, '...')} {title}")
        yield facts
        seconds = time.monotonic() - started
        shown = f": {', '.join(facts)}" if facts else ""
        self.say(f"{self._in(GREEN, 'ok ')} {title}{shown} {self._in(DIM, f'({seconds:.1f} s)')}")

    def say(self, text: str) -> None:
        """Write one line."""
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except ValueError:
            return
        except OSError:
            self._is_gone = True
            # The terminal is gone, and the stop that follows must still be orderly: what Python holds back
            # for it goes nowhere, instead of failing once more at the very end.
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), self._stream.fileno())

    def is_gone(self) -> bool:
        """Tell whether nobody reads any more: the terminal was closed, or a pipe's reader ended."""
        try:
            descriptor = self._stream.fileno()
        except (OSError, ValueError):
            return self._stream.closed
        poll = select.poll()
        poll.register(descriptor, 0)
        return self._is_gone or any(
            events & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, events in poll.poll(0)
        )

    def warn(self, text: str) -> None:
        """Write a line that somebody has to notice."""
        self.say(f"{self._in(BOLD + RED, '!! ')} {text}")

    def line_of(self, name: str, line: str) -> None:
        """Write a line of a child behind its name."""
        if name not in self._prefixes:
            colour = COLOURS[len(self._prefixes) % len(COLOURS)]
            self._prefixes[name] = self._in(colour, f"{name:<{PREFIX_WIDTH}}|")
        if shown := CONTROL.sub("", line).rstrip():
            self.say(f"{self._prefixes[name]} {shown}")

    def block(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write the block that tells where everything is."""
        width = max(len(label) for label, _ in rows)
        rule = self._in(DIM, "-" * 78)
        body = [f"  {label:<{width}}  {self._in(BOLD, value)}" for label, value in rows]
        self.say("\n".join(["", rule, *body, rule, ""]))

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{text}{RESET}" if self._is_coloured else text
