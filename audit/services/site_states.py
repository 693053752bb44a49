"""Bringing a branch's site states up to a scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from audit.models import Branch, ScanRun, SiteState
from audit.scanner.report import BaselineState, EarlierResult, EvidenceStep, Result, SiteOutcome
from audit.services.copying import as_json, rows_copy

_STATE_COLUMNS = (
    "site_id",
    "baseline_state",
    "rule_id",
    "level",
    "crate",
    "path",
    "start_line",
    "end_line",
    "symbol",
    "form",
    "message",
    "result_id",
)

_COLUMN_LIST = ", ".join(_STATE_COLUMNS)
_UPDATES = ", ".join(f"{column} = EXCLUDED.{column}" for column in _STATE_COLUMNS if column != "site_id")

_FOUND = (
    f"CREATE TEMPORARY TABLE state_found ON COMMIT DROP AS SELECT {_COLUMN_LIST} "  # noqa: S608
    "FROM audit_sitestate WITH NO DATA"
)

_WRITE = f"""
INSERT INTO audit_sitestate (
    branch_id, is_open, outcome, outcome_evidence, first_seen_scan_id, last_seen_scan_id, closed_scan_id,
    {_COLUMN_LIST}
)
SELECT %(branch)s, TRUE, '', '{{}}'::jsonb, %(scan)s, %(scan)s, NULL, {_COLUMN_LIST} FROM state_found
ON CONFLICT (site_id, branch_id) DO UPDATE SET
    is_open = TRUE,
    outcome = '',
    outcome_evidence = EXCLUDED.outcome_evidence,
    last_seen_scan_id = EXCLUDED.last_seen_scan_id,
    closed_scan_id = NULL,
    {_UPDATES}
"""  # noqa: S608 -- column names of this module

_GONE = (
    "CREATE TEMPORARY TABLE state_gone ON COMMIT DROP AS SELECT site_id, outcome, outcome_evidence "
    "FROM audit_sitestate WITH NO DATA"
)

_CLOSE = f"""
UPDATE audit_sitestate AS state SET
    is_open = FALSE,
    baseline_state = '{BaselineState.ABSENT.value}',
    closed_scan_id = %(scan)s,
    result_id = NULL,
    outcome = gone.outcome,
    outcome_evidence = gone.outcome_evidence
FROM state_gone AS gone
WHERE state.branch_id = %(branch)s AND state.site_id = gone.site_id
"""  # noqa: S608 -- a word of this program


@dataclass(frozen=True, slots=True)
class KnownState:
    """A site's state on a branch before the scan."""

    is_open: bool
    rule_id: str
    level: str
    path: str
    message: str
    form: str
    start_line: int

    def is_unchanged_by(self, result: Result) -> bool:
        """Whether the result says of the site what was known; where it stands in the file is no change."""
        return (self.level, self.message, self.form) == (result.level.value, result.message, result.form)


@dataclass(frozen=True, slots=True)
class FoundState:
    """A site as the scan saw it."""

    site_id: int
    result_id: int
    baseline_state: BaselineState
    result: Result


def states_known(*, branch: Branch) -> dict[int, KnownState]:
    """Read the branch's states by site."""
    columns = ("site_id", "is_open", "rule_id", "level", "path", "message", "form", "start_line")
    rows = SiteState.objects.filter(branch=branch).values_list(*columns)
    return {site_id: KnownState(*rest) for site_id, *rest in rows.iterator(chunk_size=10_000)}


def states_write(*, branch: Branch, scan_run: ScanRun, found: Sequence[FoundState]) -> None:
    """Note every site that the scan saw as open."""
    with connection.cursor() as cursor:
        cursor.execute(_FOUND)
        rows_copy(table="state_found", columns=_STATE_COLUMNS, rows=map(_row, found))
        cursor.execute(_WRITE, {"branch": branch.pk, "scan": scan_run.pk})
        cursor.execute("DROP TABLE state_found")


def states_asked(*, branch: Branch) -> list[EarlierResult]:
    """Return the sites that are open on a branch as a scan is asked what became of them, by their ids."""
    columns = ("site_id", "rule_id", "symbol", "path", "form", "site__partial_fingerprints")
    rows = SiteState.objects.filter(branch=branch, is_open=True).values_list(*columns)
    return [EarlierResult(*row) for row in rows.iterator(chunk_size=10_000)]


def states_close(
    *, branch: Branch, scan_run: ScanRun, site_ids: Sequence[int], outcomes: Mapping[int, SiteOutcome]
) -> None:
    """Note the sites that the scan looked for and did not see, and what became of them where it told."""
    with connection.cursor() as cursor:
        cursor.execute(_GONE)
        rows_copy(
            table="state_gone",
            columns=("site_id", "outcome", "outcome_evidence"),
            rows=((site_id, *_told(outcomes.get(site_id))) for site_id in site_ids),
        )
        cursor.execute(_CLOSE, {"branch": branch.pk, "scan": scan_run.pk})
        cursor.execute("DROP TABLE state_gone")


def _told(outcome: SiteOutcome | None) -> tuple[str, str]:
    if outcome is None:
        return "", as_json({})
    evidence = {
        "text": outcome.text,
        "steps": [step_json(step) for step in outcome.steps],
        "properties": dict(outcome.properties),
    }
    return outcome.outcome.value, as_json(evidence)


def step_json(step: EvidenceStep) -> dict[str, object]:
    """Return a step of evidence as it is stored."""
    # Written out: `dataclasses.asdict` copies deeply, which is half of the time of storing a large scan.
    region = step.region
    return {
        "role": step.role,
        "path": step.path,
        "symbol": step.symbol,
        "message": step.message,
        "region": {
            "start_line": region.start_line,
            "start_column": region.start_column,
            "end_line": region.end_line,
            "end_column": region.end_column,
        },
    }


def _row(state: FoundState) -> tuple[object, ...]:
    result = state.result
    return (
        state.site_id,
        state.baseline_state.value,
        result.rule_id,
        result.level.value,
        result.crate,
        result.path,
        result.region.start_line,
        result.region.end_line,
        result.symbol,
        result.form,
        result.message,
        state.result_id,
    )
