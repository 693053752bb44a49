"""Bringing a repository's origin here: a limited time, a limited size, never the last of the disk."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings

from audit.errors import RepositoryNotUsableError
from audit.models import Repository
from audit.services.addresses import location_allow, schemes_allowed
from audit.services.credentials import GitAccess, access_for
from audit.services.git_repository import GIT_OPTIONS, complaint_of, git_dir_of, git_environment, git_run

LOOK_EVERY_SECONDS = 0.25
HEAD_TIMEOUT_SECONDS = 60
MEBIBYTE = 1024 * 1024


def _always() -> None:
    """Let a transfer go on."""


@dataclass(frozen=True, slots=True)
class _Transfer:
    """What every command of one transfer shares. `go_on` raises where nobody waits for it any more."""

    location: str
    access: GitAccess
    deadline: float
    go_on: Callable[[], None]

    def run(self, *arguments: str, into: Path) -> None:
        """Run a git command that writes into a folder, or raise with what was wrong."""
        self._check(into)
        with (
            tempfile.TemporaryFile() as complaints,
            _killed_at_the_end(self._start(arguments, complaints)) as git,
        ):
            while True:
                try:
                    status = git.wait(LOOK_EVERY_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    self._check(into)
            complaints.seek(0)
            text = complaints.read().decode(errors="replace")
        # What came in the last moment counts too.
        self._check_size(into)
        if status:
            raise RepositoryNotUsableError(
                f"git can't fetch `{self.location}`: {self.access.redacted(complaint_of(text, status))}. "
                "Check the address, and that this machine may reach and read it."
            )

    def _start(self, arguments: tuple[str, ...], complaints: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                ("git", *GIT_OPTIONS, *self.options(), *arguments),
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise RepositoryNotUsableError(
                "git was not found on PATH. Install git, then try again."
            ) from error

    def options(self) -> tuple[str, ...]:
        """Return what git is told about the origin before its command."""
        # Where hosts are chosen by the administrator, a host must not send git on to another.
        redirects = ("-c", "http.followRedirects=false") if settings.REPOSITORY_HOSTS else ()
        return (*redirects, *self.access.options)

    def environment(self) -> dict[str, str]:
        """Return the environment of a command that speaks to the origin."""
        return git_environment(protocols=":".join(schemes_allowed())) | self.access.environment

    def _check(self, into: Path) -> None:
        self.go_on()
        if time.monotonic() > self.deadline:
            raise RepositoryNotUsableError(
                f"`{self.location}` was not here after {settings.FETCH_TIMEOUT_SECONDS} s. Ask again, or set "
                "FETCH_TIMEOUT_SECONDS to more."
            )
        self._check_size(into)
        free = shutil.disk_usage(_existing(into)).free
        if free < settings.FETCH_KEEP_FREE_MB * MEBIBYTE:
            raise RepositoryNotUsableError(
                f"The disk with `{into.parent}` has {free // MEBIBYTE} MB left, less than the "
                f"{settings.FETCH_KEEP_FREE_MB} MB that stay free. Make room, or change FETCH_KEEP_FREE_MB."
            )

    def _check_size(self, into: Path) -> None:
        if _size_of(into) > settings.FETCH_MAX_MB * MEBIBYTE:
            raise RepositoryNotUsableError(
                f"`{self.location}` is larger than {settings.FETCH_MAX_MB} MB. Where it may be, set "
                "FETCH_MAX_MB to more."
            )


def repository_fetch(*, repository: Repository, go_on: Callable[[], None] = _always) -> None:
    """Bring the repository's origin here: clone it the first time, fetch it after that.

    `go_on` is asked several times a second; what it raises ends the transfer.
    """
    location_allow(repository.location)
    git_dir = git_dir_of(repository)
    access = access_for(reference=repository.credentials, location=repository.location)
    deadline = time.monotonic() + settings.FETCH_TIMEOUT_SECONDS
    transfer = _Transfer(repository.location, access, deadline, go_on)
    try:
        git_dir.parent.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(git_dir):
            _bring(transfer, git_dir)
            _follow_head(transfer, git_dir)
    except OSError as error:
        raise RepositoryNotUsableError(
            f"`{error.filename or git_dir.parent}` can't be written: {error.strerror}. Clones lie there: "
            "make room, give the worker the right to write, or set REPOSITORIES_DIR to another folder."
        ) from error


def pull_request_fetch(*, repository: Repository, number: int, go_on: Callable[[], None] = _always) -> None:
    """Bring the head of a pull request here, which may come from a fork: no branch of the origin has it.

    GitHub, Gitea and Forgejo keep it under the same name.
    """
    location_allow(repository.location)
    git_dir = git_dir_of(repository)
    access = access_for(reference=repository.credentials, location=repository.location)
    deadline = time.monotonic() + settings.FETCH_TIMEOUT_SECONDS
    transfer = _Transfer(repository.location, access, deadline, go_on)
    name = f"refs/pull/{number}/head"
    with _one_at_a_time(git_dir):
        transfer.run(
            "--git-dir", str(git_dir), "fetch", "--no-auto-gc", "--no-write-fetch-head",
            "--", "origin", f"+{name}:{name}",
            into=git_dir,
        )  # fmt: skip


def _bring(transfer: _Transfer, git_dir: Path) -> None:
    # Clones are named by number: one that an earlier database left may be of another repository.
    known = git_run(git_dir, "config", "--local", "--get", "remote.origin.url").stdout.rstrip("\n")
    if known == transfer.location:
        try:
            transfer.run(
                "--git-dir", str(git_dir), "fetch", "--prune", "--no-auto-gc", "--no-write-fetch-head",
                "--", "origin", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*",
                into=git_dir,
            )  # fmt: skip
        finally:
            # A transfer that was broken off leaves what came so far.
            for left in (git_dir / "objects" / "pack").glob("tmp_*"):
                left.unlink(missing_ok=True)
        return
    # Cloned beside its place and moved there whole: a worker that dies leaves nothing half-made.
    unfinished = git_dir.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        transfer.run("clone", "--bare", "--quiet", "--", transfer.location, str(unfinished), into=unfinished)
        shutil.rmtree(git_dir, ignore_errors=True)
        unfinished.rename(git_dir)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _follow_head(transfer: _Transfer, git_dir: Path) -> None:
    """Let HEAD name the origin's default branch; a fetch leaves it as it was at the first clone."""
    command = ("--git-dir", str(git_dir), "ls-remote", "--symref", "--", "origin", "HEAD")
    try:
        done = subprocess.run(
            ("git", *GIT_OPTIONS, *transfer.options(), *command),
            env=transfer.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=HEAD_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        # The commits are here: the next fetch asks again.
        return
    first = done.stdout.split("\n", 1)[0]
    name = first.removeprefix("ref: ").split("\t")[0]
    if done.returncode or not first.startswith("ref: refs/heads/"):
        return
    if git_run(git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name).returncode == 0:
        git_run(git_dir, "symbolic-ref", "HEAD", name)


@contextmanager
def _one_at_a_time(git_dir: Path) -> Iterator[None]:
    """Let two workers bring the same repository one after the other; git itself refuses the second."""
    with git_dir.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _killed_at_the_end(git: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Leave no git behind, nor the programs that it started."""
    try:
        yield git
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(git.pid, signal.SIGKILL)
        git.wait()


def _size_of(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += (Path(parent) / name).lstat().st_size
    return total


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())
