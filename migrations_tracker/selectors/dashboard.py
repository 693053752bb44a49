"""A repository at a glance: what is left, is it going down, who is at it, who does what next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.db.models import Case, F, Sum, Value, When

from audit.models import Branch, BranchScan, Repository, SiteEvent, SiteEventKind, SiteTally
from audit.selectors.history import Counts, Dimension, counts_over_time
from audit.selectors.rules import RulePage, rule_get
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import Schedule, ScheduledUnit
from migrations_tracker.scheduling.units import UnitStatus
from migrations_tracker.selectors.overview import StatusCount, status_counts
from workers.selectors.runners import RunnerSight, runners_in_sight

RECENT_DAYS = 28
REGRESSIONS_SHOWN = 5
UNITS_SHOWN = 8
SHADES = 5
BROKEN_PTX = "FT017"


@dataclass(frozen=True, slots=True)
class HeatCell:
    """How many sites of a rule are open in a crate; `shade` is 0 for none, up to 5 for the most."""

    rule_id: str
    count: int
    shade: int


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A crate's cells, one for each rule of the map."""

    crate: str
    cells: Sequence[HeatCell]
    total: int


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Crates by rules: the crates with most first, the rules by id."""

    rules: Sequence[tuple[RulePage, int]]
    rows: Sequence[HeatRow]
    total: int


@dataclass(frozen=True, slots=True)
class RecentChange:
    """What came and went in the weeks before the branch's newest commit."""

    days: int
    new: int
    reopened: int
    closed: int


@dataclass(frozen=True, slots=True)
class Dashboard:
    """What the dashboard shows of a branch."""

    branch: Branch
    newest: BranchScan | None
    counts: Counts
    heat: HeatMap
    recent: RecentChange
    outcomes: Sequence[tuple[str, int]]
    gone_total: int
    statuses: Sequence[StatusCount]
    verified: int
    broken_ptx: int
    regressions: Sequence[SiteEvent]
    runners: Sequence[RunnerSight]
    next_units: Sequence[ScheduledUnit]


def dashboard(*, repository: Repository) -> Dashboard | None:
    """Gather what is known of a repository's default branch; None before its first scan."""
    branch = (
        Branch.objects.filter(repository=repository, name=repository.default_branch)
        .exclude(last_scan=None)
        .first()
    )
    if branch is None:
        return None
    counts = counts_over_time(branch=branch, by=Dimension.RULE)
    newest = counts.scans[-1] if counts.scans else None
    open_cells, gone = _standing(newest)
    statuses = status_counts(repositories=[repository])
    return Dashboard(
        branch=branch,
        newest=newest,
        counts=counts,
        heat=heat_map(open_cells),
        recent=recent_change(counts.scans),
        outcomes=gone.most_common(),
        gone_total=gone.total(),
        statuses=statuses,
        verified=next(one.count for one in statuses if one.key == Status.VERIFIED),
        broken_ptx=sum(count for (_, rule_id), count in open_cells.items() if rule_id == BROKEN_PTX),
        regressions=list(
            SiteEvent.objects.filter(branch_scan__branch=branch, kind=SiteEventKind.REOPENED)
            .select_related("site", "branch_scan__scan_run__commit")
            .order_by("-id")[:REGRESSIONS_SHOWN]
        ),
        runners=runners_in_sight(),
        next_units=_next_units(repository),
    )


def heat_map(open_cells: Counter[tuple[str, str]]) -> HeatMap:
    """Arrange counts by crate and rule as a map; each shade stands for a fifth of the largest count."""
    by_crate: Counter[str] = Counter()
    by_rule: Counter[str] = Counter()
    for (crate, rule_id), count in open_cells.items():
        by_crate[crate] += count
        by_rule[rule_id] += count
    largest = max(open_cells.values(), default=1)
    rule_ids = sorted(by_rule)
    rows = [
        HeatRow(
            crate=crate,
            cells=[
                HeatCell(rule_id, open_cells[crate, rule_id], _shade(open_cells[crate, rule_id], largest))
                for rule_id in rule_ids
            ],
            total=total,
        )
        for crate, total in sorted(by_crate.items(), key=lambda item: (-item[1], item[0]))
    ]
    rules = [(rule_get(rule_id=rule_id), by_rule[rule_id]) for rule_id in rule_ids]
    return HeatMap(rules, rows, by_rule.total())


def recent_change(scans: Sequence[BranchScan]) -> RecentChange:
    """Sum what the scans of the last weeks changed, by the dates of their commits."""
    if not scans:
        return RecentChange(RECENT_DAYS, 0, 0, 0)
    begin = _when(scans[-1]) - timedelta(days=RECENT_DAYS)
    # The first scan of a branch finds everything, and nothing of it is a change.
    recent = [scan for scan in scans if scan.previous_id and _when(scan) > begin and not scan.is_same_code]
    return RecentChange(
        days=RECENT_DAYS,
        new=sum(scan.new_count for scan in recent),
        reopened=sum(scan.reopened_count for scan in recent),
        closed=sum(scan.closed_count for scan in recent),
    )


def _when(scan: BranchScan) -> datetime:
    return scan.scan_run.commit.committed_at or scan.created_at


def _shade(count: int, largest: int) -> int:
    return ceil(SHADES * count / largest)


def _standing(newest: BranchScan | None) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """Return what is open by crate and rule, and what is gone by outcome, as the newest scan counted it.

    What people rule about the newest scan is counted there, too: its tallies are those of the sites.
    """
    open_cells: Counter[tuple[str, str]] = Counter()
    gone: Counter[str] = Counter()
    tallies = SiteTally.objects.filter(branch_scan=newest).order_by()
    for is_open, crate, rule_id, outcome, count in tallies.values_list(
        "is_open", _of_open("crate"), _of_open("rule_id"), "outcome"
    ).annotate(number=Sum("count")):
        if is_open:
            open_cells[crate, rule_id] += count
        else:
            gone[outcome] += count
    return open_cells, gone


def _of_open(column: str) -> Case:
    return Case(When(is_open=True, then=F(column)), default=Value(""))


def _next_units(repository: Repository) -> list[ScheduledUnit]:
    newest = (
        Schedule.objects.filter(plan__repository=repository, what_if={}, makespan__isnull=False)
        .order_by("-id")
        .values("pk")[:1]
    )
    placed = ScheduledUnit.objects.filter(schedule__in=newest)
    rows = placed.select_related("unit", "person").exclude(unit__status=UnitStatus.FINISHED.value)
    return list(rows.order_by("starts_at", "id")[:UNITS_SHOWN])
