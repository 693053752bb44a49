"""A branch over time, as it was kept scan by scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from django.db.models import F, Sum

from audit.models import Branch, BranchScan, ScanRun, SiteTally

PAGE_SIZE = 50
RATE_DAYS = 28


class Dimension(StrEnum):
    """What sites are counted by over time; by outcome it is those that are gone."""

    RULE = "rule"
    CRATE = "crate"
    OUTCOME = "outcome"


_COLUMNS = {Dimension.RULE: "rule_id", Dimension.CRATE: "crate", Dimension.OUTCOME: "outcome"}


@dataclass(frozen=True, slots=True)
class Series:
    """One key's counts, one for each point in time."""

    key: str
    counts: Sequence[int]


@dataclass(frozen=True, slots=True)
class Counts:
    """A branch's sites over time. The series are sorted by their newest count, the largest first."""

    scans: Sequence[BranchScan]
    series: Sequence[Series]

    @property
    def totals(self) -> list[int]:
        """The sums of all series."""
        return [sum(one) for one in zip(*(series.counts for series in self.series), strict=True)]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a branch went in its last weeks, by the dates of its commits."""

    days: int
    closed: int
    added: int
    open_count: int

    @property
    def net_per_week(self) -> float:
        """How many sites fewer there were after a week."""
        return (self.closed - self.added) * 7 / self.days

    @property
    def growth_per_week(self) -> float:
        """How many more there were after a week."""
        return -self.net_per_week

    def ends_on(self, today: date) -> date | None:
        """The day on which none would be open at this rate; None where that takes decades, or never comes."""
        if self.net_per_week <= 0 or self.open_count / self.net_per_week > 52 * 20:
            return None
        return today + timedelta(weeks=self.open_count / self.net_per_week)


def counts_over_time(*, branch: Branch, by: Dimension, rule: str = "", crate: str = "") -> Counts:
    """Count what is open on a branch after each of its scans, or what is gone by its outcome."""
    scans = list(
        BranchScan.objects.filter(branch=branch).select_related("scan_run__commit", "previous__scan_run")
    )
    place = {scan.pk: number for number, scan in enumerate(scans)}
    tallies = SiteTally.objects.filter(branch_scan__branch=branch, is_open=by is not Dimension.OUTCOME)
    if rule:
        tallies = tallies.filter(rule_id=rule)
    if crate:
        tallies = tallies.filter(crate=crate)
    column = _COLUMNS[by]
    found: dict[str, list[int]] = {}
    for branch_scan_id, key, count in (
        tallies.order_by().values_list("branch_scan_id", column).annotate(Sum("count"))
    ):
        found.setdefault(key, [0] * len(scans))[place[branch_scan_id]] = count
    series = [Series(key, counts) for key, counts in found.items()]
    return Counts(scans, sorted(series, key=lambda one: (-one.counts[-1], -max(one.counts), one.key)))


def scan_before(*, scan_run: ScanRun, branch: Branch | None) -> BranchScan | None:
    """Return what a scan changed on a branch, and the scan before it; None where it changed nothing there."""
    moved = BranchScan.objects.filter(scan_run=scan_run, branch=branch)
    return moved.select_related("scan_run", "previous__scan_run").first()


def history_page(*, branch: Branch, before: int = 0, size: int = PAGE_SIZE) -> list[BranchScan]:
    """List a branch's scans, newest first; one more than `size` where there are more."""
    rows = BranchScan.objects.filter(branch=branch).select_related(
        "scan_run__commit", "scan_run__repository", "previous__scan_run__commit"
    )
    if before:
        rows = rows.filter(position__lt=before)
    return list(rows.order_by("-position")[: size + 1])


def pace(*, branch: Branch) -> Pace | None:
    """Say how fast sites were closed in the weeks before the branch's newest commit."""
    rows = BranchScan.objects.filter(branch=branch, scan_run__commit__committed_at__isnull=False)
    newest = rows.select_related("scan_run__commit").order_by("-position").first()
    if newest is None or newest.scan_run.commit.committed_at is None:
        return None
    end: datetime = newest.scan_run.commit.committed_at
    # What came or went while the code stayed the same is the scanner's doing, and no pace of the work.
    recent = rows.filter(
        previous__isnull=False, scan_run__commit__committed_at__gt=end - timedelta(days=RATE_DAYS)
    ).exclude(previous__scan_run__commit=F("scan_run__commit"))
    sums = recent.aggregate(Sum("closed_count"), Sum("new_count"), Sum("reopened_count"))
    if sums["closed_count__sum"] is None:
        return None
    added = sums["new_count__sum"] + sums["reopened_count__sum"]
    return Pace(RATE_DAYS, sums["closed_count__sum"], added, newest.open_count)
