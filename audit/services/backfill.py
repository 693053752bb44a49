"""Scanning the history of a branch: every commit, oldest first, with today's rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet

from audit.errors import AuditError
from audit.models import Branch, BranchScan, Repository, RowState, ScanRun
from audit.scanner.line import CommitJob, LineJob, ScannedCommit
from audit.scanner.line_processes import lines_scan
from audit.scanner.pipeline import scanner_version
from audit.scanner.profile import GENERIC_PROFILE, Profile, load_profile
from audit.scanner.profile_choice import FAMILIES
from audit.scanner.ptx.driver import parts_of
from audit.services import git_repository
from audit.services.commit_line import PlannedCommit, commits_note, commits_planned
from audit.services.line_storing import LineWriter
from audit.services.repositories import branch_note

_CHUNK = 32
"""Of each so many commits that follow each other the first one has no scan of its parent to go on from."""

_LOCK_CLASS = 7203
_MOVED = 1_000_000


@dataclass(slots=True)
class BackfillProgress:
    """How far a backfill is: after each commit it is told again."""

    total: int
    done: int = 0
    kept: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    commit: str = ""


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]|$)")
ProgressCallback = Callable[[BackfillProgress], None]


def backfill(
    *,
    repository: Repository,
    branch_name: str = "",
    since: str = "",
    jobs: int = 2,
    progress: ProgressCallback,
    after_settling: Callable[[ScanRun, Branch, Sequence[int]], None],
) -> BackfillProgress:
    """Scan every commit of a branch that today's rules have not judged, and write the branch's history.

    Each commit is stored in a transaction of its own: a run that was killed goes on where it was. A commit
    that can't be scanned stays a gap, with its reason; one without results is recorded with none. At the end
    the branch's states are those of its newest scan; `after_settling` is told of it, in that transaction,
    with the sites that the branch had not known.
    """
    git_dir = git_repository.git_dir_of(repository)
    if not repository.has_revisions:
        raise AuditError(f"`{repository.location}` is a plain folder: it has no history to scan.")
    default = git_repository.default_branch(git_dir=git_dir)
    name = branch_name or default
    tip = git_repository.commit_resolve(git_dir=git_dir, revision=name).object_id
    planned = commits_planned(git_dir=git_dir, tip=tip, since=_commit_or_moment(git_dir, since))
    branch = branch_note(repository=repository, name=name, is_default=name == default)
    with _one_at_a_time(repository):
        commits = commits_note(repository=repository, planned=planned)
        line = {commits[one.info.object_id].pk: one.depth for one in planned if one.is_on_line}
        _forget_other_lines(branch, line)
        writer = LineWriter(repository=repository, branch=branch, commits=commits)
        state = BackfillProgress(len(planned), failed=_gaps(repository, writer.assembler_version))
        missing = _missing(repository, branch, planned, state.failed, writer)
        state.done = len(planned) - len(missing)
        state.kept = state.done - sum(one.info.object_id in state.failed for one in planned)
        progress(state)
        for one, scanned in _scanned(repository, git_dir, missing, jobs):
            state.commit = one.info.object_id
            writer.store(one, scanned)
            if scanned.report is None:
                state.failed[one.info.object_id] = scanned.failure_reason
            state.done += 1
            progress(state)
        writer.settle(after_settling=after_settling)
    return state


def _commit_or_moment(git_dir: Path, since: str) -> str | datetime:
    """Return the id of the commit that is named, or the moment: a tag may hold hyphens, as a date does."""
    if not _DAY.match(since):
        return since and git_repository.commit_resolve(git_dir=git_dir, revision=since).object_id
    try:
        return datetime.fromisoformat(since).astimezone()
    except ValueError as error:
        raise AuditError(f"`{since}` is no day: write it as 2026-05-01.") from error


@contextmanager
def _one_at_a_time(repository: Repository) -> Iterator[None]:
    keys = [_LOCK_CLASS, repository.pk]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", keys)
        if not cursor.fetchone()[0]:
            raise AuditError("The history of this repository is being scanned already. Wait until that ends.")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", keys)


def _forget_other_lines(branch: Branch, line: Mapping[int, int]) -> None:
    """Leave of a branch's history what is of its commits, each in its place; `line` has their depths.

    What a branch was before it was rewritten is in no line with what it is.
    """
    if not line:
        return
    with transaction.atomic():
        rows = BranchScan.objects.filter(branch=branch)
        places = _places_in_line(rows, line)
        rows.filter(position__gte=min(line.values())).exclude(pk__in=places).delete()
        if all(depth == position for depth, position in places.values()):
            return
        rows.filter(pk__in=places).update(position=F("position") + _MOVED)
        for pk, (depth, _) in sorted(places.items()):
            rows.filter(position=depth).delete()
            rows.filter(pk=pk).update(position=depth)


def _places_in_line(rows: QuerySet[BranchScan], line: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """Return the depths and positions of the rows that count from a commit further down the line.

    Where a branch was put back, or another judge scanned its commit, a row tells the change from there.
    """
    places: dict[int, tuple[int, int]] = {}
    columns = ("pk", "scan_run__commit_id", "position", "previous", "previous__position")
    for pk, commit_id, position, previous, position_before in rows.order_by("position").values_list(*columns):
        if commit_id not in line:
            continue
        is_behind = previous is not None and position_before < min(line.values())
        if previous in places:
            is_behind = places[previous][0] < line[commit_id]
        if previous is None or is_behind:
            places[pk] = (line[commit_id], position)
    return places


def _gaps(repository: Repository, ptxas_version: str) -> dict[str, str]:
    """Return the commits that today's scanner could not scan, with the reasons."""
    failed = ScanRun.objects.filter(
        repository=repository,
        state=RowState.FAILED,
        scanner_version=scanner_version(),
        profile_hash="",
        ptxas_version=ptxas_version,
    )
    return dict(failed.values_list("commit__object_id", "failure_reason"))


