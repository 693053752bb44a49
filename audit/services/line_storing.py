"""Storing the scans of a branch's past, one after the other, and what each changed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from audit.models import Branch, BranchScan, Commit, Repository, Result, RowState, ScanRun, SiteState
from audit.scanner.levels import with_levels
from audit.scanner.line import Place, ScannedCommit, place_of
from audit.scanner.pipeline import scanner_version
from audit.scanner.ptx.assembler import find_assembler
from audit.scanner.report import BaselineState, ScanReport, SiteOutcome
from audit.selectors.repository_policies import levels_of, version_in_force
from audit.services.branch_history import branch_scan_write
from audit.services.commit_line import PlannedCommit
from audit.services.copying import ids_among
from audit.services.coverage import Coverage
from audit.services.held_drops import drop_hold, held_sites, holds_follow
from audit.services.leases import LEASE, lease_finish
from audit.services.manifests import manifests_write
from audit.services.recognition import results_recognise
from audit.services.repository_lock import repository_lock
from audit.services.site_states import states_write
from audit.services.standings import Standings, seen_by

AfterSettling = Callable[[ScanRun, Branch, Sequence[int]], None]

# Closed sites that the branch's states do not hold, or hold as open, as their last result and event tell.
_CLOSED = """
INSERT INTO audit_sitestate AS state (
    branch_id, site_id, is_open, baseline_state, outcome, outcome_evidence, rule_id, level, crate, path,
    start_line, end_line, symbol, form, message, first_seen_scan_id, last_seen_scan_id, closed_scan_id
)
SELECT DISTINCT ON (event.site_id)
    %(branch)s, event.site_id, FALSE, 'absent', event.outcome, event.outcome_evidence, result.rule_id,
    result.level, result.crate, result.path, result.start_line, result.end_line, result.symbol, result.form,
    result.message, result.scan_run_id, result.scan_run_id, at.scan_run_id
FROM audit_siteevent AS event
JOIN audit_branchscan AS at ON at.id = event.branch_scan_id
CROSS JOIN LATERAL (
    SELECT result.*
    FROM audit_result AS result
    JOIN audit_branchscan AS seen ON seen.scan_run_id = result.scan_run_id AND seen.branch_id = %(branch)s
    WHERE result.site_id = event.site_id AND seen.position < at.position
    ORDER BY seen.position DESC LIMIT 1
) AS result
WHERE at.branch_id = %(branch)s AND event.kind = 'closed' AND event.site_id = ANY(%(closed)s)
ORDER BY event.site_id, at.position DESC
ON CONFLICT (site_id, branch_id) DO UPDATE SET
    is_open = FALSE,
    baseline_state = 'absent',
    result_id = NULL,
    outcome = EXCLUDED.outcome,
    outcome_evidence = EXCLUDED.outcome_evidence,
    closed_scan_id = EXCLUDED.closed_scan_id
WHERE state.is_open
"""
_FIRST_SEEN = """
UPDATE audit_sitestate AS state SET first_seen_scan_id = first.scan_run_id
FROM (
    SELECT DISTINCT ON (event.site_id) event.site_id, at.scan_run_id
    FROM audit_siteevent AS event JOIN audit_branchscan AS at ON at.id = event.branch_scan_id
    WHERE at.branch_id = %(branch)s ORDER BY event.site_id, at.position
) AS first
WHERE state.branch_id = %(branch)s AND state.site_id = first.site_id
    AND state.first_seen_scan_id <> first.scan_run_id
"""
_FIRST_SEEN_OF_SITES = """
UPDATE audit_fallbacksite AS site SET first_seen_scan_id = state.first_seen_scan_id
FROM audit_sitestate AS state
WHERE state.branch_id = %(branch)s AND state.site_id = site.id
    AND site.first_seen_scan_id <> state.first_seen_scan_id
"""


# Open sites that the newest scan did not see: held, or in a file that it could not read.
_UNSEEN = """
INSERT INTO audit_sitestate AS state (
    branch_id, site_id, is_open, baseline_state, outcome, outcome_evidence, rule_id, level, crate, path,
    start_line, end_line, symbol, form, message, first_seen_scan_id, last_seen_scan_id, result_id
)
SELECT %(branch)s, result.site_id, TRUE, 'unchanged', '', '{}'::jsonb, result.rule_id,
    result.level, result.crate, result.path, result.start_line, result.end_line, result.symbol, result.form,
    result.message, result.scan_run_id, result.scan_run_id, result.id
