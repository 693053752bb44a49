"""Prove that a schedule obeys every rule. Nothing here is shared with what makes schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from zoneinfo import ZoneInfo

from migrations_tracker.scheduling.problem import (
    Person,
    PhaseOrder,
    Placement,
    Problem,
    Runner,
    Schedule,
    UnitDemand,
    WorkCalendar,
)

_QUARTER = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a schedule breaks, and where."""

    rule: str
    unit: str
    message: str


def breaches(problem: Problem, schedule: Schedule) -> tuple[Breach, ...]:
    """Return every breach of every rule; an empty tuple is the proof.

    Time is walked quarter by quarter on the wall clock of each calendar.
    """
    complete = tuple(_completeness(problem, schedule.placements))
    if complete:
        return complete
    view = _View(problem, schedule.placements)
    found: list[Breach] = []
    for check in (
        _assignment,
        _work,
        _verification,
        _precedence,
        _dates,
        _under_way,
        _people_capacity,
        _runner_slots,
        _phases,
    ):
        found.extend(check(view))
    found.extend(_figures(view, schedule))
    return tuple(found)


class _View:
    def __init__(self, problem: Problem, placements: Sequence[Placement]) -> None:
        self.problem = problem
        self.places = {placement.unit: placement for placement in placements}
        self.units = {unit.key: unit for unit in problem.units}
        self.people = {person.id: person for person in problem.people}
        self.runners = {runner.id: runner for runner in problem.runners}
        self._open: dict[tuple[str, str, int], bool] = {}

    def pairs(self) -> Iterator[tuple[UnitDemand, Placement]]:
        for unit in self.problem.units:
            yield unit, self.places[unit.key]

    def is_open(self, owner: Person | Runner, tick: int) -> bool:
        """Whether the whole quarter of an hour lies inside the owner's hours and outside their absences."""
        key = (type(owner).__name__, owner.id, tick)
        if key not in self._open:
            self._open[key] = _is_working(owner.calendar, self.problem, tick)
        return self._open[key]

    def open_ticks(self, owner: Person | Runner, start: int, end: int) -> int:
        return sum(self.is_open(owner, tick) for tick in range(start, end))


def _is_working(calendar: WorkCalendar, problem: Problem, tick: int) -> bool:
    begin = (problem.origin + tick * _QUARTER).astimezone(UTC)
    if any(absence.start < begin + _QUARTER and absence.end > begin for absence in calendar.absences):
        return False
    local = begin.astimezone(ZoneInfo(calendar.time_zone))
    minute = local.hour * 60 + local.minute
    return any(
        hours.weekday == local.weekday() and hours.start_minute <= minute and minute + 15 <= hours.end_minute
        for hours in calendar.hours
    )


def _completeness(problem: Problem, placements: Sequence[Placement]) -> Iterator[Breach]:
    keys = [placement.unit for placement in placements]
    wanted = [unit.key for unit in problem.units]
    for key in sorted(set(wanted) - set(keys)):
        yield Breach("every unit is placed", key, "it is not in the schedule")
    for key in sorted(set(keys) - set(wanted)):
        yield Breach("only units are placed", key, "the problem does not know it")
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield Breach("every unit is placed once", key, "it is in the schedule more than once")


def _assignment(view: _View) -> Iterator[Breach]:
    for unit, place in view.pairs():
        person = view.people.get(place.person)
        if person is None or person.capacity < 1:
            yield Breach("people exist", unit.key, f"`{place.person}` can't take a unit")
            continue
        wanted = unit.under_way.person if unit.under_way else unit.pin.person if unit.pin else None
        if wanted is not None and wanted != place.person:
            yield Breach(
                "people are kept", unit.key, f"it belongs to `{wanted}` and went to `{place.person}`"
            )
        # Whoever was named by a person may do the unit whatever their skills.
        if wanted is None and not unit.skills <= person.skills:
            missing = ", ".join(sorted(unit.skills - person.skills))
            yield Breach("skills are there", unit.key, f"`{place.person}` lacks {missing}")


def _work(view: _View) -> Iterator[Breach]:
    for unit, place in view.pairs():
        person = view.people.get(place.person)
        if person is None:
            continue
        if place.start < 0 or place.work_end < place.start:
            yield Breach("time runs forward", unit.key, "it starts before now or ends before it starts")
        elif unit.effort == 0:
            if place.start != place.work_end:
                yield Breach("effort is met", unit.key, "no effort is left, but work is planned")
        elif view.open_ticks(person, place.start, place.work_end) != unit.effort:
            got = view.open_ticks(person, place.start, place.work_end)
            yield Breach("effort is met", unit.key, f"{got} working ticks are planned for {unit.effort}")
        elif not (view.is_open(person, place.start) and view.is_open(person, place.work_end - 1)):
            yield Breach("work is in working time", unit.key, "it starts or ends outside the person's hours")


