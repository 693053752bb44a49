"""The capability gaps that a report counts: those of its own branch at its own scan."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from audit.models import Branch, BranchScan, Capability, CapabilityGap, CapabilityReading, ScanFile, ScanRun
from audit.scanner.report import FileStatus
from audit.selectors.branch_periods import position_of

_READ = (FileStatus.SCANNED.value, FileStatus.UNCHANGED.value)
_CASE = ("operator", "dtype", "device", "direction")


@dataclass(frozen=True, slots=True)
class GapCounts:
    """How many gaps are open and were closed, None where that is not known, and then why."""

    open: int | None = None
    closed: int | None = None
    unknown: str = ""


def gap_counts(*, branch: Branch, scan_run: ScanRun, since: ScanRun | None) -> GapCounts:
    """Count a branch's gaps at a scan, and those closed since an earlier one or since its first.

    Scans of the default branch keep gaps over time; of any other branch the scans' own cells are compared.
    """
    failure = _why_unknown(scan_run)
    if failure:
        return GapCounts(unknown=failure)
    if branch.name == branch.repository.default_branch:
        gaps = CapabilityGap.objects.filter(repository=branch.repository)
        later = BranchScan.objects.filter(
            branch=branch, position__gt=position_of(branch=branch, scan_run=since)
        )
        closed = gaps.filter(is_open=False, closed_scan__in=later.values("scan_run")).count()
        return GapCounts(gaps.filter(is_open=True).count(), closed)
    gaps_now = Capability.objects.filter(scan_run=scan_run, is_gap=True).count()
    earlier = since or _first_scan(branch)
    failure = _why_unknown(earlier)
    return GapCounts(gaps_now, None if failure else _closed_between(earlier, scan_run).count(), failure)


def _why_unknown(scan_run: ScanRun) -> str:
    reading = CapabilityReading.objects.filter(scan_run=scan_run).first()
    if reading is None:
        return f"No capability matrix was derived at scan #{scan_run.pk}."
    return reading.failure_reason


def _first_scan(branch: Branch) -> ScanRun:
    rows = BranchScan.objects.filter(branch=branch).select_related("scan_run")
    return rows.order_by("position")[0].scan_run


def _closed_between(earlier: ScanRun, later: ScanRun) -> QuerySet[Capability]:
    """Return the gaps of one scan that another saw closed: code that it could not read closes none."""
    cells = Capability.objects.filter(scan_run=later, **{column: OuterRef(column) for column in _CASE})
    unread = ScanFile.objects.filter(scan_run=later).exclude(status__in=_READ)
    return Capability.objects.filter(
        Exists(cells) | ~Q(path__in=unread.values("path")), scan_run=earlier, is_gap=True
    ).exclude(Exists(cells.filter(is_gap=True)))