def _missing(
    repository: Repository,
    branch: Branch,
    planned: Sequence[PlannedCommit],
    gaps: Mapping[str, str],
    writer: LineWriter,
) -> list[PlannedCommit]:
    """Return what is to be scanned: what has no scan by today's judge, or no place in the history yet.

    A gap that today's scanner left stays one.
    """
    digests = {profile.name: profile.digest for profile in _profiles(repository)}
    ptxas = writer.assembler_version
    rows = {row.scan_run_id: row for row in BranchScan.objects.filter(branch=branch)}
    scans = ScanRun.objects.filter(
        repository=repository, state=RowState.SUCCEEDED, scanner_version=scanner_version()
    )
    # Of a commit that was scanned under several policies, the scan in the history counts, else the newest.
    stored = {
        scan.commit.object_id: scan
        for scan in sorted(scans.select_related("commit"), key=lambda scan: (scan.pk in rows, scan.pk))
        if digests.get(scan.profile_name) == scan.profile_hash
        and parts_of(scan.ptxas_version)[0] in ("", ptxas)
    }
    missing = []
    is_chained = True
    for one in planned:
        if one.info.object_id in gaps:
            continue
        scan = stored.get(one.info.object_id)
        if scan is None:
            missing.append(one)
            is_chained = is_chained and not one.is_on_line
        elif one.is_on_line:
            row = rows.get(scan.pk)
            is_chained = is_chained and row is not None and writer.continues(row)
            if not is_chained:
                missing.append(one)
            elif row is not None:
                writer.start_behind(row)
    return missing


def _profiles(repository: Repository) -> Iterator[Profile]:
    names = (
        [repository.profile] if repository.profile else [GENERIC_PROFILE, *(one.profile for one in FAMILIES)]
    )
    return (load_profile(name) for name in names)


def _scanned(
    repository: Repository, git_dir: Path, missing: Sequence[PlannedCommit], jobs: int
) -> Iterator[tuple[PlannedCommit, ScannedCommit]]:
    chunks = [missing[start : start + _CHUNK] for start in range(0, len(missing), _CHUNK)]
    line_jobs = [
        LineJob(
            git_dir,
            repository.profile,
            Path(settings.SCAN_CACHE_DIR),
            tuple(CommitJob(one.info.object_id, one.first_parent, one.is_same_tree) for one in chunk),
        )
        for chunk in chunks
    ]
    yield from zip(missing, lines_scan(line_jobs, jobs), strict=True)
