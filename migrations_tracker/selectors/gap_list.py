"""The capability gaps of a repository, over all its commits."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet
from django.http import QueryDict

from audit.models import CapabilityGap, Repository
from audit.parity.capability import State
from audit.parity.families import Family
from migrations_tracker.lifecycle import Status
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page

PAGE_SIZE = 50
COLUMNS = ("operator", "dtype", "device", "direction", "id")


@dataclass(frozen=True, slots=True)
class GapFilters:
    """What the list is narrowed to; an empty field does not narrow."""

    seen: str = "open"
    device: str = ""
    family: str = ""
    state: str = ""
    status: str = ""
    owner: str = ""
    text: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but open gaps is asked for."""
        return self != GapFilters()


@dataclass(frozen=True, slots=True)
class GapListPage:
    """A page of gaps, how many fit in all, and how many are open and closed whatever the filters."""

    page: KeysetPage[CapabilityGap]
    total: int
    open_total: int
    closed_total: int


def filters_read(query: QueryDict) -> GapFilters:
    """Read the filters from a URL; a value that is none is left out."""
    seen, family, state, status = (query.get(name, "") for name in ("seen", "family", "state", "status"))
    return GapFilters(
        seen=seen if seen in {"open", "closed", "any"} else "open",
        device=_clean(query.get("device", "")),
        family=family if family in set(Family) else "",
        state=state if state in set(State) else "",
        status=status if status in set(Status) else "",
        owner=_clean(query.get("owner", "")),
        text=_clean(query.get("q", "")),
    )


def gap_list(*, repository: Repository, filters: GapFilters, cursor: str = "") -> GapListPage:
    """Return one page of a repository's gaps."""
    gaps = CapabilityGap.objects.filter(repository=repository)
    counts = gaps.aggregate(
        open=Count("id", filter=Q(is_open=True)), closed=Count("id", filter=Q(is_open=False))
    )
    fitting = _narrowed(gaps, filters)
    rows = fitting.select_related("migration__assignee", "first_seen_scan__commit", "closed_scan__commit")
    return GapListPage(
        page=keyset_page(rows, columns=COLUMNS, cursor=cursor, size=PAGE_SIZE),
        total=fitting.count(),
        open_total=counts["open"],
        closed_total=counts["closed"],
    )


def _narrowed(gaps: QuerySet[CapabilityGap], filters: GapFilters) -> QuerySet[CapabilityGap]:
    if filters.seen != "any":
        gaps = gaps.filter(is_open=filters.seen == "open")
    exact = {
        "device": filters.device,
        "family": filters.family,
        "state": filters.state,
        "migration__status": filters.status,
        "migration__assignee__username": filters.owner,
    }
    gaps = gaps.filter(**{column: value for column, value in exact.items() if value})
    for word in filters.text.split():
        gaps = gaps.filter(Q(operator__icontains=word) | Q(path__icontains=word))
    return gaps


def _clean(text: str) -> str:
    return text.replace("\0", "").strip()[:200]
