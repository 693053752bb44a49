"""The plan: its units, who does what next, and a unit's progress."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from ninja import Query, Router, Schema
from pydantic import AwareDatetime, Field

from migrations_tracker.api.v1.choosing import plan_of, unit_numbered
from migrations_tracker.api.v1.paging import Cursor, Page
from migrations_tracker.api.v1.parameters import Key, Text, Version, Word
from migrations_tracker.api.v1.problems import RefusedError
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.api.v1.shapes import UnitDetail, UnitOut
from migrations_tracker.models import Person, Plan, PrecedenceState, WorkUnit
from migrations_tracker.scheduling.units import Phase, UnitStatus
from migrations_tracker.selectors.plan_board import UnitFilters, unit_list
from migrations_tracker.selectors.plan_text import issue_text
from migrations_tracker.selectors.schedule_detail import next_units
from migrations_tracker.services.unit_progress import unit_finish, unit_spend, unit_start
from migrations_tracker.services.work_units import unit_date, unit_rename

router = Router(tags=["plan"])


class UnitQuery(Schema):
    """What the list is narrowed to, as on the page of units."""

    phase: Phase | None = None
    status: UnitStatus | None = None
    crate: Word = ""
    person: Word = ""
    q: Word = ""
    cursor: Cursor = ""


class StartIn(Schema):
    """Who begins the unit."""

    person: Word
    version: Version


class FinishIn(Schema):
    """How many hours the unit took."""

    hours: Annotated[float, Field(gt=0, le=10_000)]
    reason: Text = ""
    version: Version


class TitleIn(Schema):
    """A unit's title."""

    title: Word
    version: Version


class DeadlineIn(Schema):
    """When a unit has to be finished; no deadline when it is null."""

    deadline: AwareDatetime | None
    version: Version


class SpentIn(Schema):
    """How many hours were spent so far."""

    hours: Annotated[float, Field(ge=0, le=10_000)]
    version: Version


@router.get("/repositories/{slug}/units", response=Page[UnitOut])
def unit_index(request: ProgramRequest, slug: str, query: Annotated[UnitQuery, Query()]) -> Page[UnitOut]:
    """List the plan's work units."""
    filters = UnitFilters(
        phase="" if query.phase is None else str(query.phase.value),
        status=query.status or "",
        crate=query.crate,
        person=query.person,
        text=query.q,
    )
    found = unit_list(plan=plan_of(slug), filters=filters, cursor=query.cursor)
    return Page[UnitOut](
        items=[UnitOut.of(row) for row in found.page.rows],
        next=found.page.next,
        previous=found.page.previous,
        total=found.total,
    )


@router.get("/repositories/{slug}/next-units", response=list[UnitOut])
def unit_next(request: ProgramRequest, slug: str, person: Word = "") -> list[UnitOut]:
    """List what somebody does next by the newest schedule; without a name, the token's owner."""
    plan = plan_of(slug)
    name = person or _own_name(plan, request)
    return [UnitOut.of(placed.unit) for placed in next_units(plan=plan, person=name)]


@router.get("/units/{pk}", response=UnitDetail)
def unit_get(request: ProgramRequest, pk: Key) -> UnitDetail:
    """Show a unit with its members, what it waits for, and its rationale."""
    return _detail(unit_numbered(pk, "plan__scan_run__inventory"))


@router.post("/units/{pk}/start", response=UnitOut)
def unit_begin(request: ProgramRequest, pk: Key, body: StartIn) -> UnitOut:
    """Begin a unit whose pre-flight plan is confirmed and whose prerequisites are finished."""
    unit = unit_numbered(pk)
    person = Person.objects.filter(plan=unit.plan, name=body.person).first()
    if person is None:
        raise RefusedError("Nobody of that name works on this plan.", HTTPStatus.UNPROCESSABLE_ENTITY)
    return UnitOut.of(unit_start(unit=unit, person=person, actor=request.user, seen_version=body.version))


@router.post("/units/{pk}/finish", response=UnitOut)
def unit_end(request: ProgramRequest, pk: Key, body: FinishIn) -> UnitOut:
    """Finish a unit whose sites and gaps the scanner no longer sees."""
    done = unit_finish(
        unit=unit_numbered(pk),
        actual_hours=body.hours,
        actor=request.user,
        reason=body.reason,
        seen_version=body.version,
    )
    return UnitOut.of(done)


@router.put("/units/{pk}/title", response=UnitOut)
def unit_title(request: ProgramRequest, pk: Key, body: TitleIn) -> UnitOut:
    """Give a unit another title."""
    unit = unit_numbered(pk)
    return UnitOut.of(unit_rename(unit=unit, title=body.title, actor=request.user, seen_version=body.version))


@router.put("/units/{pk}/deadline", response=UnitOut)
def unit_deadline(request: ProgramRequest, pk: Key, body: DeadlineIn) -> UnitOut:
    """Set a unit's deadline, or take it away."""
    unit = unit_numbered(pk)
    return UnitOut.of(
        unit_date(unit=unit, deadline=body.deadline, actor=request.user, seen_version=body.version)
    )


@router.put("/units/{pk}/spent", response=UnitOut)
def unit_spent(request: ProgramRequest, pk: Key, body: SpentIn) -> UnitOut:
    """Say how many hours were spent on a unit so far."""
    unit = unit_numbered(pk)
    return UnitOut.of(unit_spend(unit=unit, hours=body.hours, actor=request.user, seen_version=body.version))


def _own_name(plan: Plan, request: ProgramRequest) -> str:
    own = Person.objects.filter(plan=plan, user=request.user).first()
    if own is None:
        raise RefusedError(
            "The token's owner is nobody of this plan: name a `person`.", HTTPStatus.UNPROCESSABLE_ENTITY
        )
    return own.name


def _detail(unit: WorkUnit) -> UnitDetail:
    members = list(unit.members.filter(is_current=True))
    waits = unit.edges_in.exclude(state=PrecedenceState.CUT).values_list("before_id", flat=True)
    return UnitDetail(
        **UnitOut.of(unit).dict(),
        reason=unit.reason,
        sites=[member.site_id for member in members if member.site_id is not None],
        gaps=[member.gap_id for member in members if member.gap_id is not None],
        waits_for=sorted(waits),
        text=issue_text(unit=unit),
    )
