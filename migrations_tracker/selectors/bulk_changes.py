"""What a change of many migrations would do, and what it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import BigIntegerField, Count, DecimalField, Func, QuerySet, Sum
from django.db.models.functions import Cast

from audit.models import Branch, Repository, SiteState
from migrations_tracker.lifecycle import Cause, Status, targets
from migrations_tracker.models import BulkChange, BulkChangeItem, ItemState, SiteMigration
from migrations_tracker.models.site_migration import STATUS_LABELS
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page
from migrations_tracker.selectors.site_list import SiteFilters, sites_narrowed

PAGE_SIZE = 50
EXAMPLES_SHOWN = 10
# What one change holds: its items are written when it is asked for, and gone through in batches.
ITEMS_AT_MOST = 20_000


@dataclass(frozen=True, slots=True)
class StatusGroup:
    """The matching sites that stand at one status, and which steps the table has from there."""

    status: Status
    label: str
    count: int
    targets: Sequence[str]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a filter matches before anything is changed. `unplanned` sites have no migration to move.

    `mark` is another one as soon as other sites match, or one of them has changed. Where more match than one
    change may hold, they are counted no further.
    """

    count: int
    unplanned: int
    groups: Sequence[StatusGroup]
    examples: Sequence[SiteState]
    choices: Sequence[tuple[str, str, int]]
    is_too_many: bool = False
    mark: str = ""


def migrations_matching(*, branch: Branch, filters: SiteFilters) -> QuerySet[SiteMigration]:
    """Return the migrations of the sites that a filter matches, in the order of their sites."""
    sites = sites_narrowed(branch, filters).values("site")
    return SiteMigration.objects.filter(site__in=sites).order_by("site")


def matching_mark(*, branch: Branch, filters: SiteFilters) -> str:
    """Return a short text that stands for the migrations that a filter matches, each in its version."""
    rows = migrations_matching(branch=branch, filters=filters).order_by()
    each = Func("id", "version", function="hashint8extended", output_field=BigIntegerField())
    found = rows.aggregate(
        count=Count("id"), hashes=Sum(Cast(each, DecimalField(max_digits=40, decimal_places=0)))
    )
    return f"{found['count']}:{found['hashes'] or 0:f}"


def bulk_preview(*, branch: Branch, filters: SiteFilters) -> Preview:
    """Count what a change of all that `filters` match would meet."""
    states = sites_narrowed(branch, filters)
    examples = list(states.select_related("site__migration__assignee").order_by("site")[:EXAMPLES_SHOWN])
    matching = states[: ITEMS_AT_MOST + 1].count()
    if matching > ITEMS_AT_MOST:
        return Preview(ITEMS_AT_MOST, 0, (), examples, (), is_too_many=True)
    rows = migrations_matching(branch=branch, filters=filters).order_by()
    counts = Counter(dict(rows.values_list("status").annotate(Count("id"))))
    unplanned = matching - counts.total()
    groups = [
        StatusGroup(
            status,
            STATUS_LABELS[status],
            counts[status.value],
            [edge.target.value for edge in targets(status, Cause.PERSON)],
        )
        for status in Status
        if counts[status.value]
    ]
    return Preview(
        count=counts.total(),
        unplanned=unplanned,
        groups=groups,
        examples=examples,
        choices=_choices(groups),
        mark=matching_mark(branch=branch, filters=filters),
    )


def _choices(groups: Sequence[StatusGroup]) -> list[tuple[str, str, int]]:
    """List the statuses that some of the sites may move to, with how many."""
    reach: Counter[str] = Counter()
    for group in groups:
        for target in group.targets:
            reach[target] += group.count
    return [
        (status.value, STATUS_LABELS[status], reach[status.value]) for status in Status if reach[status.value]
    ]


def bulk_change_list(*, repositories: QuerySet[Repository], cursor: str = "") -> KeysetPage[BulkChange]:
    """List the changes, newest first."""
    rows = BulkChange.objects.filter(branch__repository__in=repositories)
    rows = rows.select_related("branch__repository", "requested_by", "assignee")
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE, is_descending=True)


def bulk_change_items(*, change: BulkChange, state: str, cursor: str = "") -> KeysetPage[BulkChangeItem]:
    """List the migrations of a change that ended in one state."""
    rows = change.items.select_related("site_migration__site")
    if state in ItemState.values:
        rows = rows.filter(state=state)
    return keyset_page(rows, columns=("id",), cursor=cursor, size=PAGE_SIZE)
