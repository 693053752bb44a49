"""Processes that work beside the scanner's own.

Nothing of `multiprocessing`: that refuses to work inside a daemonic process, which a Celery worker's is.
Whatever such a process does not deliver, the scanner does itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from audit.scanner.extract.facts import FileFacts
from audit.scanner.extract.serial import FactsFormatError, load_facts
from audit.scanner.extract.worker import read_parts, write_parts

if TYPE_CHECKING:
    from subprocess import Popen

_COMMAND = (sys.executable, "-m", "audit.scanner.extract.worker")
# A copy goes on with its work while what it has found out so far waits to be read.
_PIPE_BYTES = 1 << 20


class ExtractingProcess:
    """Extracts the facts of some texts meanwhile; a context manager, at whose end the process is gone.

    Texts and facts go through files without a name: neither side ever waits for the other to read.
    """

    def __init__(self, texts: Sequence[bytes]) -> None:
        self._process: Popen[bytes] | None = None
        self._files = ExitStack()
        # No room for files, or for a process: then there is none.
        with suppress(OSError):
            self._start(texts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._files.close()

    def _start(self, texts: Sequence[bytes]) -> None:
        # Most scans start none, and these two take long to load.
        import subprocess
        import tempfile

        texts_file = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self._facts_file = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        write_parts(texts_file, texts)
        texts_file.seek(0)
        self._process = subprocess.Popen(
            (*_COMMAND, str(os.getpid())),
            stdin=texts_file,
            stdout=self._facts_file,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def facts(self) -> list[FileFacts]:
        """Wait for the facts and return them in the order of the texts; those of the last may be missing."""
        if self._process is None:
            return []
        self._process.wait()
        self._facts_file.seek(0)
        found = []
        for part in read_parts(self._facts_file):
            try:
                found.append(load_facts(part))
            except FactsFormatError:
                break
        return found


class ForkedCopy:
    """Does work in a copy of this process, part by part; a context manager, at whose end the copy is gone.

    Only a process without other threads is copied: a lock that one of them holds would never be free again.
    """

    def __init__(self, work: Callable[[], Iterable[bytes]]) -> None:
        self._process_id = 0
        self._parts: Iterator[bytes] = iter(())
        if not hasattr(os, "fork") or threading.active_count() > 1:
            return
        reading, writing = _pipe()
        # An interrupt between the fork and the copy's own handler would be answered twice.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process_id = os.fork()
            if not self._process_id:
                _work_and_exit(work, writing, before)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writing)
        self._stream = open(reading, "rb")  # noqa: PTH123, SIM115
        self._parts = read_parts(self._stream)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process_id:
            self._stream.close()
            os.kill(self._process_id, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self._process_id, 0)

    def answer(self) -> bytes | None:
        """Wait for the next part of what the copy has worked out.

        None when there is no copy, when it came to an end before, or when it has answered all.
        """
        return next(self._parts, None)


def _pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    # Not every system has pipes of another size, or lets everybody have large ones.
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return reading, writing


def _work_and_exit(
    work: Callable[[], Iterable[bytes]], writing: int, before: set[int | signal.Signals]
) -> None:
    """Be the copy: nothing that it has inherited, no handler and no buffer, may run when it ends."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        with open(writing, "wb") as stream:
            for part in work():
                write_parts(stream, (part,))
                stream.flush()
    finally:
        os._exit(0)
