"""What a branch has gone through since it stood at an earlier scan, as its history tells it.

Where a scan stands on a branch is its place there. The number of a scan says when it was asked for: the
past is read in after the present, and a branch is put back to a scan of before.
"""

from __future__ import annotations

from collections.abc import Iterable

from audit.models import Branch, BranchScan, Result, ScanRun, SiteEvent, SiteEventKind
from audit.services.copying import ids_among


def position_of(*, branch: Branch, scan_run: ScanRun | None) -> int:
    """Return where a branch stood last at a scan; 0, before everything, for none or where it never did."""
    rows = (
        BranchScan.objects.filter(branch=branch, scan_run=scan_run) if scan_run else BranchScan.objects.none()
    )
    return max(rows.values_list("position", flat=True), default=0)


def scans_before(*, branch: Branch, at_most: int) -> list[ScanRun]:
    """List the scans that a branch stood at before its last one, the newest place first, each once."""
    now = position_of(branch=branch, scan_run=branch.last_scan)
    rows = BranchScan.objects.filter(branch=branch, position__lt=now).exclude(scan_run=branch.last_scan_id)
    rows = rows.select_related("scan_run__commit").order_by("-position")
    return list(dict.fromkeys(row.scan_run for row in rows[:at_most]))


def sites_changed_since(*, branch: Branch, position: int, kind: SiteEventKind) -> frozenset[int]:
    """Return the sites that something has happened to on a branch since it stood at `position`."""
    events = SiteEvent.objects.filter(
        branch_scan__branch=branch, branch_scan__position__gt=position, kind=kind
    )
    return frozenset(events.values_list("site_id", flat=True))


def last_results(*, branch: Branch, before: int, sites: Iterable[int]) -> dict[int, int]:
    """Return the last result of each site that a branch had before it came to a place."""
    rows = Result.objects.filter(
        site_id__in=ids_among(sites),
        scan_run__branch_scans__branch=branch,
        scan_run__branch_scans__position__lt=before,
    ).order_by("site_id", "-scan_run__branch_scans__position", "-id")
    return dict(rows.distinct("site_id").values_list("site_id", "pk"))
