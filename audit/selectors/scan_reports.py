"""A stored scan as the scanner reported it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.models import Crate, Result, ScanRun
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
from audit.selectors.repository_policies import levels_of, own_clauses_by_form, own_clauses_by_rule
from audit.services.copying import ids_among

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
        results=tuple(
            _result(row)
            for row in Result.objects.filter(scan_run=scan_run).order_by("path", "start_line", "id")
        ),
        duration_seconds=scan_run.duration_seconds or 0.0,
        level_overrides=levels_of(repository=repository, version=scan_run.policy_version),
        policy_version=scan_run.policy_version,
        own_clauses=own_clauses_by_rule(repository=repository, version=scan_run.policy_version),
        own_clauses_of_forms=own_clauses_by_form(repository=repository, version=scan_run.policy_version),
    )


@dataclass(frozen=True, slots=True)
class StandingResult:
    """A stored result of a site that is open: why a person suppressed it, and whether it began since."""

    result: int
    justification: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class GoneResult:
    """The last stored result of a site that is gone, and what became of it."""

    result: int
    outcome: SiteOutcome | None


def scan_comparison(
    *, scan_run: ScanRun, standing: Sequence[StandingResult], gone: Sequence[GoneResult]
) -> Comparison:
    """Set the results of a scan that stand beside those that it did not see, and those that are gone.

    Results never change, and who rules that two sites are one changes nothing that is named by its result.
    """
    ruled = {one.result: one for one in standing}
    rows = {row.pk: row for row in _rows([*ruled, *(one.result for one in gone)])}
    seen = [row for row in rows.values() if row.pk in ruled and row.scan_run_id == scan_run.pk]
    unseen = [row for row in rows.values() if row.pk in ruled and row.scan_run_id != scan_run.pk]
    return Comparison(
        results=tuple(
            ComparedResult(_ruled(row, ruled[row.pk].justification), _state(row, ruled[row.pk]))
            for row in seen
        ),
        absent=tuple(
            AbsentResult(_result(rows[one.result]), one.outcome) for one in gone if one.result in rows
        ),
        unseen=tuple(
            UnseenResult(_ruled(row, ruled[row.pk].justification), NOT_SEEN, is_new=ruled[row.pk].is_new)
            for row in unseen
        ),
    )


def site_outcome(*, outcome: str, evidence: Mapping[str, Any]) -> SiteOutcome | None:
    """Read what was stored of what became of a site, None where that is not known."""
    if not outcome:
        return None
    return SiteOutcome(
        outcome=Outcome(outcome),
        text=evidence.get("text", ""),
        steps=tuple(map(_step, evidence.get("steps", ()))),
        properties=evidence.get("properties", {}),
    )


def _state(row: Result, standing: StandingResult) -> BaselineState:
    """Return how a result stands to the time before: one that the scan saw come back is new to it, too."""
    return BaselineState.NEW if standing.is_new else BaselineState(row.baseline_state)


def _rows(keys: Sequence[int]) -> Iterable[Result]:
    return Result.objects.filter(pk__in=ids_among(keys)).order_by("path", "start_line", "id")


def _ruled(row: Result, justification: str) -> scanner.Result:
    """Return a result with what a person ruled beside what stands in the source."""
    result = _result(row)
    if not justification:
        return result
    ruled = scanner.Suppression(EXTERNAL, ACCEPTED, justification, result.region)
    return result._replace(suppressions=(*result.suppressions, ruled))


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
