"""Storing what a scan found: results, the sites they are, and what the branch looks like now."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from audit.errors import LeaseLostError
from audit.models import Branch, BranchScan, Result, RowState, ScanRun
from audit.scanner.report import BaselineState, ScanReport, SiteOutcome
from audit.services import git_repository
from audit.services.branch_history import Change, branch_scan_write, next_position
from audit.services.coverage import Coverage
from audit.services.gaps import GapChanges
from audit.services.held_drops import drop_hold, held_sites, holds_follow, vanished_divide
from audit.services.leases import lease_finish
from audit.services.manifests import manifests_write
from audit.services.recognition import results_recognise
from audit.services.repository_lock import repository_lock
from audit.services.site_states import KnownState, states_close, states_known, states_write


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What a stored scan changed on its branch; empty where the scan says nothing about the branch.

    `gaps` is nothing where the scan says nothing of capability gaps.
    """

    scan_run: ScanRun
    branch: Branch | None
    new_sites: tuple[int, ...] = ()
    reopened_sites: tuple[int, ...] = ()
    absent_sites: tuple[int, ...] = ()
    held_sites: tuple[int, ...] = ()
    gaps: GapChanges | None = None


def scan_report_ingest(
    *,
    scan_run: ScanRun,
    lease_id: uuid.UUID,
    report: ScanReport,
    after_ingest: Callable[[IngestSummary], None],
) -> IngestSummary:
    """Store a report in one transaction and close the scan's row.

    One scan of a repository is stored at a time. A worker that lost its lease stores nothing.
    """
    with transaction.atomic():
        _hold(scan_run, lease_id)
        branch = _branch_it_speaks_for(scan_run)
        states = states_known(branch=branch) if branch else {}
        coverage = Coverage.of(report)
        is_stored = Result.objects.filter(scan_run=scan_run).exists() or scan_run.files.exists()
        if not is_stored:
            results_recognise(
                scan_run=scan_run,
                report=report,
                coverage=coverage,
                states=states if branch else None,
                moves_sites=branch is not None,
            )
            manifests_write(scan_run=scan_run, report=report)
        summary = IngestSummary(scan_run, branch)
        # A branch that has this scan already is not moved by it: it was repeated for what it lacked.
        is_there = branch is not None and branch.last_scan_id == scan_run.pk
        if branch is not None and not is_there:
            summary = _apply(scan_run, branch, states, coverage, report.outcomes, is_told=not is_stored)
        _close(scan_run, lease_id, report, {} if is_there else _counts(scan_run, summary))
        after_ingest(summary)
    return summary


def _hold(scan_run: ScanRun, lease_id: uuid.UUID) -> None:
    repository_lock(repository_id=scan_run.repository_id)
    with connection.cursor() as cursor:
        # Checks that wait for the commit pile up, and each history trigger of the plan walks the whole pile.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    held = ScanRun.objects.select_for_update().filter(
        pk=scan_run.pk, state=RowState.RUNNING, lease_id=lease_id
    )
    if not held.exists():
        raise LeaseLostError(f"{scan_run} was taken over or cancelled.")


def _branch_it_speaks_for(scan_run: ScanRun) -> Branch | None:
    """The branch whose states the scan may change: not one that is already further on."""
    if scan_run.branch_id is None:
        return None
    branch = Branch.objects.select_related("last_scan__commit").get(pk=scan_run.branch_id)
    last = branch.last_scan
    if last is None or last.commit_id == scan_run.commit_id:
        return branch
    if scan_run.commit.is_snapshot:
        return branch if _was_read_later(scan_run, last) else None
    git_dir = git_repository.git_dir_of(scan_run.repository)
    object_id = scan_run.commit.object_id
    is_behind = git_repository.is_ancestor(git_dir=git_dir, object_id=object_id, of=last.commit.object_id)
    if is_behind and not git_repository.is_tip(git_dir=git_dir, object_id=object_id, branch=branch.name):
        return None
    return branch


def _was_read_later(scan_run: ScanRun, last: ScanRun) -> bool:
    """Whether a plain folder was read for a scan after it was for the branch's last one.

    Each stood there as it was read. Which was asked for first says nothing: a folder may be put back.
    """
    if scan_run.started_at is None or last.started_at is None:
        return scan_run.pk > last.pk
    return scan_run.started_at > last.started_at


def _apply(
    scan_run: ScanRun,
    branch: Branch,
    states: Mapping[int, KnownState],
    coverage: Coverage,
    outcomes: Mapping[int, SiteOutcome],
    *,
    is_told: bool,
) -> IngestSummary:
    """Move the branch on to the stored scan."""
    found = list(Result.objects.filter(scan_run=scan_run).order_by("id").values_list("site_id", flat=True))
    seen = set(found)
    open_before = [site_id for site_id, state in states.items() if state.is_open]
    held_before = held_sites(branch=branch)
    vanished = vanished_divide(
        absent=(
            site_id
            for site_id in open_before
            if site_id not in seen
            and coverage.could_see(rule_id=states[site_id].rule_id, path=states[site_id].path)
        ),
        outcomes=outcomes,
        held_before=held_before,
    )
    absent = vanished.closed
    new = tuple(site_id for site_id in found if site_id not in states)
    reopened = tuple(site_id for site_id in found if site_id in states and not states[site_id].is_open)
    states_write(branch=branch, scan_run=scan_run, is_told=is_told)
    states_close(branch=branch, scan_run=scan_run, site_ids=absent, outcomes=outcomes)
    previous = BranchScan.objects.filter(branch=branch).last()
    branch_scan = branch_scan_write(
        branch=branch,
        scan_run=scan_run,
        previous=previous,
        position=next_position(branch=branch, previous=previous, commit=scan_run.commit),
        change=Change(
            len(open_before) + len(new) + len(reopened) - len(absent), new, reopened, absent, outcomes
        ),
    )
    holds_follow(branch=branch, seen=held_before & seen, closed=held_before.intersection(absent))
    if vanished.held:
        drop_hold(branch_scan=branch_scan, sites=vanished.held, open_before=len(open_before))
    Branch.objects.filter(pk=branch.pk).update(last_scan=scan_run)
    return IngestSummary(scan_run, branch, new, reopened, absent, vanished.held)


def _counts(scan_run: ScanRun, summary: IngestSummary) -> dict[str, int]:
    told = Counter(Result.objects.filter(scan_run=scan_run).values_list("baseline_state", flat=True))
    return {
        "result_count": told.total(),
        "new_count": max(told[BaselineState.NEW.value] - len(summary.reopened_sites), 0),
        "updated_count": told[BaselineState.UPDATED.value],
        "unchanged_count": told[BaselineState.UNCHANGED.value],
        "absent_count": len(summary.absent_sites),
        "reopened_count": len(summary.reopened_sites),
        "applies_to_branch": summary.branch is not None,
    }


def _close(scan_run: ScanRun, lease_id: uuid.UUID, report: ScanReport, counts: Mapping[str, Any]) -> None:
    lease_finish(
        row=scan_run,
        lease_id=lease_id,
        state=RowState.SUCCEEDED,
        duration_seconds=report.duration_seconds,
        file_count=len(report.manifest),
        line_count=sum(entry.line_count for entry in report.manifest),
        **counts,
    )
