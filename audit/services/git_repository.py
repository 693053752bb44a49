"""Asking a repository's git for commits and branches, and bringing remote ones here.

A URL and a revision come from people: neither ever reaches git where git would read it as an option, and
no transport but the allowed ones is spoken.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings

from audit.errors import RepositoryNotUsableError, RevisionUnknownError
from audit.models import Repository, RepositoryKind

ALLOWED_SCHEMES = ("https", "ssh", "file")
COMMAND_TIMEOUT_SECONDS = 60
TRANSFER_TIMEOUT_SECONDS = 1800
_OPTIONS = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_SHORT = "--format=%(refname:short)"
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK")
_FIELDS = "%H%x00%P%x00%cI%x00%an%x00%s"


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """What git says about a commit."""

    object_id: str
    parent_ids: tuple[str, ...]
    committed_at: datetime
    author_name: str
    subject: str


def git_dir_of(repository: Repository) -> Path:
    """Tell where the repository's objects are on this machine."""
    if repository.kind == RepositoryKind.GIT_URL:
        return Path(settings.REPOSITORIES_DIR) / f"{repository.pk}.git"
    return git_dir_in(Path(repository.location))


def git_dir_in(folder: Path) -> Path:
    """Return the git directory of a folder that is the top of a work tree, or a bare repository itself."""
    inner = folder / ".git"
    return inner if inner.exists() else folder


def is_git_repository(folder: Path) -> bool:
    """Whether the folder itself is a repository; one that merely lies inside another is not."""
    if (folder / ".git").exists():
        return True
    return all((folder / name).exists() for name in ("HEAD", "objects", "refs"))


