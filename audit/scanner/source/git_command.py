"""Running git on a repository nobody vouches for: no network, no hooks, no foreign configuration."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, NamedTuple, Self, cast

from audit.scanner.errors import ScanError

if TYPE_CHECKING:
    from subprocess import Popen

COMMAND_TIMEOUT_SECONDS = 120.0
STALL_TIMEOUT_SECONDS = 120.0
_OPTIONS = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_KEPT_VARIABLES = ("PATH", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH")
_REQUESTS_AHEAD = 256


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment git runs in: nothing of the caller's git settings, and no way to the network.

    A partial clone would fetch an absent object, and a fetch runs what the repository's configuration says.
    `GIT_NO_LAZY_FETCH` stops that from git 2.45 on; an empty `GIT_ALLOW_PROTOCOL` stops every version.
    """
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {
        **kept,
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        **(extra or {}),
    }


class GitAnswer(NamedTuple):
    """What a git command said. `error` is its first line of complaint."""

    succeeded: bool
    output: bytes
    error: str

    @property
    def text(self) -> str:
        """The output as one line."""
        return self.output.decode(errors="backslashreplace").strip()


def run_git(
    *arguments: str,
    extra_environment: Mapping[str, str] | None = None,
    timeout: float = COMMAND_TIMEOUT_SECONDS,
) -> GitAnswer:
    """Run a git command to its end."""
    # Takes long to load, and a folder is read without git.
    import subprocess

    try:
        done = subprocess.run(
            ("git", *_OPTIONS, *arguments),
            env=environment(extra_environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise git_absent() from error
    except subprocess.TimeoutExpired as error:
        raise ScanError(
            f"git {_subcommand(arguments)} gave no answer in {timeout:.0f} s: is the repository on a slow or "
            "dead file system? Copy it to a local disk and scan the copy."
        ) from error
    return GitAnswer(done.returncode == 0, done.stdout, first_line(done.stderr))


def git_absent() -> ScanError:
    """Say that git can't be run."""
    return ScanError("git was not found on PATH: install git, or scan a folder without --rev.")


def first_line(complaint: bytes) -> str:
    """Return the first error that git wrote to its error stream, or its first line."""
    lines = complaint.decode(errors="backslashreplace").strip().splitlines()
    errors = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines
    return errors[0].removeprefix("fatal: ").removeprefix("error: ") if errors else ""


def _subcommand(arguments: tuple[str, ...]) -> str:
    return next((word for word in arguments if not word.startswith("-")), "")


class BatchObject(NamedTuple):
    """One answer of `git cat-file`. `data` is empty when only the header was asked for."""

    object_id: str
    kind: str
    size_bytes: int
    data: bytes = b""
    failure: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether the repository does not hold the object."""
        return self.kind == "missing"


class ObjectReader:
    """Reads objects through one `git cat-file`; a context manager.

    A damaged object ends git: the process is started again for the objects that follow. One that gives no
    answer for `STALL_TIMEOUT_SECONDS` is killed.
    """

    def __init__(self, repository: Path, extra_environment: Mapping[str, str], *, headers_only: bool) -> None:
        mode = "--batch-check" if headers_only else "--batch"
        # A folder is read without it.
        from tempfile import TemporaryFile

        self._command = ("git", *_OPTIONS, "-C", str(repository), "cat-file", mode)
        self._environment = environment(extra_environment)
        self._headers_only = headers_only
        self._process: Popen[bytes] | None = None
        # A file, not a pipe: nobody reads complaints until git has ended, and a full pipe would stop it.
        self._complaints = TemporaryFile()  # noqa: SIM115
        self._waiting_since: float | None = None
        self._stalled = False
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._stop()
        self._complaints.close()

    def read(self, object_ids: Iterable[str]) -> Iterator[BatchObject]:
        """Yield one answer per id, in order.

        A bounded number of requests is written ahead, few enough to fit into the pipe: neither side ever
        waits for the other.
        """
        waiting: deque[str] = deque()
        ids = iter(object_ids)
        while True:
            ahead = list(islice(ids, _REQUESTS_AHEAD - len(waiting)))
            waiting.extend(ahead)
            if not waiting:
                return
            self._send(ahead)
            answer = self._receive(waiting.popleft())
            if answer.failure:
                self._stop()
                self._send(waiting)
            yield answer

    def _send(self, object_ids: Iterable[str]) -> None:
        stream = cast("IO[bytes]", self._running().stdin)
        try:
            stream.write(b"".join(object_id.encode() + b"\n" for object_id in object_ids))
            stream.flush()
        except BrokenPipeError:
            return  # git has ended: the next answer says so

    def _receive(self, object_id: str) -> BatchObject:
        stream = cast("IO[bytes]", self._running().stdout)
        self._waiting_since = time.monotonic()
        try:
            header = stream.readline().split()
            if len(header) == 2 and header[1] == b"missing":
                return BatchObject(object_id, "missing", 0)
            if len(header) != 3:
                return self._failed(object_id)
            kind, size_bytes = header[1].decode(), int(header[2])
            if self._headers_only:
                return BatchObject(object_id, kind, size_bytes)
            data = stream.read(size_bytes + 1)
        finally:
            self._waiting_since = None
        if len(data) != size_bytes + 1:
            return self._failed(object_id)
        return BatchObject(object_id, kind, size_bytes, data[:-1])

    def _failed(self, object_id: str) -> BatchObject:
        if self._stalled:
            self._stalled = False
            reason = f"git gave no answer in {STALL_TIMEOUT_SECONDS:.0f} s"
        else:
            self._running().wait()
            self._complaints.seek(0)
            reason = f"git: {first_line(self._complaints.read()) or 'ended without an answer'}"
        return BatchObject(object_id, "failed", 0, failure=reason)

    def _running(self) -> Popen[bytes]:
        if self._process is None:
            import subprocess

            self._complaints.seek(0)
            self._complaints.truncate()
            try:
                self._process = subprocess.Popen(
                    self._command,
                    env=self._environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._complaints,
                )
            except FileNotFoundError as error:
                raise git_absent() from error
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            _close(cast("IO[bytes]", stream))
        process.wait()

    def _watch(self) -> None:
        while not self._closed.wait(1.0):
            process, since = self._process, self._waiting_since
            if process and since is not None and time.monotonic() - since > STALL_TIMEOUT_SECONDS:
                self._stalled = True
                process.kill()


def _close(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except BrokenPipeError:
        return  # requests that a killed git never took
