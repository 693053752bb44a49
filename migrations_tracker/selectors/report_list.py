"""The reports of a branch, and what a report may tell the difference to."""

from __future__ import annotations

from audit.models import Branch, RowState, ScanRun
from migrations_tracker.models import MigrationReport
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page

PAGE_SIZE = 30
_SCANS_SHOWN = 200


def report_list(*, branch: Branch, cursor: str = "") -> KeysetPage[MigrationReport]:
    """Return one page of a branch's reports, newest first."""
    reports = MigrationReport.objects.filter(branch=branch).defer("document")
    rows = reports.select_related(
        "branch__repository", "scan_run__commit", "since_scan__commit", "requested_by"
    )
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE, is_descending=True)


def scans_before(*, branch: Branch) -> list[ScanRun]:
    """List the stored scans of a branch before its last, newest first."""
    stored = ScanRun.objects.filter(branch=branch, state=RowState.SUCCEEDED, applies_to_branch=True)
    if branch.last_scan_id is None:
        return []
    return list(
        stored.filter(pk__lt=branch.last_scan_id).select_related("commit").order_by("-pk")[:_SCANS_SHOWN]
    )
