"""The reports of a branch."""

from __future__ import annotations

from audit.models import Branch
from migrations_tracker.models import MigrationReport
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page

PAGE_SIZE = 30


def report_list(*, branch: Branch, cursor: str = "") -> KeysetPage[MigrationReport]:
    """Return one page of a branch's reports, newest first."""
    reports = MigrationReport.objects.filter(branch=branch).defer("document", "head")
    rows = reports.select_related(
        "branch__repository", "scan_run__commit", "since_scan__commit", "requested_by"
    )
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE, is_descending=True)
