"""The plan as a whole: proposing it, who works on it, and its schedules."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from ninja import Router, Schema
from ninja import Status as Answer
from pydantic import Field

from migrations_tracker.api.v1.choosing import plan_of, repository_named, schedule_numbered
from migrations_tracker.api.v1.parameters import Key, Word
from migrations_tracker.api.v1.security import ProgramRequest
from migrations_tracker.models import Person, Schedule
from migrations_tracker.services.plan_people import person_set
from migrations_tracker.services.plan_proposals import plan_propose
from migrations_tracker.services.scans import row_wake
from migrations_tracker.services.schedules import schedule_request

router = Router(tags=["plan"])

_Minute = Annotated[int, Field(ge=0, le=24 * 60)]


class Window(Schema):
    """When somebody works on a day of the week, 0 being Monday, in minutes of the day."""

    day: Annotated[int, Field(ge=0, le=6)]
    begins: _Minute
    ends: _Minute


class PlanOut(Schema):
    """What the newest scan changed in the plan, in words."""

    changes: list[str]
    units: int
    url: str


class PersonIn(Schema):
    """What is known of somebody."""

    skills: Annotated[list[Word], Field(max_length=50, default_factory=list)]
    capacity: Annotated[int, Field(ge=0, le=50)] = 1
    time_zone: Word = "UTC"
    hours: Annotated[list[Window], Field(max_length=50)]
    is_active: bool = True


class PersonOut(Schema):
    """Somebody who works on the plan."""

    name: str
    skills: list[str]
    capacity: int
    time_zone: str
    hours: list[Window]
    is_active: bool

    @classmethod
    def of(cls, row: Person) -> PersonOut:
        """Tell somebody."""
        return cls(
            name=row.name,
            skills=row.skills,
            capacity=row.capacity,
            time_zone=row.time_zone,
            hours=[Window(day=day, begins=begins, ends=ends) for day, begins, ends in row.hours],
            is_active=row.is_active,
        )


class PlanScheduleOut(Schema):
    """A schedule of the plan: there at once, and improved by a worker until its state is `succeeded`.

    Without `ends_at` there is none, and `conflicts` says which constraints clash. `bound_minutes` is what no
    schedule is shorter than.
    """

    id: int
    repository: str
    state: str
    failure: str
    ends_at: datetime | None
    makespan_minutes: int | None
    bound_minutes: int | None
    is_optimal: bool
    method: str
    conflicts: list[str]
    url: str

    @classmethod
    def of(cls, row: Schedule) -> PlanScheduleOut:
        """Tell a schedule."""
        return cls(
            id=row.pk,
            repository=row.plan.repository.slug,
            state=row.state,
            failure=row.failure_reason,
            ends_at=row.ends_at,
            makespan_minutes=row.makespan,
            bound_minutes=row.bound,
            is_optimal=row.is_optimal,
            method=row.method,
            conflicts=[str(conflict["message"]) for conflict in row.conflicts],
            url=row.get_absolute_url(),
        )


@router.post("/repositories/{slug}/plan", response=PlanOut)
def plan_renew(request: ProgramRequest, slug: str) -> PlanOut:
    """Propose a plan, or hold the one that is there to the newest scan."""
    done = plan_propose(repository=repository_named(slug), actor=request.user)
    return PlanOut(
        changes=[change.what for change in done.changes],
        units=done.plan.units.filter(item_count__gt=0).count(),
        url=done.plan.get_absolute_url(),
    )


@router.get("/repositories/{slug}/people", response=list[PersonOut])
def person_index(request: ProgramRequest, slug: str) -> list[PersonOut]:
    """List who works on the plan."""
    return [PersonOut.of(row) for row in Person.objects.filter(plan=plan_of(slug)).order_by("name")]


@router.put("/repositories/{slug}/people/{name}", response=PersonOut)
def person_put(request: ProgramRequest, slug: str, name: str, body: PersonIn) -> PersonOut:
    """Add somebody to the plan, or change what is known of them."""
    person = person_set(
        plan=plan_of(slug),
        name=name,
        skills=body.skills,
        capacity=body.capacity,
        time_zone=body.time_zone,
        hours=[[one.day, one.begins, one.ends] for one in body.hours],
        is_active=body.is_active,
        actor=request.user,
    )
    return PersonOut.of(person)


@router.post("/repositories/{slug}/schedules", response={HTTPStatus.ACCEPTED: PlanScheduleOut})
def schedule_ask(request: ProgramRequest, slug: str) -> Answer[PlanScheduleOut]:
    """Ask for a schedule of the plan as it is."""
    schedule = schedule_request(plan=plan_of(slug), actor=request.user)
    row_wake(row=schedule)
    return Answer(HTTPStatus.ACCEPTED, PlanScheduleOut.of(schedule))


@router.get("/schedules/{pk}", response=PlanScheduleOut)
def schedule_get(request: ProgramRequest, pk: Key) -> PlanScheduleOut:
    """Show a schedule."""
    return PlanScheduleOut.of(schedule_numbered(pk))
