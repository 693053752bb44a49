"""The plan's units on a board and in a list, and what no unit holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum, Window
from django.db.models.functions import RowNumber
from django.http import QueryDict

from audit.models import Branch, CapabilityGap, Repository, SiteState
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import (
    Plan,
    PlanEvent,
    Precedence,
    PrecedenceState,
    SiteMigration,
    UnitMember,
    WorkUnit,
)
from migrations_tracker.models.plan import PHASE_LABELS, UNIT_STATUS_LABELS
from migrations_tracker.scheduling.estimating import Correction, learn
from migrations_tracker.scheduling.graph import find_cycles
from migrations_tracker.scheduling.units import Phase, UnitStatus
from migrations_tracker.selectors.keyset import KeysetPage, keyset_page
from migrations_tracker.selectors.plan_facts import finished_units

SHOWN = 12
PAGE_SIZE = 50
EVENTS_SHOWN = 12
MISSING_SHOWN = 200
COLUMNS = ("phase", "key")
_SHOWN_COLUMNS = (
    "title",
    "phase",
    "status",
    "category",
    "hours_likely",
    "item_count",
    "is_edited",
    "person__name",
)
_TAUGHT_COLUMNS = ("crate", "status", "key", "rules", "base_hours", "hours_likely", "actual_hours")


@dataclass(frozen=True, slots=True)
class UnitFilters:
    """What board and list are narrowed to; an empty field does not narrow."""

    phase: str = ""
    status: str = ""
    crate: str = ""
    person: str = ""
    text: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but all is asked for."""
        return self != UnitFilters()


@dataclass(frozen=True, slots=True)
class Group:
    """The units of one phase in one state: the first ones, how many there are, and their hours."""

    status: str
    label: str
    units: Sequence[WorkUnit]
    total: int
    hours: float


@dataclass(frozen=True, slots=True)
class Column:
    """One phase of the board."""

    phase: int
    label: str
    groups: Sequence[Group]
    total: int


@dataclass(frozen=True, slots=True)
class Board:
    """What the board shows.

    `cycles` are chains of edges that close, each of which a person can cut; `learned` is what finished units
    say about the base rates, with the points behind it.
    """

    columns: Sequence[Column]
    crates: Sequence[str]
    people: Sequence[str]
    total: int
    missing: int
    cycles: Sequence[Sequence[Precedence]]
    events: Sequence[PlanEvent]
    learned: Sequence[Correction]


@dataclass(frozen=True, slots=True)
class UnitList:
    """A page of units, and how many there are."""

    page: KeysetPage[WorkUnit]
    total: int


def filters_read(query: QueryDict) -> UnitFilters:
    """Read the filters from a URL; a value that is none is left out."""
    phase, status = query.get("phase", ""), query.get("status", "")
    return UnitFilters(
        phase=phase if phase in {str(one.value) for one in Phase} else "",
        status=status if status in set(UnitStatus) else "",
        crate=_clean(query.get("crate", "")),
        person=_clean(query.get("person", "")),
        text=_clean(query.get("q", "")),
    )


def board(*, plan: Plan, filters: UnitFilters) -> Board:
    """Return the board of a plan."""
    units = _narrowed(WorkUnit.objects.filter(plan=plan), filters)
    columns = _columns(units)
    finished = WorkUnit.objects.filter(plan=plan, status=UnitStatus.FINISHED.value).only(*_TAUGHT_COLUMNS)
    crates = WorkUnit.objects.filter(plan=plan).exclude(crate="").order_by("crate")
    return Board(
        columns=columns,
        crates=list(crates.values_list("crate", flat=True).distinct()),
        people=list(plan.people.values_list("name", flat=True)),
        total=sum(column.total for column in columns),
        missing=missing_sites(repository=plan.repository).count()
        + missing_gaps(repository=plan.repository).count(),
        cycles=cycles_of(plan=plan),
        events=list(PlanEvent.objects.filter(plan=plan).select_related("actor", "unit")[:EVENTS_SHOWN]),
        learned=list(learn(finished_units(finished)).values()),
    )


