"""Finding a git repository on disk, and what a revision in it means."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from audit.scanner.errors import ScanError
from audit.scanner.source.git_command import GitAnswer, run_git

_SCP_LIKE = re.compile(r"(?:(?P<user>[^@/:]+)@)?(?P<host>[^/:]+):(?!//)(?P<path>.+)")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_COMMITTER = re.compile(rb"^committer .*> (\d+) [+-]\d{4}$", re.MULTILINE)
_BRANCHES_SHOWN = 5


class Repository(NamedTuple):
    """A repository on disk.

    `git_dir` is the one of the work tree, `common_dir` the one that holds objects and references (another
    one for linked work trees); `work_tree` is None for a bare repository.
    """

    git_dir: Path
    common_dir: Path
    work_tree: Path | None

    @property
    def objects_dir(self) -> Path:
        """The folder of the object database."""
        return self.common_dir / "objects"


class CommitInfo(NamedTuple):
    """A commit that a revision names, with the branch when it names one."""

    commit_id: str
    branch: str
    committed_at: datetime | None


def find_repository(path: Path) -> Repository | None:
    """Find the repository in whose work tree the path lies."""
    for folder in (path, *path.parents):
        git_dir = _git_dir_of_work_tree(folder)
        if git_dir is not None:
            return Repository(git_dir, _common_dir(git_dir), folder)
    return None


def is_git_dir(path: Path) -> bool:
    """Tell whether the folder itself is git's: a bare repository, or the `.git` of a work tree."""
    head = path / "HEAD"
    return (head.is_file() or head.is_symlink()) and (path / "objects").is_dir() and (path / "refs").is_dir()


def repository_of_git_dir(git_dir: Path) -> Repository:
    """Return the repository that a git directory is, with the work tree beside it, if any."""
    work_tree = git_dir.parent if git_dir.name == ".git" else None
    return Repository(git_dir, _common_dir(git_dir), work_tree)


def resolve_commit(repository: Repository, revision: str) -> CommitInfo:
    """Find the commit that a revision names, `HEAD` when the revision is empty."""
    name = revision or "HEAD"
    if name.startswith("-") or any(ord(character) < 32 for character in name):
        raise ScanError(f"--rev {name!r} is no revision: give a branch, a tag or a commit id.")
    answer = _git(repository, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    if not (answer.succeeded and _OBJECT_ID.fullmatch(answer.text)):
        raise _unknown_revision(repository, revision, answer)
    commit_id = answer.text
    return CommitInfo(commit_id, _branch_of(repository, name), _committed_at(repository, commit_id))


def current_branch(repository: Repository) -> str:
    """Return the branch that is checked out, or nothing when none is."""
    answer = _git(repository, "symbolic-ref", "--quiet", "--short", "HEAD")
    return answer.text if answer.succeeded else ""


def origin_uri(repository: Repository) -> str:
    """Return the URL of the remote `origin` as a URI without credentials, or nothing."""
    config = repository.common_dir / "config"
    answer = run_git("config", "--no-includes", "--file", str(config), "--get", "remote.origin.url")
    return public_uri(answer.text) if answer.succeeded else ""


def public_uri(url: str) -> str:
    """Return a remote's URL as a URI that may be shown: no user of a web address, no password, no query."""
    scp_like = _SCP_LIKE.fullmatch(url)
    if scp_like and "://" not in url:
        return f"ssh://{scp_like['host']}/{quote(scp_like['path'].lstrip('/'))}"
    if "://" not in url:
        return Path(url).absolute().as_uri() if url.startswith("/") else quote(url)
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, quote(parts.path, safe="/%~"), "", ""))


def _git(repository: Repository, *arguments: str) -> GitAnswer:
    return run_git(f"--git-dir={repository.git_dir}", *arguments)


def _git_dir_of_work_tree(folder: Path) -> Path | None:
    dot_git = folder / ".git"
    if dot_git.is_dir():
        return dot_git if (dot_git / "HEAD").exists() else None
    if not dot_git.is_file():
        return None
    first, _, target = dot_git.read_text(errors="replace").strip().partition(":")
    if first != "gitdir":
        return None
    git_dir = (folder / target.strip()).resolve()
    if not (git_dir / "HEAD").exists():
        raise ScanError(
            f"{dot_git} points to {git_dir}, which is no git directory: run `git worktree repair`."
        )
    return git_dir


def _common_dir(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    return (git_dir / pointer.read_text(errors="replace").strip()).resolve()


def _branch_of(repository: Repository, name: str) -> str:
    answer = _git(repository, "rev-parse", "--verify", "--symbolic-full-name", "--end-of-options", name)
    reference = answer.text.splitlines()[-1] if answer.succeeded and answer.text else ""
    for prefix in (r"refs/heads/", r"refs/remotes/[^/]+/"):
        found = re.match(prefix, reference)
        if found:
            return reference[found.end() :]
    return ""


def _committed_at(repository: Repository, commit_id: str) -> datetime | None:
    answer = _git(repository, "cat-file", "commit", commit_id)
    committer = _COMMITTER.search(answer.output.partition(b"\n\n")[0])
    if not answer.succeeded or not committer:
        raise ScanError(
            f"Commit {commit_id} can't be read: {answer.error}. Run `git fsck` in the repository."
        )
    try:
        return datetime.fromtimestamp(int(committer[1]), UTC)
    except (OverflowError, ValueError, OSError):
        return None  # a time no calendar holds, written by a broken tool


def _unknown_revision(repository: Repository, revision: str, answer: GitAnswer) -> ScanError:
    where = repository.work_tree or repository.git_dir
    branches = _branches(repository)
    if not branches and not _git(repository, "rev-parse", "--verify", "--quiet", "HEAD").succeeded:
        if "Needed a single revision" not in answer.error and "unknown revision" not in answer.error:
            return ScanError(f"The repository {where} can't be read: {answer.error}.")
        return ScanError(f"The repository {where} has no commit yet: commit something, then scan it.")
    if not revision:
        return ScanError(f"HEAD of {where} names no commit: say which with --rev, {_one_of(branches)}.")
    import difflib

    advice = f"Did you mean {_one_of(difflib.get_close_matches(revision, branches, 3) or branches)}?"
    if (repository.common_dir / "shallow").exists():
        advice = "The clone is shallow: run `git fetch --unshallow` in it."
    return ScanError(f"The repository {where} knows no commit {revision!r}. {advice}")


def _branches(repository: Repository) -> list[str]:
    answer = _git(
        repository, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes"
    )
    return answer.text.splitlines() if answer.succeeded else []


def _one_of(names: list[str]) -> str:
    shown = ", ".join(names[:_BRANCHES_SHOWN])
    return f"{shown} ..." if len(names) > _BRANCHES_SHOWN else shown or "a commit id"
