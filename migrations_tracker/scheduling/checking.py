"""Contradictions that show before anything is scheduled, each with the constraints it is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from migrations_tracker.scheduling.graph import find_cycles
from migrations_tracker.scheduling.instance import effective_precedences, eligible_people, eligible_runners
from migrations_tracker.scheduling.problem import (
    DAY_MINUTES,
    TICK,
    Conflict,
    ConflictKind,
    PhaseOrder,
    Problem,
    UnitDemand,
    WorkCalendar,
)


def conflicts_of(problem: Problem) -> tuple[Conflict, ...]:
    """Return what makes a problem unsolvable whatever the search does."""
    invalid = tuple(_invalid(problem))
    if invalid:
        return invalid
    return (
        *_cycles(problem),
        *_phase_order(problem),
        *_nobody(problem),
        *_no_runner(problem),
        *_early_pins(problem),
    )


def _invalid(problem: Problem) -> Iterator[Conflict]:
    if problem.origin.tzinfo is None or problem.origin.timestamp() % TICK.seconds:
        yield _bad("origin", "the schedule's start has no time zone or is not on a quarter of an hour")
        return
    yield from _duplicates("unit", (unit.key for unit in problem.units))
    yield from _duplicates("person", (person.id for person in problem.people))
    yield from _duplicates("runner", (runner.id for runner in problem.runners))
    known = {unit.key for unit in problem.units}
    for before, after in problem.precedences:
        for key in (before, after):
            if key not in known:
                yield _bad(f"precedence {before} → {after}", f"there is no unit `{key}`")
    for unit in problem.units:
        yield from _invalid_unit(problem, unit)
    for name, calendar in [(p.id, p.calendar) for p in problem.people] + [
        (r.id, r.calendar) for r in problem.runners
    ]:
        yield from _invalid_calendar(name, calendar)


def _duplicates(what: str, names: Iterable[str]) -> Iterator[Conflict]:
    for name, count in sorted(Counter(names).items()):
        if count > 1:
            yield _bad(f"{what} {name}", f"{what} `{name}` is given {count} times")


def _invalid_unit(problem: Problem, unit: UnitDemand) -> Iterator[Conflict]:
    name = f"unit {unit.key}"
    if unit.effort < 0 or unit.verification < 0 or unit.weight < 0:
        yield _bad(name, "effort, verification and weight can't be negative")
    people = {person.id for person in problem.people}
    wanted = unit.under_way.person if unit.under_way else unit.pin.person if unit.pin else None
    if wanted is not None and wanted not in people:
        yield _bad(name, f"there is no person `{wanted}`")
    dates = [
        ("release", unit.release),
        ("deadline", unit.deadline),
        ("pin", unit.pin.start if unit.pin else None),
    ]
    for label, instant in dates:
        if isinstance(instant, datetime) and instant.tzinfo is None:
            yield _bad(name, f"its {label} has no time zone")


def _invalid_calendar(name: str, calendar: WorkCalendar) -> Iterator[Conflict]:
    try:
        ZoneInfo(calendar.time_zone)
    except (KeyError, ValueError, OSError):
        yield _bad(f"calendar of {name}", f"there is no time zone `{calendar.time_zone}`")
    for hours in calendar.hours:
        if not (0 <= hours.weekday <= 6 and 0 <= hours.start_minute < hours.end_minute <= DAY_MINUTES):
            yield _bad(f"calendar of {name}", "its hours are not within one weekday")
    for absence in calendar.absences:
        if absence.start.tzinfo is None or absence.end.tzinfo is None or absence.end < absence.start:
            yield _bad(f"calendar of {name}", "an absence has no time zone or ends before it begins")


def _bad(constraint: str, message: str) -> Conflict:
    return Conflict(ConflictKind.INVALID_INPUT, (constraint,), f"{constraint}: {message}")


def _cycles(problem: Problem) -> Iterator[Conflict]:
    for cycle in find_cycles((unit.key for unit in problem.units), effective_precedences(problem)):
        names = tuple(f"precedence {before} → {after}" for before, after in cycle.edges)
        yield Conflict(ConflictKind.PRECEDENCE_CYCLE, names, f"These units wait for each other: {cycle}.")


def _phase_order(problem: Problem) -> Iterator[Conflict]:
    if problem.phase_order is not PhaseOrder.STRICT:
        return
    units = {unit.key: unit for unit in problem.units}
    for before, after in effective_precedences(problem):
        if units[before].phase > units[after].phase and not units[before].under_way:
            yield Conflict(
                ConflictKind.PHASE_ORDER,
                ("phase order", f"precedence {before} → {after}"),
                f"`{after}` (phase {units[after].phase}) waits for `{before}` (phase {units[before].phase}), "
                "but no unit may start before the earlier phases have finished.",
            )


def _nobody(problem: Problem) -> Iterator[Conflict]:
    capacity = {person.id: person.capacity for person in problem.people}
    for unit in problem.units:
        if eligible_people(problem, unit):
            continue
        person = unit.under_way.person if unit.under_way else unit.pin.person if unit.pin else None
        if person is not None:
            yield Conflict(
                ConflictKind.NO_SKILLED_PERSON,
                (f"unit {unit.key}", f"capacity of {person}"),
                f"`{unit.key}` is for `{person}`, whose capacity is {capacity[person]}.",
            )
            continue
        skills = ", ".join(sorted(unit.skills))
        wanted = f"one person with the skills: {skills}" if skills else "somebody, whatever their skills"
        missing = "Nobody has them." if skills else "Nobody works on the plan."
        yield Conflict(
            ConflictKind.NO_SKILLED_PERSON,
            (f"skills of {unit.key}", "skills of the people"),
            f"`{unit.key}` needs {wanted}. {missing}",
        )


def _no_runner(problem: Problem) -> Iterator[Conflict]:
    for unit in problem.units:
        if unit.verification and not eligible_runners(problem, unit):
            labels = ", ".join(sorted(unit.labels)) or "any"
            yield Conflict(
                ConflictKind.NO_RUNNER,
                (f"verification of {unit.key}", "labels of the runners"),
                f"`{unit.key}` has to be verified on a runner with the labels: {labels}. There is none.",
            )


def _early_pins(problem: Problem) -> Iterator[Conflict]:
    for unit in problem.units:
        if unit.under_way or unit.pin is None or unit.pin.start is None or unit.release is None:
            continue
        if unit.pin.start < unit.release:
            yield Conflict(
                ConflictKind.PINS_CLASH,
                (f"pin of {unit.key}", f"release of {unit.key}"),
                f"`{unit.key}` is pinned to {unit.pin.start:%Y-%m-%d %H:%M} but released later.",
            )