FROM unnest(%(open)s::bigint[]) AS open (site_id)
CROSS JOIN LATERAL (
    SELECT result.*
    FROM audit_result AS result
    JOIN audit_branchscan AS seen ON seen.scan_run_id = result.scan_run_id AND seen.branch_id = %(branch)s
    WHERE result.site_id = open.site_id
    ORDER BY seen.position DESC LIMIT 1
) AS result
ORDER BY result.site_id
ON CONFLICT (site_id, branch_id) DO UPDATE SET
    is_open = TRUE,
    baseline_state = 'unchanged',
    result_id = EXCLUDED.result_id,
    outcome = '',
    outcome_evidence = '{}'::jsonb,
    closed_scan_id = NULL
WHERE NOT state.is_open
"""


class LineWriter:
    """Writes a branch's history from one place on; sites keep their form where a newer scan has seen them."""

    def __init__(self, *, repository: Repository, branch: Branch, commits: Mapping[str, Commit]) -> None:
        self._repository = repository
        self._branch = branch
        self._commits = commits
        self._previous: BranchScan | None = None
        self._standings: Standings | None = None
        self._moves_sites = branch.last_scan is None
        assembler = find_assembler(cache=Path(settings.SCAN_CACHE_DIR), jobs=1)
        self.assembler_version = assembler.version if assembler is not None else ""
        self._policy_version = str(version_in_force(repository=repository))
        self._levels = levels_of(repository=repository, version=self._policy_version)

    def continues(self, row: BranchScan) -> bool:
        """Whether a row of the history follows what was written last."""
        return row.previous_id == (self._previous.pk if self._previous is not None else None)

    def start_behind(self, row: BranchScan) -> None:
        """Go on behind a row that is written already."""
        self._previous = row

    def store(self, planned: PlannedCommit, scanned: ScannedCommit) -> None:
        """Store the scan of a commit, and what it changed where the branch itself stood at it."""
        commit = self._commits[planned.info.object_id]
        with transaction.atomic():
            repository_lock(repository_id=self._repository.pk)
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            if scanned.report is None:
                self._fail(commit, scanned.failure_reason)
                return
            report = with_levels(scanned.report, self._levels)
            scan_run = self._scan_run(commit, report)
            absent, reopened = 0, 0
            if not scan_run.is_over:
                self._store_results(scan_run, report)
            if planned.is_on_line:
                absent, reopened = self._move(scan_run, planned, report, scanned.became)
            self._close(scan_run, report, planned, absent, reopened)

    def _scan_run(self, commit: Commit, report: ScanReport) -> ScanRun:
        """Return the row of a scan; what was asked for before and did not succeed is taken over."""
        judge: dict[str, Any] = {
            "commit": commit,
            "scanner_version": report.scanner_version,
            "profile_hash": report.profile_hash,
            "ptxas_version": report.ptxas_version,
            "policy_version": self._policy_version,
        }
        scan_run = ScanRun.objects.select_for_update().filter(**judge).first()
        if scan_run is not None and scan_run.state == RowState.SUCCEEDED:
            return scan_run
        taken: dict[str, Any] = {
            "repository": self._repository,
            "branch": None,
            "profile_name": report.profile_name,
            "state": RowState.RUNNING,
            "failure_reason": "",
            "finished_at": None,
            "lease_id": uuid.uuid4(),
            "lease_expires_at": Now() + LEASE,
            "heartbeat_at": Now(),
            "started_at": Now(),
        }
        scan_run, _ = ScanRun.objects.update_or_create(**judge, defaults=taken)
        scan_run.refresh_from_db()
        return scan_run

    def _store_results(self, scan_run: ScanRun, report: ScanReport) -> None:
        results_recognise(
            scan_run=scan_run,
            report=report,
            coverage=Coverage.of(report),
            states=None,
            moves_sites=self._moves_sites,
        )
        manifests_write(scan_run=scan_run, report=report)

    def _move(
        self,
        scan_run: ScanRun,
        planned: PlannedCommit,
        report: ScanReport,
        became: Mapping[Place, SiteOutcome],
    ) -> tuple[int, int]:
        if self._standings is None:
            self._standings = Standings.at(self._previous)
        BranchScan.objects.filter(branch=self._branch, position=planned.depth).delete()
        held_before = held_sites(branch=self._branch, before=planned.depth)
        found = seen_by(scan_run_id=scan_run.pk)
        change = self._standings.follow(
            found, Coverage.of(report), self._outcomes(planned, became), held_before
        )
        self._previous = branch_scan_write(
            branch=self._branch,
            scan_run=scan_run,
            previous=self._previous,
            position=planned.depth,
            change=change,
            tallies=self._standings.tallies(),
        )
        if held_before:
            seen = held_before.intersection(one.site_id for one in found)
            holds_follow(branch=self._branch, seen=seen, closed=held_before.intersection(change.closed))
        if change.held:
            # A person is asked, and the run goes on: the sites stay open in the history until then.
            drop_hold(branch_scan=self._previous, sites=change.held, open_before=change.open_before)
        return len(change.closed), len(change.reopened)

    def _outcomes(
        self, planned: PlannedCommit, became: Mapping[Place, SiteOutcome]
    ) -> dict[int, SiteOutcome]:
        """Return what became of the first parent's results, by their sites."""
        if not became:
            return {}
        # Each judge that scanned the parent may have seen what is gone now; the newest says whose it is.
        rows = Result.objects.filter(
            scan_run__repository=self._repository,
            scan_run__commit__object_id=planned.first_parent,
            scan_run__state=RowState.SUCCEEDED,
        ).order_by("scan_run_id")
        sites = {
            place_of(rule_id, path, fingerprints): site_id
            for site_id, rule_id, path, fingerprints in rows.values_list(
                "site_id", "rule_id", "path", "partial_fingerprints"
            )
        }
        # The history may begin behind the parent: what was there is no site of this branch.
        return {sites[place]: outcome for place, outcome in became.items() if place in sites}

    def _close(
        self, scan_run: ScanRun, report: ScanReport, planned: PlannedCommit, absent: int, reopened: int
    ) -> None:
        if scan_run.lease_id is None:
            ScanRun.objects.filter(pk=scan_run.pk).update(absent_count=absent, reopened_count=reopened)
            return
        told = Result.objects.filter(scan_run=scan_run).order_by().values_list("baseline_state", flat=True)
        states = list(told)
        lease_finish(
            row=scan_run,
            lease_id=scan_run.lease_id,
            state=RowState.SUCCEEDED,
            applies_to_branch=planned.is_on_line,
            branch=self._branch if planned.is_on_line else None,
            duration_seconds=report.duration_seconds,
            file_count=len(report.manifest),
            line_count=sum(entry.line_count for entry in report.manifest),
            result_count=len(states),
            new_count=max(states.count(BaselineState.NEW.value) - reopened, 0),
            updated_count=states.count(BaselineState.UPDATED.value),
            unchanged_count=states.count(BaselineState.UNCHANGED.value),
            absent_count=absent,
            reopened_count=reopened,
        )

    def _fail(self, commit: Commit, reason: str) -> None:
        ScanRun.objects.update_or_create(
            commit=commit,
            scanner_version=scanner_version(),
            profile_hash="",
            ptxas_version=self.assembler_version,
            defaults={
                "repository": self._repository,
                "profile_name": self._repository.profile,
                "state": RowState.FAILED,
                "failure_reason": reason,
                "finished_at": Now(),
            },
        )

    def settle(self, *, after_settling: AfterSettling) -> None:
        """Make the branch's states those after the newest scan of its history."""
        newest = BranchScan.objects.filter(branch=self._branch).select_related("scan_run").last()
        if newest is None:
            return
        with transaction.atomic():
            repository_lock(repository_id=self._repository.pk)
            before = set(SiteState.objects.filter(branch=self._branch).values_list("site_id", flat=True))
            standings = Standings.at(newest)
            keys: dict[str, Any] = {
                "branch": self._branch.pk,
                "closed": standings.closed_ids,
                "open": standings.open_ids,
            }
            if self._branch.last_scan_id != newest.scan_run_id:
                states_write(branch=self._branch, scan_run=newest.scan_run, is_told=True)
                Branch.objects.filter(pk=self._branch.pk).update(last_scan=newest.scan_run)
            with connection.cursor() as cursor:
                for statement in (_CLOSED, _UNSEEN, _FIRST_SEEN, _FIRST_SEEN_OF_SITES):
                    cursor.execute(statement, keys)
            states = SiteState.objects.filter(branch=self._branch)
            fresh = states.exclude(site__in=ids_among(before)).values_list("site_id", flat=True)
            after_settling(newest.scan_run, self._branch, list(fresh))
