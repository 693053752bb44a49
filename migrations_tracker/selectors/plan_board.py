"""The plan's units on a board and in a list, and what no unit holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum, Value, Window
from django.db.models.functions import Coalesce, RowNumber
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
    units = WorkUnit.objects.filter(plan=plan)
    fits = _fits(filters)
    counted = list(
        units.order_by()
        .values_list("phase", "status", "crate")
        .annotate(count=Count("pk", filter=fits), hours=Sum("hours_likely", filter=fits, default=0.0))
    )
    columns = _columns(units.filter(fits), counted)
    finished = units.filter(status=UnitStatus.FINISHED.value).only(*_TAUGHT_COLUMNS)
    return Board(
        columns=columns,
        crates=sorted({crate for _, _, crate, _, _ in counted} - {""}),
        people=list(plan.people.values_list("name", flat=True)),
        total=sum(column.total for column in columns),
        missing=missing_count(repository=plan.repository),
        cycles=cycles_of(plan=plan),
        events=list(PlanEvent.objects.filter(plan=plan).select_related("actor", "unit")[:EVENTS_SHOWN]),
        learned=list(learn(finished_units(finished)).values()),
    )


def unit_list(*, plan: Plan, filters: UnitFilters, cursor: str = "") -> UnitList:
    """Return one page of a plan's units."""
    units = WorkUnit.objects.filter(_fits(filters), plan=plan)
    edges = Precedence.objects.filter(after=OuterRef("pk")).exclude(state=PrecedenceState.CUT)
    # Counted for the rows of the page alone.
    waits = edges.order_by().values("after").annotate(count=Count("pk")).values("count")
    rows = units.select_related("person").annotate(waits=Coalesce(Subquery(waits), 0))
    return UnitList(keyset_page(rows, columns=COLUMNS, cursor=cursor, size=PAGE_SIZE), units.count())


def missing_sites(*, repository: Repository) -> QuerySet[SiteState]:
    """Return the open sites that nobody suppressed and no unit holds."""
    # Asked so, with the branch known, the indexes of the three tables answer alone.
    branch = Branch.objects.filter(repository=repository, name=repository.default_branch).first()
    held = UnitMember.objects.filter(is_current=True, site=OuterRef("site"))
    suppressed = SiteMigration.objects.filter(status=Status.SUPPRESSED.value, site=OuterRef("site"))
    return SiteState.objects.filter(~Exists(suppressed), ~Exists(held), branch=branch, is_open=True).order_by(
        "path", "start_line", "id"
    )


def missing_gaps(*, repository: Repository) -> QuerySet[CapabilityGap]:
    """Return the open gaps that nobody suppressed and no unit holds."""
    held = UnitMember.objects.filter(is_current=True, gap=OuterRef("pk"))
    suppressed = SiteMigration.objects.filter(status=Status.SUPPRESSED.value, gap=OuterRef("pk"))
    return CapabilityGap.objects.filter(
        ~Exists(suppressed), ~Exists(held), repository=repository, is_open=True
    ).order_by("operator", "dtype", "id")


def missing_count(*, repository: Repository) -> int:
    """Count the open sites and gaps that nobody suppressed and no unit holds, in one query."""
    sites, gaps = missing_sites(repository=repository), missing_gaps(repository=repository)
    both = (rows.order_by().annotate(one=Value(1)).values_list("one") for rows in (sites, gaps))
    return next(both).union(next(both), all=True).count()


def cycles_of(*, plan: Plan) -> list[list[Precedence]]:
    """Return one shortest cycle of each knot of units that wait for each other, as its edges."""
    edges = Precedence.objects.exclude(state=PrecedenceState.CUT)
    # An edge closes a chain only where another leads to it and one leads on: few have both.
    leads_on = edges.filter(before__plan=plan).filter(
        Exists(edges.filter(after=OuterRef("before"))), Exists(edges.filter(before=OuterRef("after")))
    )
    pairs = {
        (str(before), str(after)): pk
        for pk, before, after in leads_on.values_list("pk", "before_id", "after_id")
    }
    found = [[pairs[edge] for edge in cycle.edges] for cycle in find_cycles((), pairs)]
    if not found:
        return []
    rows = Precedence.objects.select_related("before", "after").in_bulk(
        [pk for cycle in found for pk in cycle]
    )
    return [[rows[pk] for pk in cycle] for cycle in found]


def _columns(units: QuerySet[WorkUnit], counted: Iterable[tuple[int, str, str, int, float]]) -> list[Column]:
    """Read the first units of each phase and state; how many there are and their hours is counted."""
    rank = Window(
        RowNumber(), partition_by=("phase", "status"), order_by=(F("weight").desc(), F("key").asc())
    )
    # Ranked are keys alone: whole rows take three times as long to sort, and to join the keys to all rows
    # takes as long again.
    keys = list(units.annotate(rank=rank).filter(rank__lte=SHOWN).values_list("pk", flat=True))
    shown = WorkUnit.objects.filter(pk__in=keys)
    first: dict[tuple[int, str], list[WorkUnit]] = {}
    for unit in shown.order_by("-weight", "key").select_related("person").only(*_SHOWN_COLUMNS):
        first.setdefault((unit.phase, unit.status), []).append(unit)
    totals: dict[tuple[int, str], tuple[int, float]] = {}
    for number, state, _, count, hours in counted:
        known = totals.get((number, state), (0, 0.0))
        totals[number, state] = (known[0] + count, known[1] + hours)
    columns = []
    for phase in Phase:
        groups = [
            Group(status.value, label, found, *totals[phase.value, status.value])
            for status, label in UNIT_STATUS_LABELS.items()
            if (found := first.get((phase.value, status.value)))
        ]
        columns.append(Column(phase.value, PHASE_LABELS[phase], groups, sum(one.total for one in groups)))
    return columns


def _fits(filters: UnitFilters) -> Q:
    exact = {
        "phase": filters.phase,
        "status": filters.status,
        "crate": filters.crate,
        "person__name": filters.person,
    }
    # What every unit fulfils stands first: a count takes no empty condition.
    fits = Q(pk__isnull=False, **{column: value for column, value in exact.items() if value})
    for word in filters.text.split():
        fits &= Q(title__icontains=word) | Q(key__icontains=word)
    return fits


def _clean(text: str) -> str:
    return text.replace("\0", "").strip()[:200]
