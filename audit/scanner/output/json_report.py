"""A scan as JSON. `docs/output.md` describes it; `VERSION` grows when a reader would have to change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from audit.rules.base import Rule
from audit.scanner.report import (
    BaselineState,
    EvidenceStep,
    Region,
    Result,
    ScanReport,
    SiteOutcome,
    SourceInfo,
)
from audit.scanner.suppression import is_suppressed
from audit.version import TOOL_NAME

if TYPE_CHECKING:
    from audit.scanner.baseline import Comparison

FORMAT = "ferroaudit-scan"
VERSION = 1

Json = dict[str, Any]


def json_document(report: ScanReport, rules: Sequence[Rule], comparison: Comparison | None = None) -> Json:
    """Return the scan as a JSON document."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "tool": {"name": TOOL_NAME, "version": report.scanner_version},
        "profile": {
            "name": report.profile_name,
            "sha256": report.profile_hash,
            "reason": report.profile_reason or None,
        },
        "ptxas_version": report.ptxas_version or None,
        "duration_seconds": round(report.duration_seconds, 3),
        "source": _source(report.source),
        "crates": [
            {"name": crate.name, "path": crate.path, "is_workspace_member": crate.is_workspace_member}
            for crate in report.crates
        ],
        "files": [
            {
                "path": entry.path,
                "blob_id": entry.blob_id or None,
                "status": entry.status.value,
                "reason": entry.reason or None,
                "size_bytes": entry.size_bytes,
                "line_count": entry.line_count,
            }
            for entry in report.manifest
        ],
        "rules": _rules(report, rules),
        "level_overrides": {rule_id: level.value for rule_id, level in report.level_overrides.items()},
        "results": _results(report, comparison, {rule.id: rule.name for rule in rules}),
    }


def _source(source: SourceInfo) -> Json:
    return {
        "root": source.root,
        "revision": source.revision or None,
        "commit_id": source.commit_id or None,
        "repository_uri": source.repository_uri or None,
        "branch": source.branch or None,
        "committed_at": source.committed_at.isoformat() if source.committed_at else None,
        "path_in_repository": source.path_in_repository or None,
    }


def _rules(report: ScanReport, rules: Sequence[Rule]) -> list[Json]:
    runs = {run.rule_id: run for run in report.rule_runs}
    return [
        {
            "id": rule.id,
            "name": rule.name,
            "level": rule.level.value,
            "status": runs[rule.id].status.value,
            "reason": runs[rule.id].reason or None,
        }
        for rule in rules
        if rule.id in runs
    ]


def _results(report: ScanReport, comparison: Comparison | None, names: dict[str, str]) -> list[Json]:
    if comparison is None:
        return [_result(result, names) for result in report.results]
    shown = [
        {
            **_result(compared.result, names),
            "baseline_state": compared.state.value,
            **({"not_read_before": compared.not_read_before} if compared.not_read_before else {}),
        }
        for compared in comparison.results
    ]
    for gone in comparison.absent:
        state = BaselineState.ABSENT.value
        shown.append({**_result(gone.result, names), "baseline_state": state, **_outcome(gone.outcome)})
    for unseen in comparison.unseen:
        state = BaselineState.UNCHANGED.value
        shown.append({**_result(unseen.result, names), "baseline_state": state, "not_seen": unseen.reason})
    return shown


def _outcome(outcome: SiteOutcome | None) -> Json:
    if outcome is None:
        return {"outcome": None, "outcome_evidence": None}
    steps = [_step(step) for step in outcome.steps]
    shown = {"text": outcome.text, "steps": steps, "properties": dict(outcome.properties)}
    return {"outcome": outcome.outcome.value, "outcome_evidence": shown}


def _result(result: Result, names: dict[str, str]) -> Json:
    return {
        "rule_id": result.rule_id,
        "rule": names.get(result.rule_id),
        "level": result.level.value,
        "message": result.message,
        "path": result.path,
        "region": _region(result.region),
        "symbol": result.symbol,
        "crate": result.crate or None,
        "form": result.form,
        "partial_fingerprints": dict(result.partial_fingerprints),
        "evidence": [_step(step) for step in result.evidence],
        "snippet": result.snippet,
        "is_suppressed": is_suppressed(result),
        "suppressions": [
            {
                "kind": suppression.kind,
                "status": suppression.status,
                "justification": suppression.justification or None,
                "region": _region(suppression.region),
            }
            for suppression in result.suppressions
        ],
        "properties": dict(result.properties),
    }


def _step(step: EvidenceStep) -> Json:
    return {
        "role": step.role,
        "path": step.path,
        "region": _region(step.region),
        "symbol": step.symbol,
        "message": step.message,
    }


def _region(region: Region) -> Json:
    return {
        "start_line": region.start_line,
        "start_column": region.start_column,
        "end_line": region.end_line,
        "end_column": region.end_column,
    }
