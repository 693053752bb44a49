"""Counts over repositories, branches and scans."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.core.cache import caches
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery

from audit.models import (
    Branch,
    BranchScan,
    Repository,
    Result,
    RowState,
    ScanFile,
    ScanRun,
    SiteState,
)
from audit.scanner.report import FileStatus
from audit.selectors.rules import RulePage, rule_get
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import SiteMigration, Transition
from migrations_tracker.models.site_migration import STATUS_LABELS
from migrations_tracker.selectors.site_list import SEEN_LABELS, STANDING, Seen

LEVELS = ("error", "warning", "note")
RECENT = 8
KEPT_SECONDS = 24 * 3600
# Of two changes at the same moment the later may be seen first: so long a count may then be one short.
COUNTS_KEPT_SECONDS = 60
NOT_SCANNED_SHOWN = 200


@dataclass(slots=True)
class LevelCounts:
    """How many sites or results there are of each level."""

    by_level: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.by_level.values())

    @property
    def levels(self) -> list[tuple[str, int]]:
        """The levels that occur, gravest first."""
        return [(level, self.by_level[level]) for level in (*LEVELS, "none") if self.by_level[level]]


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """A rule and what it found."""

    rule: RulePage
    counts: LevelCounts


@dataclass(frozen=True, slots=True)
class StatusCount:
    """How many sites stand at a status, and the query of the list that holds just these."""

    key: str
    label: str
    count: int
    query: str


@dataclass(frozen=True, slots=True)
class RepositoryCard:
    """A repository as the overview shows it."""

    repository: Repository
    counts: LevelCounts
    last_scan: ScanRun | None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Counts by rule and by crate, largest first."""

    total: LevelCounts
    rules: Sequence[RuleCounts]
    crates: Sequence[tuple[str, LevelCounts]]


def repository_cards(*, repositories: QuerySet[Repository]) -> list[RepositoryCard]:
    """List repositories with what is open on their default branches."""
    seen = list(repositories)
    open_sites = (
        SiteState.objects.filter(
            is_open=True, branch__name=F("branch__repository__default_branch"), branch__repository__in=seen
        )
        .values_list("branch__repository_id", "level")
        .annotate(number=Count("*"))
    )
    counts: dict[int, LevelCounts] = {}
    for repository_id, level, count in open_sites:
        counts.setdefault(repository_id, LevelCounts()).by_level[level] += count
    newest = (
        ScanRun.objects.filter(repository__in=seen).order_by("repository_id", "-id").distinct("repository_id")
    )
    last_scans = {scan.repository_id: scan for scan in newest.select_related("commit")}
    return [
        RepositoryCard(repository, counts.get(repository.pk, LevelCounts()), last_scans.get(repository.pk))
        for repository in seen
    ]


def status_counts(*, repositories: Sequence[Repository]) -> list[StatusCount]:
    """Count the sites of some repositories' default branches by the status of their migration.

    What a scan no longer sees without knowing what became of it is counted by itself, last, and not under the
    status that it had.
    """
    newest = _newest_changes()
    ids = "-".join(str(repository.pk) for repository in repositories)
    key = f"status-counts-{hashlib.sha256(f'{ids} {newest}'.encode()).hexdigest()}"
    found = caches["process"].get(key)
    if found is None:
        found = _counted_by_status(repositories)
        caches["process"].set(key, found, COUNTS_KEPT_SECONDS)
    had, gone = found
    counts = [
        StatusCount(
            status.value,
            STATUS_LABELS[status],
            had.get(status.value, 0),
            f"status={status}&seen={_seen_of(status)}",
        )
        for status in Status
    ]
    return [*counts, StatusCount(Seen.LEFT.value, SEEN_LABELS[Seen.LEFT], gone, f"seen={Seen.LEFT}")]


def _counted_by_status(repositories: Sequence[Repository]) -> tuple[dict[str, int], int]:
    """Return the counts by status, and how many are gone while their migration was not."""
    migrations = SiteMigration.objects.filter(gap=None, site__repository__in=repositories).order_by()
    vanished = SiteState.objects.filter(
        site=OuterRef("site"), is_open=False, branch__name=F("branch__repository__default_branch")
    )
    rows = migrations.values_list("status", Exists(vanished)).annotate(number=Count("*"))
    counts, gone = Counter[str](), 0
    for status, is_gone, number in rows:
        if is_gone and status in STANDING:
            gone += number
        else:
            counts[status] += number
    return dict(counts), gone


