"""The problem that a plan's schedule has to solve, from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from migrations_tracker.models import Absence, Plan, Precedence, PrecedenceState, UnitMember, WorkUnit
from migrations_tracker.models import Person as PersonRow
from migrations_tracker.scheduling.catalogue import Hours, default_catalogue
from migrations_tracker.scheduling.estimating import remaining, ticks
from migrations_tracker.scheduling.planning import needs_verification
from migrations_tracker.scheduling.problem import (
    OFFICE,
    TICK,
    Person,
    PhaseOrder,
    Pin,
    Problem,
    Runner,
    UnderWay,
    UnitDemand,
    WorkCalendar,
    WorkingHours,
)
from migrations_tracker.scheduling.problem import Absence as Away
from migrations_tracker.scheduling.units import UnitStatus
from migrations_tracker.selectors.plan_facts import unit_of_row
from workers.models import Runner as RunnerRow
from workers.models.runner import RunnerState

NO_RUNNER = "No runner takes jobs, so the schedule leaves the verification on a GPU out."


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """A problem, the hours behind its efforts, and what had to be left out of it."""

    problem: Problem
    hours: Mapping[str, Hours]
    notes: tuple[str, ...]


def plan_problem(*, plan: Plan, now: datetime) -> PlanProblem:
    """Return the problem of a plan as it stands: begins now, on a quarter of an hour."""
    units = list(
        WorkUnit.objects.filter(plan=plan)
        .exclude(status=UnitStatus.FINISHED.value)
        .select_related("person", "pin_person")
    )
    members = _member_counts(plan)
    hours = {unit.key: _hours(unit, members.get(unit.pk, (0, 0))) for unit in units}
    runners = _runners()
    keys = {unit.pk: unit.key for unit in units}
    edges = Precedence.objects.filter(before__in=keys, after__in=keys).exclude(state=PrecedenceState.CUT)
    problem = Problem(
        origin=_quarter(now),
        units=tuple(_demand(unit, hours[unit.key], has_runner=bool(runners)) for unit in units),
        people=tuple(people_of(plan=plan)),
        runners=runners,
        precedences=tuple(
            sorted((keys[before], keys[after]) for before, after in edges.values_list("before", "after"))
        ),
        phase_order=PhaseOrder(plan.phase_order),
    )
    return PlanProblem(problem, hours, () if runners else (NO_RUNNER,))


def people_of(*, plan: Plan) -> list[Person]:
    """Return those who work on a plan, with their absences."""
    rows = list(PersonRow.objects.filter(plan=plan, is_active=True))
    away: dict[int, list[Away]] = {}
    for row in Absence.objects.filter(person__in=rows):
        away.setdefault(row.person_id, []).append(Away(row.starts_at, row.ends_at, row.reason))
    return [person_of_row(row, away.get(row.pk, ())) for row in rows]


def person_of_row(row: PersonRow, away: Sequence[Away] = ()) -> Person:
    """Return a person as the scheduling core takes one."""
    hours = tuple(WorkingHours(*window) for window in row.hours) or OFFICE.hours
    calendar = WorkCalendar(hours, row.time_zone, tuple(away))
    return Person(row.name, frozenset(row.skills), calendar, row.capacity)


def _runners() -> tuple[Runner, ...]:
    labels = default_catalogue().labels
    rows = RunnerRow.objects.filter(state=RunnerState.ENABLED, is_able=True).order_by("name")
    return tuple(Runner(row.name, labels) for row in rows)


def _quarter(now: datetime) -> datetime:
    late = now.timestamp() % TICK.total_seconds()
    if not late:
        return now
    start = now.replace(minute=now.minute - now.minute % 15, second=0, microsecond=0)
    return start + TICK


def _member_counts(plan: Plan) -> dict[int, tuple[int, int]]:
    """Count, for each unit under way, the members that are gone from the code, and all."""
    branch = plan.repository.default_branch
    is_gone = Q(gap__is_open=False) | Q(site__states__is_open=False, site__states__branch__name=branch)
    members = UnitMember.objects.filter(
        unit__plan=plan, unit__status=UnitStatus.UNDER_WAY.value, is_current=True
    )
    counted = (
        members.order_by()
        .values_list("unit_id")
        .annotate(gone=Count("pk", filter=is_gone, distinct=True), total=Count("pk", distinct=True))
    )
    return {unit_id: (gone, total) for unit_id, gone, total in counted}


def _hours(unit: WorkUnit, members: tuple[int, int]) -> Hours:
    whole = Hours(unit.hours_low, unit.hours_likely, unit.hours_high)
    if unit.status != UnitStatus.UNDER_WAY.value:
        return whole
    return remaining(whole, unit.actual_hours or 0.0, *members)


def _demand(unit: WorkUnit, hours: Hours, *, has_runner: bool) -> UnitDemand:
    rates = default_catalogue()
    is_verified = has_runner and needs_verification(unit_of_row(unit, ["some"] * bool(unit.item_count)))
    is_under_way = unit.status == UnitStatus.UNDER_WAY.value
    return UnitDemand(
        key=unit.key,
        effort=ticks(hours.likely) if hours.likely else 0,
        phase=unit.phase,
        skills=frozenset(unit.skills),
        verification=ticks(rates.verification_hours) if is_verified else 0,
        labels=rates.labels if is_verified else frozenset(),
        weight=unit.weight,
        deadline=unit.deadline,
        pin=_pin(unit),
        under_way=(
            UnderWay(unit.person.name, unit.started_at)
            if is_under_way and unit.person is not None and unit.started_at is not None
            else None
        ),
    )


def _pin(unit: WorkUnit) -> Pin | None:
    if unit.pin_start is None and unit.pin_person is None:
        return None
    return Pin(unit.pin_start, unit.pin_person.name if unit.pin_person else None)


def demanded_skills(*, plan: Plan) -> list[str]:
    """Return every skill that some unit with members asks for."""
    # Units share a few lists of skills: each list comes once.
    asked = WorkUnit.objects.filter(plan=plan, item_count__gt=0).order_by()
    return sorted({skill for skills in asked.values_list("skills", flat=True).distinct() for skill in skills})
