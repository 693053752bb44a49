"""What a stored scan means for the plan."""

from __future__ import annotations

from audit.services.ingest import IngestSummary
from migrations_tracker.lifecycle import Status
from migrations_tracker.services.site_migrations import site_migrations_move_by_scan, site_migrations_open
from migrations_tracker.services.suppressions import suppression_end

FOUND = "Found by a scan."
REOPENED = "The scanner sees the site again."
SUPPRESSION_OVER = "The scanner no longer sees the site, so its suppression ended."


def scan_run_follow_up(summary: IngestSummary) -> None:
    """Begin migrations for new sites, reopen those that came back, and end suppressions of sites gone.

    Only the default branch speaks for the plan. A site that is merely absent stays where it is: what became
    of it is not known.
    """
    if summary.branch is None or summary.branch.name != summary.branch.repository.default_branch:
        return
    scan_run = summary.scan_run
    seen = (*summary.new_sites, *summary.reopened_sites)
    site_migrations_open(sites=seen, scan_run=scan_run, reason=FOUND)
    site_migrations_move_by_scan(
        sites=seen,
        sources=(Status.MIGRATED, Status.VERIFIED),
        to=Status.REOPENED,
        scan_run=scan_run,
        is_seen=True,
        reason=REOPENED,
    )
    site_migrations_move_by_scan(
        sites=summary.absent_sites,
        sources=(Status.SUPPRESSED,),
        to=Status.OPEN,
        scan_run=scan_run,
        is_seen=False,
        reason=SUPPRESSION_OVER,
    )
    suppression_end(sites=summary.absent_sites, because=SUPPRESSION_OVER)
