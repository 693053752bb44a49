"""The commits of a branch, oldest first, and which of them change what a scan reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from audit.errors import AuditError
from audit.models import Commit, Repository
from audit.scanner.source.selection import is_wanted, printable
from audit.services.git_repository import CommitInfo, history_read

_SPECIAL_MODES = frozenset({"120000", "160000"})


@dataclass(frozen=True, slots=True)
class PlannedCommit:
    """A commit of a branch.

    `depth` counts the commits up to it along first parents; `is_on_line` says that the branch itself stood
    at it, where the others came in by a merge.
    """

    info: CommitInfo
    depth: int
    is_on_line: bool
    is_same_tree: bool

    @property
    def first_parent(self) -> str:
        """The commit it is held against, empty for the first one."""
        return self.info.parent_ids[0] if self.info.parent_ids else ""


def commits_planned(*, git_dir: Path, tip: str, since: str | datetime = "") -> list[PlannedCommit]:
    """List the commits of a branch in an order in which parents come before their children.

    `since` is a commit, from which on they are listed, or a moment with its time zone.

    Raises AuditError where that commit is not in the branch's history.
    """
    entries = list(_entries(history_read(git_dir=git_dir, tip=tip)))
    parents = {info.object_id: info.parent_ids for info, _ in entries}
    line = _line(tip, parents)
    depths: dict[str, int] = {}
    planned = []
    for info, is_same_tree in entries:
        first = info.parent_ids[0] if info.parent_ids else ""
        depths[info.object_id] = depths.get(first, 0) + 1
        planned.append(
            PlannedCommit(info, depths[info.object_id], info.object_id in line, bool(first) and is_same_tree)
        )
    before = _before(since, parents, planned)
    return [one for one in planned if one.info.object_id not in before]


def _line(tip: str, parents: dict[str, tuple[str, ...]]) -> frozenset[str]:
    line = []
    at = tip
    while at in parents:
        line.append(at)
        at = parents[at][0] if parents[at] else ""
    return frozenset(line)


def _before(
    since: str | datetime, parents: dict[str, tuple[str, ...]], planned: list[PlannedCommit]
) -> set[str]:
    """Return the commits that lie before a commit or a moment."""
    if isinstance(since, datetime):
        return {one.info.object_id for one in planned if one.info.committed_at < since}
    if not since:
        return set()
    if since not in parents:
        raise AuditError(f"The branch has no commit {since[:12]} in its history.")
    reached: set[str] = set()
    waiting = list(parents[since])
    while waiting:
        commit_id = waiting.pop()
        if commit_id not in reached:
            reached.add(commit_id)
            waiting += parents.get(commit_id, ())
    return reached


def _entries(text: str) -> Iterator[tuple[CommitInfo, bool]]:
    for entry in text.split("\x01")[1:]:
        head, _, changes = entry.partition("\x02")
        object_id, parent_ids, committed_at, author_name, subject = head.split("\0", 4)
        info = CommitInfo(
            object_id,
            tuple(parent_ids.split()),
            datetime.fromisoformat(committed_at),
            author_name[:200],
            subject[:500],
        )
        yield info, not any(_is_read(line) for line in changes.split("\n") if line.startswith(":"))


def _is_read(line: str) -> bool:
    """Say whether a scan looks at what changed: a file it reads, or a link or submodule of any name."""
    old_mode, new_mode, *_ = line[1:].split(" ")
    if _SPECIAL_MODES & {old_mode, new_mode}:
        return True
    path = line.partition("\t")[2]
    return path.startswith('"') or is_wanted(printable(path.encode())[0])


def commits_note(*, repository: Repository, planned: list[PlannedCommit]) -> dict[str, Commit]:
    """Keep what git says of commits, once; return them by their ids."""
    Commit.objects.bulk_create(
        (
            Commit(
                repository=repository,
                object_id=one.info.object_id,
                subject=one.info.subject,
                author_name=one.info.author_name,
                committed_at=one.info.committed_at,
                parent_ids=list(one.info.parent_ids),
            )
            for one in planned
        ),
        ignore_conflicts=True,
        batch_size=1000,
    )
    wanted = [one.info.object_id for one in planned]
    found = Commit.objects.filter(repository=repository, object_id__in=wanted)
    return {commit.object_id: commit for commit in found}
