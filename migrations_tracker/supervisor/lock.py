"""One supervisor per clone."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from migrations_tracker.supervisor.errors import SupervisorError


@contextmanager
def only_one(file: Path) -> Iterator[None]:
    """Hold the lock of a clone; say who has it when somebody else does."""
    with file.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise SupervisorError(
                f"Ferroaudit runs in this folder already (process {holder}). "
                "Stop it there with Ctrl-C, or use another clone for a second one."
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
