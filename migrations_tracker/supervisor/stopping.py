"""Signals that end a local run: Ctrl-C, a polite kill, a terminal that goes away."""

from __future__ import annotations

import signal
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequestedError(BaseException):
    """Somebody wants an end; no handler of ordinary errors may swallow that."""


class StopSignals:
    """Turns the first stop signal into an exception, and remembers that another one followed."""

    def __init__(self) -> None:
        self.is_stopping = False
        self.is_hurried = False

    def install(self) -> None:
        """Listen from now on."""
        for number in STOP_SIGNALS:
            signal.signal(number, self._receive)

    def begin_stop(self) -> None:
        """Let the stop run undisturbed: from now on a signal only makes it faster."""
        self.is_stopping = True

    def check(self) -> None:
        """Raise once more what a stop signal raised, should something have swallowed it.

        Raises StopRequestedError where a signal came. Python drops an exception that is raised while it
        frees an object, and some libraries answer every exception with one of their own.
        """
        if self.is_stopping:
            raise StopRequestedError

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.is_stopping:
            # `make` passes a signal on that the terminal has sent to everybody already: only Ctrl-C hurries.
            self.is_hurried = self.is_hurried or number == signal.SIGINT
            return
        self.is_stopping = True
        raise StopRequestedError(signal.Signals(number).name)
