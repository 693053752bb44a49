"""Asking a repository's git for commits and branches.

A revision comes from people: it never reaches git where git would read it as an option, and git speaks to
nobody.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings

from audit.errors import RepositoryNotUsableError, RevisionUnknownError
from audit.models import Repository, RepositoryKind

COMMAND_TIMEOUT_SECONDS = 60
GIT_OPTIONS = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
# Not `short`: where a tag has the same name, that is `heads/main`.
_SHORT = "--format=%(refname:lstrip=2)"
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
    found = git_run(git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{wanted}^{{commit}}")
    object_id = found.stdout.strip()
    if found.returncode or not object_id:
        raise RevisionUnknownError(
            f"The repository has no revision `{wanted}`. Give a branch, a tag or a commit id that it holds."
        )
    # A repository's own configuration can ask for signatures, and name the program that checks them.
    shown = git_run(git_dir, "log", "-1", "--no-show-signature", f"--format={_FIELDS}", object_id)
    if shown.returncode:
        complaint = complaint_of(shown.stderr, shown.returncode)
        raise RepositoryNotUsableError(f"git can't read commit `{object_id[:12]}`: {complaint}")
    full_id, parents, committed_at, author_name, subject = shown.stdout.rstrip("\n").split("\0", 4)
    when = datetime.fromisoformat(committed_at)
    return CommitInfo(full_id, tuple(parents.split()), when, author_name[:200], subject[:500])


def branch_names(*, git_dir: Path) -> list[str]:
    """List the branches, the default one first."""
    shown = git_run(git_dir, "for-each-ref", _SHORT, "refs/heads").stdout.split()
    first = default_branch(git_dir=git_dir)
    return sorted(shown, key=lambda name: (name != first, name))


def commit_texts(*, git_dir: Path, object_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Read the messages of commits, and what each added to changelogs, against its first parent."""
    asked = "".join(f"{object_id}\n" for object_id in object_ids)
    given = ("--no-walk=unsorted", "--ignore-missing", "--stdin", "--no-show-signature", "--no-color")
    shown = git_run(git_dir, "log", *given, "--format=%x01%H%x00%B", asked=asked).stdout
    added = git_run(
        git_dir,
        "log", *given, "-m", "--first-parent", "--patch", "--unified=0", "--no-renames", "--no-ext-diff",
        "--no-textconv", "--format=%x01%H", "--", ":(icase,glob)**/*changelog*", ":(icase,glob)**/changes*",
        asked=asked,
    ).stdout  # fmt: skip
    logs = {}
    for record in added.split("\1")[1:]:
        object_id, _, patch = record.partition("\n")
        lines = [line[1:] for line in patch.splitlines() if line.startswith("+") and line[:4] != "+++ "]
        logs[object_id.strip()] = "\n".join(lines)
    texts = {}
    for record in shown.split("\1")[1:]:
        object_id, _, message = record.partition("\0")
        texts[object_id] = (message, logs.get(object_id, ""))
    return texts


def common_commit(*, git_dir: Path, base: str, head: str) -> str:
    """Return the newest commit that two have in common, or the first where they have none."""
    found = git_run(git_dir, "merge-base", "--", base, head)
    return found.stdout.strip() if not found.returncode and found.stdout.strip() else base


def default_branch(*, git_dir: Path) -> str:
    """Name the branch that HEAD points to, or the first one where HEAD points nowhere."""
    head = git_run(git_dir, "symbolic-ref", "--quiet", "--short", "HEAD").stdout.strip()
    if head and _exists(git_dir, f"refs/heads/{head}"):
        return head
    first = git_run(git_dir, "for-each-ref", "--count=1", _SHORT, "refs/heads").stdout.strip()
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
    holding = git_run(git_dir, "for-each-ref", "--count=1", _SHORT, f"--contains={object_id}", "refs/heads")
    return holding.stdout.strip() or "(detached)"