def commit_resolve(*, git_dir: Path, revision: str) -> CommitInfo:
    """Look up a branch, tag or commit id; an empty revision is the default branch."""
    wanted = revision or default_branch(git_dir=git_dir)
    found = _git(git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{wanted}^{{commit}}")
    object_id = found.stdout.strip()
    if found.returncode or not object_id:
        raise RevisionUnknownError(
            f"The repository has no revision `{wanted}`. Give a branch, a tag or a commit id that it holds."
        )
    # A repository's own configuration can ask for signatures, and name the program that checks them.
    shown = _git(git_dir, "log", "-1", "--no-show-signature", f"--format={_FIELDS}", object_id)
    if shown.returncode:
        raise RepositoryNotUsableError(f"git can't read commit `{object_id[:12]}`: {_complaint(shown)}")
    full_id, parents, committed_at, author_name, subject = shown.stdout.rstrip("\n").split("\0", 4)
    when = datetime.fromisoformat(committed_at)
    return CommitInfo(full_id, tuple(parents.split()), when, author_name[:200], subject[:500])


def default_branch(*, git_dir: Path) -> str:
    """Name the branch that HEAD points to, or the first one where HEAD points nowhere."""
    head = _git(git_dir, "symbolic-ref", "--quiet", "--short", "HEAD").stdout.strip()
    if head and _exists(git_dir, f"refs/heads/{head}"):
        return head
    first = _git(git_dir, "for-each-ref", "--count=1", _SHORT, "refs/heads").stdout.strip()
    if first:
        return first
    if _exists(git_dir, "HEAD^{commit}"):
        return "HEAD"
    raise RepositoryNotUsableError("The repository has no commit yet. Commit something, then try again.")


def branch_of(*, git_dir: Path, revision: str, object_id: str) -> str:
    """Name the branch on which a commit counts: the named one, the default one, or one that holds it."""
    default = default_branch(git_dir=git_dir)
    if not revision or revision == default:
        return default
    if _exists(git_dir, f"refs/heads/{revision}"):
        return revision
    if is_ancestor(git_dir=git_dir, object_id=object_id, of=default):
        return default
    holding = _git(git_dir, "for-each-ref", "--count=1", _SHORT, f"--contains={object_id}", "refs/heads")
    return holding.stdout.strip() or "(detached)"


def is_ancestor(*, git_dir: Path, object_id: str, of: str) -> bool:
    """Whether one commit is another, or came before it."""
    return _git(git_dir, "merge-base", "--is-ancestor", "--end-of-options", object_id, of).returncode == 0


def is_tip(*, git_dir: Path, object_id: str, branch: str) -> bool:
    """Whether a branch stands at this commit now."""
    found = _git(git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", f"refs/heads/{branch}")
    return found.stdout.strip() == object_id


def depth_of(*, git_dir: Path, object_id: str) -> int:
    """Count the commits up to this one, along first parents; 0 where git can't tell."""
    counted = _git(git_dir, "rev-list", "--count", "--first-parent", "--end-of-options", object_id)
    return int(counted.stdout) if counted.returncode == 0 else 0


def blobs_read(*, git_dir: Path, blob_ids: Sequence[str]) -> dict[str, bytes]:
    """Read objects by id; those that the repository does not hold are left out."""
    if not blob_ids or not git_dir.exists():
        return {}
    asked = "".join(f"{blob_id}\n" for blob_id in blob_ids)
    try:
        done = subprocess.run(
            ("git", *_OPTIONS, "--git-dir", str(git_dir), "cat-file", "--batch"),
            env=_environment(protocols=""),
            input=asked.encode(),
            capture_output=True,
            timeout=COMMAND_TIMEOUT_SECONDS,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return {}
    return _parse_batch(done.stdout)


def _parse_batch(output: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    position = 0
    while (end := output.find(b"\n", position)) >= 0:
        header = output[position:end].split()
        position = end + 1
        if len(header) == 3 and header[1] == b"blob":
            size = int(header[2])
            found[header[0].decode()] = output[position : position + size]
            position += size + 1
    return found


def repository_fetch(*, repository: Repository) -> None:
    """Bring the repository's origin here: clone it the first time, fetch it after that."""
    git_dir = git_dir_of(repository)
    try:
        git_dir.parent.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(git_dir):
            done = _fetch(git_dir, repository.location)
    except OSError as error:
        raise RepositoryNotUsableError(
            f"`{error.filename or git_dir.parent}` can't be written: {error.strerror}. Clones lie there: "
            "make room, give the worker the right to write, or set REPOSITORIES_DIR to another folder."
        ) from error
    if done.returncode:
        raise RepositoryNotUsableError(
            f"git can't fetch `{repository.location}`: {_complaint(done)}. Check the address, and that this "
            "machine may reach and read it."
        )


@contextmanager
def _one_at_a_time(git_dir: Path) -> Iterator[None]:
    """Let two workers bring the same repository one after the other; git itself refuses the second."""
    with git_dir.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(git_dir: Path, location: str) -> subprocess.CompletedProcess[str]:
    # Clones are named by number: one that an earlier database left may be of another repository.
    if _git(git_dir, "config", "--local", "--get", "remote.origin.url").stdout.rstrip("\n") == location:
        return _transfer(
            "--git-dir", str(git_dir), "fetch", "--prune", "--no-auto-gc", "--no-write-fetch-head",
            "--", "origin", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*",
        )  # fmt: skip
    # Cloned beside its place and moved there whole: a worker that dies leaves nothing half-made.
    unfinished = git_dir.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    done = _transfer("clone", "--bare", "--quiet", "--", location, str(unfinished))
    if done.returncode == 0:
        shutil.rmtree(git_dir, ignore_errors=True)
        unfinished.rename(git_dir)
    else:
        shutil.rmtree(unfinished, ignore_errors=True)
    return done


def _exists(git_dir: Path, name: str) -> bool:
    return _git(git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name).returncode == 0


def _git(git_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(("--git-dir", str(git_dir), *arguments), protocols="", timeout=COMMAND_TIMEOUT_SECONDS)


def _transfer(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(arguments, protocols=":".join(ALLOWED_SCHEMES), timeout=TRANSFER_TIMEOUT_SECONDS)


def _run(arguments: tuple[str, ...], *, protocols: str, timeout: int) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ("git", *_OPTIONS, *arguments),
            env=_environment(protocols=protocols),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise RepositoryNotUsableError("git was not found on PATH. Install git, then try again.") from error
    except subprocess.TimeoutExpired as error:
        raise RepositoryNotUsableError(f"git gave no answer within {timeout} s. Try again later.") from error


def _environment(*, protocols: str) -> dict[str, str]:
    return {
        **{name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        "LC_ALL": "C",
        "GIT_ALLOW_PROTOCOL": protocols,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20",
    }


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.strip().splitlines() if not line.startswith("Cloning into")]
    text = lines[0] if lines else f"it ended with status {done.returncode}"
    return text.removeprefix("fatal: ").removeprefix("error: ").rstrip(".")