def _verification(view: _View) -> Iterator[Breach]:
    for unit, place in view.pairs():
        if unit.verification == 0:
            if place.runner is not None or place.finish != place.work_end:
                yield Breach("verification as asked", unit.key, "it needs none, but one is planned")
            continue
        runner = view.runners.get(place.runner or "")
        if runner is None or not unit.labels <= runner.labels:
            yield Breach("runners fit", unit.key, f"`{place.runner}` can't verify it")
            continue
        if place.verification_start < place.work_end:
            yield Breach("work before verification", unit.key, "it is verified before the work has ended")
        if place.finish - place.verification_start != unit.verification:
            yield Breach("verification as asked", unit.key, "the verification has another length")
        if view.open_ticks(runner, place.verification_start, place.finish) != unit.verification:
            yield Breach("runners are there", unit.key, f"`{runner.id}` is not available all the time")


def _precedence(view: _View) -> Iterator[Breach]:
    for before, after in view.problem.precedences:
        if view.units[after].under_way:
            continue
        if view.places[after].start < view.places[before].finish:
            yield Breach("precedence", after, f"it starts before `{before}` has finished")


def _dates(view: _View) -> Iterator[Breach]:
    origin = view.problem.origin
    for unit, place in view.pairs():
        start, finish = origin + place.start * _QUARTER, origin + place.finish * _QUARTER
        if unit.deadline is not None and finish > unit.deadline:
            yield Breach("deadline", unit.key, f"it finishes at {finish:%Y-%m-%d %H:%M}")
        if unit.under_way:
            continue
        if unit.release is not None and start < unit.release:
            yield Breach("release", unit.key, f"it starts at {start:%Y-%m-%d %H:%M}")
        pin = max(unit.pin.start, origin) if unit.pin and unit.pin.start is not None else None
        person = view.people.get(place.person)
        if pin is None or person is None:
            continue
        if start < pin:
            yield Breach("pin", unit.key, f"it starts at {start:%Y-%m-%d %H:%M}, before its pin")
        first = -((origin - pin) // _QUARTER)
        if unit.effort == 0:
            if place.start != first:
                yield Breach("pin", unit.key, "it does not stand at its pin")
        elif view.open_ticks(person, first, place.start):
            yield Breach("pin", unit.key, "working time passes between its pin and its start")


def _under_way(view: _View) -> Iterator[Breach]:
    for unit, place in view.pairs():
        if not unit.under_way or unit.effort == 0:
            continue
        for other, other_place in view.pairs():
            jumps = not other.under_way and other.effort and not (other.pin and other.pin.start)
            if jumps and other_place.person == place.person and other_place.start < place.start:
                yield Breach(
                    "what is under way goes first", unit.key, f"`{other.key}` is begun before it goes on"
                )


def _people_capacity(view: _View) -> Iterator[Breach]:
    for person in view.problem.people:
        spans = [
            (place.start, place.work_end, unit.key)
            for unit, place in view.pairs()
            if place.person == person.id and unit.effort
        ]
        for key, count in _most_at_once(spans):
            if count > person.capacity:
                yield Breach("capacity", key, f"`{person.id}` has {count} units at the same time")


def _runner_slots(view: _View) -> Iterator[Breach]:
    for runner in view.problem.runners:
        spans = [
            (place.verification_start, place.finish, unit.key)
            for unit, place in view.pairs()
            if place.runner == runner.id and unit.verification
        ]
        for key, count in _most_at_once(spans):
            if count > runner.slots:
                yield Breach("runner slots", key, f"`{runner.id}` has {count} verifications at the same time")


def _most_at_once(spans: Sequence[tuple[int, int, str]]) -> Iterator[tuple[str, int]]:
    """For each span, how many are open when it begins, itself included."""
    for start, _, key in spans:
        yield key, sum(begin <= start < end for begin, end, _ in spans)


def _phases(view: _View) -> Iterator[Breach]:
    if view.problem.phase_order is not PhaseOrder.STRICT:
        return
    for unit, place in view.pairs():
        if unit.under_way:
            continue
        earlier = [other_place.finish for other, other_place in view.pairs() if other.phase < unit.phase]
        if place.start < max(earlier, default=0):
            yield Breach("phase order", unit.key, "an earlier phase has not finished when it starts")


def _figures(view: _View, schedule: Schedule) -> Iterator[Breach]:
    makespan = max((place.finish for place in view.places.values()), default=0)
    weighted = sum(unit.weight * place.finish for unit, place in view.pairs())
    if schedule.objective.makespan != makespan:
        yield Breach("figures are right", "", f"the makespan is {makespan}")
    if schedule.objective.weighted_completion != weighted:
        yield Breach("figures are right", "", f"weighted completion is {weighted}")
    if schedule.bound.value > makespan:
        yield Breach("figures are right", "", "the bound is above the makespan")