def unit_list(*, plan: Plan, filters: UnitFilters, cursor: str = "") -> UnitList:
    """Return one page of a plan's units."""
    units = _narrowed(WorkUnit.objects.filter(plan=plan), filters)
    rows = units.select_related("person").annotate(
        waits=Count("edges_in", filter=~Q(edges_in__state=PrecedenceState.CUT), distinct=True)
    )
    return UnitList(keyset_page(rows, columns=COLUMNS, cursor=cursor, size=PAGE_SIZE), units.count())


def missing_sites(*, repository: Repository) -> QuerySet[SiteState]:
    """Return the open sites that nobody suppressed and no unit holds."""
    # Asked so, the indexes of the three tables answer alone.
    branch = Branch.objects.filter(repository=repository, name=repository.default_branch)
    held = UnitMember.objects.filter(is_current=True, site=OuterRef("site"))
    suppressed = SiteMigration.objects.filter(status=Status.SUPPRESSED.value, site=OuterRef("site"))
    return SiteState.objects.filter(
        ~Exists(suppressed), ~Exists(held), branch=Subquery(branch.values("pk")), is_open=True
    ).order_by("path", "start_line", "id")


def missing_gaps(*, repository: Repository) -> QuerySet[CapabilityGap]:
    """Return the open gaps that nobody suppressed and no unit holds."""
    held = UnitMember.objects.filter(is_current=True, gap__isnull=False).values("gap")
    return (
        CapabilityGap.objects.filter(repository=repository, is_open=True)
        .exclude(migration__status=Status.SUPPRESSED.value)
        .exclude(pk__in=held)
        .order_by("operator", "dtype", "id")
    )


def cycles_of(*, plan: Plan) -> list[list[Precedence]]:
    """Return one shortest cycle of each knot of units that wait for each other, as its edges."""
    pairs = {
        (str(before), str(after)): pk
        for pk, before, after in Precedence.objects.filter(before__plan=plan)
        .exclude(state=PrecedenceState.CUT)
        .values_list("pk", "before_id", "after_id")
    }
    found = [[pairs[edge] for edge in cycle.edges] for cycle in find_cycles((), pairs)]
    if not found:
        return []
    rows = Precedence.objects.select_related("before", "after").in_bulk(
        [pk for cycle in found for pk in cycle]
    )
    return [[rows[pk] for pk in cycle] for cycle in found]


def _columns(units: QuerySet[WorkUnit]) -> list[Column]:
    """Read the first units of each phase and state, with how many there are and their hours."""
    group = ("phase", "status")
    ranked = units.annotate(
        rank=Window(RowNumber(), partition_by=group, order_by=(F("weight").desc(), F("key").asc())),
        total=Window(Count("pk"), partition_by=group),
        hours=Window(Sum("hours_likely"), partition_by=group),
    ).filter(rank__lte=SHOWN)
    first: dict[tuple[int, str], list[Any]] = {}
    for unit in ranked.select_related("person").only(*_SHOWN_COLUMNS).order_by(*group, "rank"):
        first.setdefault((unit.phase, unit.status), []).append(unit)
    columns = []
    for phase in Phase:
        groups = [
            Group(status.value, label, found, found[0].total, found[0].hours)
            for status, label in UNIT_STATUS_LABELS.items()
            if (found := first.get((phase.value, status.value)))
        ]
        columns.append(Column(phase.value, PHASE_LABELS[phase], groups, sum(one.total for one in groups)))
    return columns


def _narrowed(units: QuerySet[WorkUnit], filters: UnitFilters) -> QuerySet[WorkUnit]:
    exact = {
        "phase": filters.phase,
        "status": filters.status,
        "crate": filters.crate,
        "person__name": filters.person,
    }
    units = units.filter(**{column: value for column, value in exact.items() if value})
    for word in filters.text.split():
        units = units.filter(Q(title__icontains=word) | Q(key__icontains=word))
    return units


def _clean(text: str) -> str:
    return text.replace("\0", "").strip()[:200]
