"""Processes that work beside the scanner's own.

Nothing of `multiprocessing`: that refuses to work inside a daemonic process, which a Celery worker's is.
Whatever such a process does not deliver, the scanner does itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from audit.scanner.extract.facts import FileFacts
from audit.scanner.extract.serial import FactsFormatError, load_facts
from audit.scanner.extract.worker import read_parts, write_parts

if TYPE_CHECKING:
    from subprocess import Popen

_COMMAND = (sys.executable, "-m", "audit.scanner.extract.worker")
_HEADER_BYTES = 8

Hear = Callable[[], "bytes | None"]


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
    """Does work in a copy of this process; a context manager, at whose end the copy is gone.

    The work answers part by part, and hears what it is told meanwhile, in the order in which it was told.
    Only a process without other threads is copied: a lock that one of them holds would never be free again.
    """

    def __init__(self, work: Callable[[Hear], Iterable[bytes]]) -> None:
        self._process_id = 0
        self._channels = ExitStack()
        if not hasattr(os, "fork") or threading.active_count() > 1:
            return
        try:
            self._told = self._channels.enter_context(_Channel())
            self._answered = self._channels.enter_context(_Channel())
            self._fork(work)
        except OSError:
            # No room for files, or for a process: then there is no copy.
            self._channels.close()
        except BaseException:
            # An interrupt that came while it was made: nobody else could end it.
            self._end()
            raise

    def _fork(self, work: Callable[[Hear], Iterable[bytes]]) -> None:
        # An interrupt between the fork and the copy's own handler would be answered twice.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process_id = os.fork()
            if not self._process_id:
                self._be_the_copy(work, before)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._told.close_reading()
        self._answered.close_writing()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._channels.close()
        if self._process_id:
            # Where nobody waits for processes, the system has done so.
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._process_id, signal.SIGKILL)
                os.waitpid(self._process_id, 0)

    @property
    def is_there(self) -> bool:
        """Whether a copy was made."""
        return bool(self._process_id)

    def tell(self, part: bytes) -> None:
        """Tell the copy something, and wait for nothing; a copy that can't be told comes to an end."""
        if self._process_id:
            try:
                self._told.write(part)
            except OSError:
                self._told.close_writing()

    def answer(self) -> bytes | None:
        """Wait for the next part of what the copy has worked out.

        None when there is no copy, when it came to an end before, or when it has answered all.
        """
        return self._answered.read() if self._process_id else None

    def _be_the_copy(
        self, work: Callable[[Hear], Iterable[bytes]], before: set[int | signal.Signals]
    ) -> None:
        """Work and exit: nothing that was inherited, no handler and no buffer, may run at the end."""
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self._told.close_writing()
            self._answered.close_reading()
            for part in work(self._told.read):
                self._answered.write(part)
        finally:
            os._exit(0)


class _Channel:
    """Carries parts from one process to its copy, or back; a context manager, at whose end it is closed.

    What is written lies in a file without a name, a pipe says how much: who writes never waits for a reader.
    """

    def __init__(self) -> None:
        self._file = _nameless_file()
        self._offset = 0
        try:
            self._reading, self._writing = os.pipe()
        except OSError:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_reading()
        self.close_writing()
        os.close(self._file)

    def close_reading(self) -> None:
        """Let go of the end that reads: where nobody has it, a writer is told so."""
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1

    def close_writing(self) -> None:
        """Let go of the end that writes: where nobody has it, a reader is told so."""
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1

    def write(self, part: bytes) -> None:
        """Write a part; OSError where nobody reads any more, or no room is left."""
        view = memoryview(part)
        while view:
            written = os.pwrite(self._file, view, self._offset)
            self._offset += written
            view = view[written:]
        os.write(self._writing, len(part).to_bytes(_HEADER_BYTES, "little"))

    def read(self) -> bytes | None:
        """Wait for the next part; None where no more comes."""
        header = os.read(self._reading, _HEADER_BYTES)
        if len(header) < _HEADER_BYTES:
            return None
        part = bytearray()
        length = int.from_bytes(header, "little")
        while len(part) < length and (chunk := os.pread(self._file, length - len(part), self._offset)):
            part += chunk
            self._offset += len(chunk)
        return bytes(part) if len(part) == length else None


def _nameless_file() -> int:
    # Not every system has files in memory.
    with suppress(AttributeError, OSError):
        return os.memfd_create("ferroaudit")
    # Takes long to load.
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
