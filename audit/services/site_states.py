"""Bringing a branch's site states up to a scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from audit.models import Branch, ScanRun, SiteState
from audit.scanner.report import BaselineState, Result
from audit.services.copying import rows_copy

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
    branch_id, is_open, outcome, first_seen_scan_id, last_seen_scan_id, closed_scan_id, {_COLUMN_LIST}
)
SELECT %(branch)s, TRUE, '', %(scan)s, %(scan)s, NULL, {_COLUMN_LIST} FROM state_found
ON CONFLICT (site_id, branch_id) DO UPDATE SET
    is_open = TRUE,
    outcome = '',
    last_seen_scan_id = EXCLUDED.last_seen_scan_id,
    closed_scan_id = NULL,
    {_UPDATES}
"""  # noqa: S608 -- column names of this module


@dataclass(frozen=True, slots=True)
class KnownState:
    """A site's state on a branch before the scan."""

    is_open: bool
    rule_id: str
    level: str
    path: str
    message: str
    form: str

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
    columns = ("site_id", "is_open", "rule_id", "level", "path", "message", "form")
    rows = SiteState.objects.filter(branch=branch).values_list(*columns)
    return {site_id: KnownState(*rest) for site_id, *rest in rows.iterator(chunk_size=10_000)}


def states_write(*, branch: Branch, scan_run: ScanRun, found: Sequence[FoundState]) -> None:
    """Note every site that the scan saw as open."""
    with connection.cursor() as cursor:
        cursor.execute(_FOUND)
        rows_copy(table="state_found", columns=_STATE_COLUMNS, rows=map(_row, found))
        cursor.execute(_WRITE, {"branch": branch.pk, "scan": scan_run.pk})
        cursor.execute("DROP TABLE state_found")


def states_close(*, branch: Branch, scan_run: ScanRun, site_ids: Sequence[int]) -> None:
    """Note the sites that the scan looked for and did not see."""
    SiteState.objects.filter(branch=branch, site_id__in=site_ids).update(
        is_open=False, baseline_state=BaselineState.ABSENT.value, closed_scan=scan_run, result=None
    )


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
