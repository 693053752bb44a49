"""Two schedules side by side, and what a re-plan moved and why."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from migrations_tracker.scheduling.problem import Person, Placement, Problem, Schedule, UnitDemand


@dataclass(frozen=True, slots=True)
class Move:
    """One unit in two schedules. Ticks are counted from the origin of the later one."""

    unit: str
    before: Placement | None
    after: Placement | None
    shift: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two schedules."""

    makespan_before: int
    makespan_after: int
    weighted_before: int
    weighted_after: int
    moves: tuple[Move, ...]

    @property
    def slips(self) -> tuple[Move, ...]:
        """The units that finish later than in the first one, the furthest first."""
        late = [move for move in self.moves if move.shift > 0]
        return tuple(sorted(late, key=lambda move: (-move.shift, move.unit)))


def compare(old_problem: Problem, old: Schedule, new_problem: Problem, new: Schedule) -> Comparison:
    """Return how a schedule differs from an earlier one or a what-if from its base, with reasons."""
    offset = new_problem.tick_after(old_problem.origin)
    before = {key: _shifted(place, offset) for key, place in old.by_unit().items()}
    after = new.by_unit()
    weight = {unit.key: unit.weight for unit in new_problem.units}
    facts = _facts(old_problem, new_problem, after)
    moves = tuple(
        _move(key, before.get(key), after.get(key), facts)
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    )
    return Comparison(
        makespan_before=old.objective.makespan + offset,
        makespan_after=new.objective.makespan,
        weighted_before=sum(weight[key] * before[key].finish for key in before if key in weight),
        weighted_after=new.objective.weighted_completion,
        moves=moves,
    )


def _shifted(place: Placement, offset: int) -> Placement:
    return replace(
        place,
        start=place.start + offset,
        work_end=place.work_end + offset,
        verification_start=place.verification_start + offset,
        finish=place.finish + offset,
    )


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the reasons of all moves are looked up in; `lanes` are each person's placements by their start."""

    old_units: Mapping[str, UnitDemand]
    units: Mapping[str, UnitDemand]
    old_people: Mapping[str, Person]
    people: Mapping[str, Person]
    waits: Mapping[str, Sequence[str]]
    places: Mapping[str, Placement]
    lanes: Mapping[str, Sequence[Placement]]


def _facts(old_problem: Problem, new_problem: Problem, places: Mapping[str, Placement]) -> _Facts:
    waits: dict[str, list[str]] = {}
    for other, waiting in new_problem.precedences:
        if other in places:
            waits.setdefault(waiting, []).append(other)
    lanes: dict[str, list[Placement]] = {}
    for place in sorted(places.values(), key=lambda place: place.start):
        lanes.setdefault(place.person, []).append(place)
    return _Facts(
        old_units={unit.key: unit for unit in old_problem.units},
        units={unit.key: unit for unit in new_problem.units},
        old_people={person.id: person for person in old_problem.people},
        people={person.id: person for person in new_problem.people},
        waits=waits,
        places=places,
        lanes=lanes,
    )


def _move(key: str, before: Placement | None, after: Placement | None, facts: _Facts) -> Move:
    if before is None or after is None:
        reason = "it is new" if before is None else "it is finished or no longer planned"
        return Move(key, before, after, 0, (reason,))
    reasons = tuple(_reasons(key, before, after, facts))
    return Move(key, before, after, after.finish - before.finish, reasons)


def _reasons(key: str, before: Placement, after: Placement, facts: _Facts) -> Iterator[str]:
    old_unit, unit = facts.old_units[key], facts.units[key]
    if unit.under_way and not old_unit.under_way:
        yield "it has been begun"
    if unit.effort != old_unit.effort:
        yield f"its effort went from {old_unit.effort / 4:g} to {unit.effort / 4:g} hours"
    if unit.pin != old_unit.pin:
        yield "its pin was set or taken away"
    if before.person != after.person:
        yield f"it went from `{before.person}` to `{after.person}`"
        if before.person not in facts.people:
            yield f"`{before.person}` is no longer there"
    elif facts.old_people.get(after.person) != facts.people[after.person]:
        yield f"the calendar, skills or capacity of `{after.person}` changed"
    last = max(facts.waits.get(key, ()), key=lambda other: (facts.places[other].finish, other), default=None)
    if last is not None:
        yield f"it starts after `{last}`, which now finishes last of what it waits for"
    lane = facts.lanes[after.person]
    ahead = bisect_left(lane, after.start, key=lambda place: place.start)
    if ahead:
        yield f"`{after.person}` does `{lane[ahead - 1].unit}` before it"
