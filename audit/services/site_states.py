"""Bringing a branch's site states up to a scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from audit.models import Branch, ScanRun, SiteState
from audit.scanner.report import BaselineState, EarlierResult, Result, SiteOutcome
from audit.services.branch_history import outcome_columns
from audit.services.copying import rows_copy

_TOLD_COLUMNS = (
    "rule_id",
    "level",
    "crate",
    "path",
    "start_line",
    "end_line",
    "symbol",
    "form",
    "message",
)
_UPDATES = ", ".join(f"{column} = EXCLUDED.{column}" for column in _TOLD_COLUMNS)
_INSERTED = ", ".join(f"result.{column}" for column in ("site_id", *_TOLD_COLUMNS))

# A result tells its baseline state on the branch it was scanned for; on any other it is told here.
# New states are numbered as their sites are: a list that ties on everything else ends in that number.
_WRITE = f"""
INSERT INTO audit_sitestate AS state (
    branch_id, is_open, outcome, outcome_evidence, first_seen_scan_id, last_seen_scan_id, closed_scan_id,
    result_id, baseline_state, site_id, {", ".join(_TOLD_COLUMNS)}
)
SELECT %(branch)s, TRUE, '', '{{}}'::jsonb, %(scan)s, %(scan)s, NULL, result.id,
    CASE WHEN %(is_told)s THEN result.baseline_state ELSE 'new' END, {_INSERTED}
FROM audit_result AS result WHERE scan_run_id = %(scan)s
ORDER BY result.site_id
ON CONFLICT (site_id, branch_id) DO UPDATE SET
    is_open = TRUE,
    outcome = '',
    outcome_evidence = EXCLUDED.outcome_evidence,
    last_seen_scan_id = EXCLUDED.last_seen_scan_id,
    closed_scan_id = NULL,
    result_id = EXCLUDED.result_id,
    baseline_state = CASE
        WHEN %(is_told)s THEN EXCLUDED.baseline_state
        WHEN NOT state.is_open THEN 'new'
        WHEN (state.rule_id, state.symbol, state.level, state.message, state.form)
            = (EXCLUDED.rule_id, EXCLUDED.symbol, EXCLUDED.level, EXCLUDED.message, EXCLUDED.form)
        THEN 'unchanged'
        ELSE 'updated'
    END,
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
    commit_id: int

    def is_unchanged_by(self, result: Result) -> bool:
        """Whether the result says of the site what was known; where it stands in the file is no change."""
        return (self.level, self.message, self.form) == (result.level.value, result.message, result.form)


def states_known(*, branch: Branch) -> dict[int, KnownState]:
    """Read the branch's states by site."""
    columns = (
        "site_id",
        "is_open",
        "rule_id",
        "level",
        "path",
        "message",
        "form",
        "start_line",
        "last_seen_scan__commit_id",
    )
    rows = SiteState.objects.filter(branch=branch).values_list(*columns)
    return {site_id: KnownState(*rest) for site_id, *rest in rows.iterator(chunk_size=10_000)}


def states_write(*, branch: Branch, scan_run: ScanRun, is_told: bool) -> None:
    """Note every site that the stored scan saw as open.

    The results of a scan that was made for this branch have `told` their baseline state on it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, {"branch": branch.pk, "scan": scan_run.pk, "is_told": is_told})


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
        cursor.execute("DROP TABLE IF EXISTS state_gone")
        cursor.execute(_GONE)
        rows_copy(
            table="state_gone",
            columns=("site_id", "outcome", "outcome_evidence"),
            rows=((site_id, *outcome_columns(outcomes.get(site_id))) for site_id in site_ids),
        )
        cursor.execute(_CLOSE, {"branch": branch.pk, "scan": scan_run.pk})
