"""Processes that scan runs of commits beside each other."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Self

from audit.scanner.errors import ScanError
from audit.scanner.line import LineJob, ScannedCommit, line_scan

# Between two collections some 20 MB a commit wait to be freed.
_COMMITS_PER_COLLECTION = 32
_COMMAND = (sys.executable, "-m", "audit.scanner.line_processes")


def lines_scan(jobs: Sequence[LineJob], processes: int) -> Iterator[ScannedCommit]:
    """Scan the commits of all jobs and yield what each gave, in their order.

    Later jobs are scanned while earlier ones are still read: the jobs go round the processes.
    """
    if processes < 2 or len(jobs) < 2:
        yield from line_scan(jobs)
        return
    with ExitStack() as stack:
        workers = [
            stack.enter_context(_LineProcess(jobs[number::processes]))
            for number in range(min(processes, len(jobs)))
        ]
        for number, job in enumerate(jobs):
            for _ in job.commits:
                yield workers[number % len(workers)].answer()


class _LineProcess:
    """One process with the jobs that it is given; it ends with this one, which alone reads what it writes."""

    def __init__(self, jobs: Sequence[LineJob]) -> None:
        self._answers: SimpleQueue[ScannedCommit | None] = SimpleQueue()
        with tempfile.TemporaryFile() as given:
            pickle.dump(list(jobs), given)
            given.seek(0)
            self._process = subprocess.Popen(
                _COMMAND,
                stdin=given,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        # Read at once: a full pipe would hold the process up.
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def answer(self) -> ScannedCommit:
        """Wait for the next commit."""
        answer = self._answers.get()
        if answer is None:
            raise ScanError(
                f"A process that scans commits ended with status {self._process.wait()}. What was scanned is "
                "kept: run it again."
            )
        return answer

    def _read(self) -> None:
        stream = self._process.stdout
        try:
            while stream is not None:
                self._answers.put(pickle.load(stream))  # noqa: S301 -- written by our own process
        except (EOFError, pickle.UnpicklingError):
            self._answers.put(None)


def _work(given: IO[bytes], answers: IO[bytes]) -> None:
    jobs = pickle.load(given)  # noqa: S301 -- written by our own parent
    # Most of what a scan makes lives until the next one: walking it in between finds nothing to free.
    gc.disable()
    for number, scanned in enumerate(line_scan(jobs)):
        pickle.dump(scanned, answers, protocol=pickle.HIGHEST_PROTOCOL)
        # A parent that is gone is noticed here, and ends this process.
        answers.flush()
        if number % _COMMITS_PER_COLLECTION == 0:
            gc.collect()
        if number == 0:
            # The facts of the first commit are most of what there will be, and hold no cycles.
            gc.freeze()


if __name__ == "__main__":
    _work(sys.stdin.buffer, sys.stdout.buffer)
