"""A stored scan as the scanner reported it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.models import Crate, Result, ScanRun, SiteState
from audit.scanner import report as scanner
from audit.scanner.baseline import AbsentResult, ComparedResult, Comparison
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
from audit.selectors.repository_policies import levels_of, own_clauses_by_form, own_clauses_by_rule


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


def scan_comparison(*, scan_run: ScanRun, since: ScanRun | None) -> Comparison:
    """Set a scan's results beside what was gone since: each result with the state it was stored in."""
    results = tuple(
        ComparedResult(_result(row), BaselineState(row.baseline_state)) for row in _rows(scan_run)
    )
    absent = tuple(
        AbsentResult(_result(row), _outcome(state))
        for state, row in _gone(scan_run, since.pk if since else 0)
    )
    return Comparison(results=results, absent=absent)


def _rows(scan_run: ScanRun) -> list[Result]:
    return list(Result.objects.filter(scan_run=scan_run).order_by("path", "start_line", "id"))


def _gone(scan_run: ScanRun, since: int) -> list[tuple[SiteState, Result]]:
    """Return the closed sites of the scan's branch, each with the last result that saw it."""
    states = SiteState.objects.filter(branch=scan_run.branch, is_open=False, closed_scan_id__gt=since)
    by_site = {state.site_id: state for state in states.order_by("path", "start_line", "id")}
    last = (
        Result.objects.filter(site_id__in=by_site, scan_run_id__lt=scan_run.pk)
        .order_by("site_id", "-scan_run_id", "-id")
        .distinct("site_id")
    )
    rows = {row.site_id: row for row in last}
    return [(state, rows[site]) for site, state in by_site.items() if site in rows]


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


def _outcome(state: SiteState) -> SiteOutcome | None:
    if not state.outcome:
        return None
    evidence = state.outcome_evidence
    return SiteOutcome(
        outcome=Outcome(state.outcome),
        text=evidence.get("text", ""),
        steps=tuple(map(_step, evidence.get("steps", ()))),
        properties=evidence.get("properties", {}),
    )