def _seen_of(status: Status) -> Seen:
    return Seen.OPEN if status.value in STANDING else Seen.ANY


def _newest_changes() -> str:
    """Return what is another text after each change of a migration or branch, whoever or whatever made it."""
    changed = SiteMigration.pgh_event_models["changed"]  # type: ignore[attr-defined]
    events = changed.objects.order_by("-pgh_id").values("pgh_id")[:1]
    scans = BranchScan.objects.order_by("-id").values("id")[:1]
    steps = Transition.objects.order_by("-id").values_list("id", Subquery(events), Subquery(scans))[:1]
    return repr(steps.first())


def recent_scans(*, repositories: Sequence[Repository], count: int = RECENT) -> list[ScanRun]:
    """List the newest scans of some repositories."""
    scans = ScanRun.objects.filter(repository__in=repositories).order_by("-id")
    scans = scans.select_related("repository", "commit", "branch")
    return list(scans[:count])


def branch_breakdown(*, branch: Branch) -> Breakdown:
    """Count what is open on a branch."""
    rows = SiteState.objects.filter(branch=branch, is_open=True).order_by()
    return _breakdown(rows.values_list("rule_id", "crate", "level").annotate(number=Count("*")))


def scan_breakdown(*, scan_run: ScanRun) -> Breakdown:
    """Count what a scan found. The results of a scan that is over never change, so they are counted once."""
    rows = Result.objects.filter(scan_run=scan_run).order_by()
    counted = rows.values_list("rule_id", "crate", "level").annotate(number=Count("*"))
    if not scan_run.is_over:
        return _breakdown(counted)
    key = f"scan-breakdown-{scan_run.pk}"
    kept = caches["process"].get(key)
    if kept is None:
        kept = list(counted)
        caches["process"].set(key, kept, KEPT_SECONDS)
    return _breakdown(kept)


def open_counts_by_rule(*, repositories: QuerySet[Repository]) -> Counter[str]:
    """Count the open sites of the default branches of some repositories by rule."""
    rows = (
        SiteState.objects.filter(
            is_open=True,
            branch__name=F("branch__repository__default_branch"),
            branch__repository__in=repositories,
        )
        .order_by()
        .values_list("rule_id")
        .annotate(number=Count("*"))
    )
    return Counter(dict(rows))


def files_not_scanned(*, scan_run: ScanRun) -> list[ScanFile]:
    """List the files of a scan that were not read whole, with the reasons."""
    whole = [FileStatus.SCANNED.value, FileStatus.UNCHANGED.value]
    return list(ScanFile.objects.filter(scan_run=scan_run).exclude(status__in=whole)[:NOT_SCANNED_SHOWN])


def queue_position(*, scan_run: ScanRun) -> int:
    """Count the scans that wait before this one."""
    return ScanRun.objects.filter(state=RowState.PENDING, pk__lt=scan_run.pk).count()


def _breakdown(rows: object) -> Breakdown:
    total = LevelCounts()
    rules: dict[str, LevelCounts] = {}
    crates: dict[str, LevelCounts] = {}
    for rule_id, crate, level, count in rows:  # type: ignore[attr-defined]
        for counts in (
            total,
            rules.setdefault(rule_id, LevelCounts()),
            crates.setdefault(crate, LevelCounts()),
        ):
            counts.by_level[level] += count
    return Breakdown(
        total,
        [RuleCounts(rule_get(rule_id=rule_id), rules[rule_id]) for rule_id in sorted(rules)],
        sorted(crates.items(), key=lambda item: (-item[1].total, item[0])),
    )


def crate_open_counts(*, branch: Branch, crate: str) -> list[tuple[RulePage, int]]:
    """Count a crate's open sites on a branch by rule, the most first."""
    rows = (
        SiteState.objects.filter(branch=branch, crate=crate, is_open=True)
        .order_by()
        .values_list("rule_id")
        .annotate(count=Count("id"))
        .order_by("-count", "rule_id")
    )
    return [(rule_get(rule_id=rule_id), count) for rule_id, count in rows]