def is_ancestor(*, git_dir: Path, object_id: str, of: str) -> bool:
    """Whether one commit is another, or came before it."""
    return git_run(git_dir, "merge-base", "--is-ancestor", "--end-of-options", object_id, of).returncode == 0


def is_tip(*, git_dir: Path, object_id: str, branch: str) -> bool:
    """Whether a branch stands at this commit now."""
    found = git_run(git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", f"refs/heads/{branch}")
    return found.stdout.strip() == object_id


def is_on_a_branch(*, git_dir: Path, object_id: str) -> bool:
    """Whether any branch holds a commit; those of others' pull requests are on none."""
    held = git_run(git_dir, "for-each-ref", "--count=1", _SHORT, f"--contains={object_id}", "refs/heads")
    return bool(held.stdout.strip())


def paths_changed(*, git_dir: Path, object_id: str, since: str = "") -> frozenset[str]:
    """Name the files that a commit changed: against its first parent, or since another commit."""
    commits = (since, object_id) if since else (object_id,)
    asked = ("diff-tree", "--no-commit-id", "--name-only", "--no-renames", "-r", "-z", "--root")
    found = git_run(git_dir, *asked, "--end-of-options", *commits)
    return frozenset(path for path in found.stdout.split("\0") if path)


def depth_of(*, git_dir: Path, object_id: str) -> int:
    """Count the commits up to this one, along first parents; 0 where git can't tell."""
    counted = git_run(git_dir, "rev-list", "--count", "--first-parent", "--end-of-options", object_id)
    return int(counted.stdout) if counted.returncode == 0 else 0


def history_read(*, git_dir: Path, tip: str) -> str:
    """Return the commits up to a tip, parents first, each with what it changed since its first parent.

    An entry begins with character 1 and the fields of a commit; character 2 and the raw lines of the change
    follow.
    """
    shown = git_run(
        git_dir, "log", "--topo-order", "--reverse", "--no-show-signature", "--raw", "--no-abbrev",
        "--no-renames", "--diff-merges=first-parent", "--root", f"--format=%x01{_FIELDS}%x02",
        "--end-of-options", tip,
    )  # fmt: skip
    if shown.returncode:
        raise RepositoryNotUsableError(
            f"git can't list the commits of `{tip}`: {complaint_of(shown.stderr, shown.returncode)}"
        )
    return shown.stdout


def blobs_read(*, git_dir: Path, blob_ids: Sequence[str]) -> dict[str, bytes]:
    """Read objects by id; those that the repository does not hold are left out."""
    if not blob_ids or not git_dir.exists():
        return {}
    asked = "".join(f"{blob_id}\n" for blob_id in blob_ids)
    try:
        done = subprocess.run(
            ("git", *GIT_OPTIONS, "--git-dir", str(git_dir), "cat-file", "--batch"),
            env=git_environment(protocols=""),
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


def _exists(git_dir: Path, name: str) -> bool:
    return git_run(git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name).returncode == 0


def git_run(git_dir: Path, *arguments: str, asked: str = "") -> subprocess.CompletedProcess[str]:
    """Run a git command on a repository that is here, without a way to any other."""
    try:
        return subprocess.run(
            ("git", *GIT_OPTIONS, "--git-dir", str(git_dir), *arguments),
            env=git_environment(protocols=""),
            input=asked,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=COMMAND_TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise RepositoryNotUsableError("git was not found on PATH. Install git, then try again.") from error
    except subprocess.TimeoutExpired as error:
        raise RepositoryNotUsableError(
            f"git gave no answer within {COMMAND_TIMEOUT_SECONDS} s. Try again later."
        ) from error


def git_environment(*, protocols: str) -> dict[str, str]:
    """Return the environment of git: nothing of the caller's settings, and these protocols alone."""
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


def complaint_of(text: str, status: int) -> str:
    """Return the first line that git complained with."""
    lines = [line for line in text.strip().splitlines() if not line.startswith("Cloning into")]
    found = lines[0] if lines else f"it ended with status {status}"
    return found.removeprefix("fatal: ").removeprefix("error: ").rstrip(".")
