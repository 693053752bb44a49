"""Two schedules side by side, and what a re-plan moved and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from migrations_tracker.scheduling.problem import Placement, Problem, Schedule


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
    moves = tuple(
        _move(key, before.get(key), after.get(key), old_problem, new_problem, after)
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


def _move(
    key: str,
    before: Placement | None,
    after: Placement | None,
    old_problem: Problem,
    new_problem: Problem,
    places: dict[str, Placement],
) -> Move:
    if before is None or after is None:
        reason = "it is new" if before is None else "it is finished or no longer planned"
        return Move(key, before, after, 0, (reason,))
    reasons = tuple(_reasons(key, before, after, old_problem, new_problem, places))
    return Move(key, before, after, after.finish - before.finish, reasons)


def _reasons(
    key: str,
    before: Placement,
    after: Placement,
    old_problem: Problem,
    new_problem: Problem,
    places: dict[str, Placement],
) -> Iterator[str]:
    old_unit = next(unit for unit in old_problem.units if unit.key == key)
    unit = next(unit for unit in new_problem.units if unit.key == key)
    if unit.under_way and not old_unit.under_way:
        yield "it has been begun"
    if unit.effort != old_unit.effort:
        yield f"its effort went from {old_unit.effort / 4:g} to {unit.effort / 4:g} hours"
    if unit.pin != old_unit.pin:
        yield "its pin was set or taken away"
    people = {person.id: person for person in new_problem.people}
    if before.person != after.person:
        yield f"it went from `{before.person}` to `{after.person}`"
        if before.person not in people:
            yield f"`{before.person}` is no longer there"
    elif [p for p in old_problem.people if p.id == after.person] != [people[after.person]]:
        yield f"the calendar, skills or capacity of `{after.person}` changed"
    waits = [other for other, waiting in new_problem.precedences if waiting == key and other in places]
    last = max(waits, key=lambda other: (places[other].finish, other), default=None)
    if last is not None:
        yield f"it starts after `{last}`, which now finishes last of what it waits for"
    ahead = [place for place in places.values() if place.person == after.person and place.start < after.start]
    if ahead:
        yield f"`{after.person}` does `{max(ahead, key=lambda place: place.start).unit}` before it"
