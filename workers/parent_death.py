"""Processes that end with the one that started them, also when that one is killed without warning."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1


def end_with_parent(death_signal: signal.Signals, *, parent: int | None = None) -> Callable[[], None]:
    """Return a function for the new process to call, so that the kernel signals it when its parent is gone.

    The kernel ties this to the *thread* that starts the process. For a program that is executed, the parent
    makes the function before it forks: loading a library between fork and exec can dead-lock. Made in the new
    process itself, `parent` names the one to end with.
    """
    if sys.platform != "linux":
        return lambda: None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    expected = os.getpid() if parent is None else parent

    def arrange() -> None:
        prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != expected:  # the parent died between fork and prctl
            os._exit(1)

    return arrange
