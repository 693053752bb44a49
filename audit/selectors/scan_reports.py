"""A stored scan as the scanner reported it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from audit.models import Branch, Crate, Result, ScanRun, SiteEvent, SiteEventKind
from audit.scanner import report as scanner
from audit.scanner.baseline import AbsentResult, ComparedResult, Comparison, UnseenResult
from audit.scanner.report import (
    BaselineState,
    CrateInfo,
    EvidenceStep,
    FileStatus,
    Level,
    ManifestEntry,
    Outcome,
    Region,
    RuleRun,
    RuleStatus,
    ScanReport,
    SiteOutcome,
    SourceInfo,
)
from audit.scanner.suppression import ACCEPTED, EXTERNAL
from audit.selectors.branch_periods import position_of
from audit.selectors.repository_policies import levels_of, own_clauses_by_form, own_clauses_by_rule

NOT_SEEN = "the scan has not seen it: its file was not read, or it is held until somebody rules"


def scan_report(*, scan_run: ScanRun) -> ScanReport:
    """Read a finished scan back from its rows."""
    repository, commit = scan_run.repository, scan_run.commit
    return ScanReport(
        scanner_version=scan_run.scanner_version,
        profile_name=scan_run.profile_name,
        profile_hash=scan_run.profile_hash,
        ptxas_version=scan_run.ptxas_version,
        source=SourceInfo(
            root=repository.location,
            commit_id="" if commit.is_snapshot else commit.object_id,
            repository_uri=repository.location if "://" in repository.location else "",
            branch=scan_run.branch.name if scan_run.branch else "",
            committed_at=commit.committed_at,
        ),
        crates=tuple(
            CrateInfo(crate.name, crate.path, crate.is_workspace_member)
            for crate in Crate.objects.filter(repository=repository)
        ),
        manifest=tuple(
            ManifestEntry(
                file.path,
                file.blob_id,
                FileStatus(file.status),
                file.reason,
                file.size_bytes,
                file.line_count,
            )
            for file in scan_run.files.all()
        ),
        rule_runs=tuple(
            RuleRun(rule.rule_id, RuleStatus(rule.status), rule.reason) for rule in scan_run.rules.all()
        ),
        results=tuple(_result(row) for row in _rows(scan_run)),
        duration_seconds=scan_run.duration_seconds or 0.0,
        level_overrides=levels_of(repository=repository, version=scan_run.policy_version),
        policy_version=scan_run.policy_version,
        own_clauses=own_clauses_by_rule(repository=repository, version=scan_run.policy_version),
        own_clauses_of_forms=own_clauses_by_form(repository=repository, version=scan_run.policy_version),
    )


def scan_comparison(
    *, scan_run: ScanRun, branch: Branch, open_sites: Mapping[int, str], gone: Sequence[int]
) -> Comparison:
    """Set a scan's results beside the sites that were open and `gone` on a branch when it stood there.

    Of open sites the justification is told by which a person suppressed them, empty where nobody did.
    """
    rows = _rows(scan_run)
    seen = {row.site_id for row in rows}
    at = position_of(branch=branch, scan_run=scan_run)
    unseen = [site for site in open_sites if site not in seen]
    last = _last_results([*unseen, *gone], branch, at)
    ended = _last_ends(gone, branch, at)
    return Comparison(
        results=tuple(
            ComparedResult(_ruled(row, open_sites.get(row.site_id, "")), BaselineState(row.baseline_state))
            for row in rows
        ),
        absent=tuple(
            AbsentResult(_result(last[site]), _outcome(ended.get(site))) for site in gone if site in last
        ),
        unseen=tuple(
            UnseenResult(_ruled(last[site], open_sites[site]), NOT_SEEN) for site in unseen if site in last
        ),
    )


def _rows(scan_run: ScanRun) -> list[Result]:
    return list(Result.objects.filter(scan_run=scan_run).order_by("path", "start_line", "id"))


def _last_results(sites: Sequence[int], branch: Branch, at: int) -> dict[int, Result]:
    """Return the last result of each site that a branch had before it came to a place."""
    last = (
        Result.objects.filter(
            site_id__in=sites, scan_run__branch_scans__branch=branch, scan_run__branch_scans__position__lt=at
        )
        .order_by("site_id", "-scan_run__branch_scans__position", "-id")
        .distinct("site_id")
    )
    return {row.site_id: row for row in last}


def _last_ends(sites: Sequence[int], branch: Branch, at: int) -> dict[int, SiteEvent]:
    """Return how each site ended last on a branch before it left a place."""
    last = (
        SiteEvent.objects.filter(
            site_id__in=sites,
            kind=SiteEventKind.CLOSED,
            branch_scan__branch=branch,
            branch_scan__position__lte=at,
        )
        .order_by("site_id", "-branch_scan__position")
        .distinct("site_id")
    )
    return {event.site_id: event for event in last}


def _ruled(row: Result, justification: str) -> scanner.Result:
    """Return a result with what a person ruled beside what stands in the source."""
    result = _result(row)
    if not justification:
        return result
    ruled = scanner.Suppression(EXTERNAL, ACCEPTED, justification, result.region)
    return dataclasses.replace(result, suppressions=(*result.suppressions, ruled))


def _result(row: Result) -> scanner.Result:
    return scanner.Result(
        rule_id=row.rule_id,
        level=Level(row.level),
        message=row.message,
        path=row.path,
        region=Region(row.start_line, row.start_column, row.end_line, row.end_column),
        symbol=row.symbol,
        crate=row.crate,
        form=row.form,
        partial_fingerprints=row.partial_fingerprints,
        evidence=tuple(map(_step, row.evidence)),
        snippet=row.snippet,
        suppressions=tuple(
            scanner.Suppression(one["kind"], one["status"], one["justification"], Region(**one["region"]))
            for one in row.suppressions
        ),
        properties=row.properties,
    )


def _step(step: Mapping[str, Any]) -> EvidenceStep:
    return EvidenceStep(
        role=step["role"],
        path=step["path"],
        region=Region(**step["region"]),
        symbol=step["symbol"],
        message=step["message"],
    )


def _outcome(event: SiteEvent | None) -> SiteOutcome | None:
    if event is None or not event.outcome:
        return None
    evidence = event.outcome_evidence
    return SiteOutcome(
        outcome=Outcome(event.outcome),
        text=evidence.get("text", ""),
        steps=tuple(map(_step, evidence.get("steps", ()))),
        properties=evidence.get("properties", {}),
    )
