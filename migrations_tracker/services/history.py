"""What a branch's history means for the plan."""

from __future__ import annotations

from collections.abc import Sequence

from audit.models import Branch, BranchScan, ScanRun, SiteState
from migrations_tracker.services.follow_up import (
    FOUND,
    MIGRATED,
    sites_gone_follow_up,
    sites_migrate,
    sites_reopen,
)
from migrations_tracker.services.site_migrations import site_migrations_open


def history_follow_up(scan_run: ScanRun, branch: Branch, sites: Sequence[int]) -> None:
    """Begin migrations for the sites that the default branch's history brought, and move those it settles.

    What is migrated names the scan of the history that saw it, every other step `scan_run`, the newest one.
    """
    if branch.name != branch.repository.default_branch:
        return
    site_migrations_open(sites=sites, scan_run=scan_run, reason=FOUND)
    states = SiteState.objects.filter(branch=branch)
    sites_reopen(sites=list(states.filter(is_open=True).values_list("site_id", flat=True)), scan_run=scan_run)
    gone = states.filter(is_open=False)
    sites_gone_follow_up(sites=list(gone.values_list("site_id", flat=True)), scan_run=scan_run)
    _settled_migrate(branch)


def _settled_migrate(branch: Branch) -> None:
    """Move the migrations of sites that are gone with an outcome, each by the scan that saw them gone.

    Where a scan was of the same code as the one before, another scanner dropped them, and nobody migrated
    anything.
    """
    rescans = [
        scan.scan_run_id
        for scan in BranchScan.objects.filter(branch=branch).select_related("scan_run", "previous__scan_run")
        if scan.is_same_code
    ]
    settled: dict[tuple[int, str], list[int]] = {}
    told = SiteState.objects.filter(branch=branch, is_open=False, outcome__in=MIGRATED)
    rows = told.exclude(closed_scan__in=rescans).values_list("closed_scan_id", "outcome", "site_id")
    for closed_scan, outcome, site in rows.order_by("site_id"):
        settled.setdefault((closed_scan, outcome), []).append(site)
    scans = ScanRun.objects.in_bulk({scan for scan, _ in settled})
    for (closed_scan, outcome), sites in sorted(settled.items()):
        sites_migrate(sites=sites, scan_run=scans[closed_scan], outcome=outcome)
