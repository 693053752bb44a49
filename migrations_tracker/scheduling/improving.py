"""Search over priority lists: the first answer, justification, and seeded local search."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from migrations_tracker.scheduling.listing import Scheduler, Score, Timetable
from migrations_tracker.scheduling.problem import Schedule
from migrations_tracker.scheduling.rules import PRIORITY_RULES, order_by


@dataclass(frozen=True, slots=True)
class Candidate:
    """A timetable with the list and the choices of people that decode to it."""

    score: Score
    timetable: Timetable
    order: tuple[int, ...]
    choice: dict[int, int]
    method: str


def first_answer(scheduler: Scheduler, earlier: Schedule | None = None) -> Candidate | None:
    """Return the best of all priority rules, each in the serial and the parallel scheme.

    What follows from an earlier schedule, where there is one, wins all ties.
    """
    best = None if earlier is None else _as_before(scheduler, earlier)
    for rule in PRIORITY_RULES:
        order = order_by(rule, scheduler.instance)
        for scheme, list_order in (("serial", order), ("parallel", parallel_order(scheduler, order))):
            best = _better(
                best, _evaluate(scheduler, list_order, {}, f"list scheduling: {rule.name}, {scheme}")
            )
    return best


def _as_before(scheduler: Scheduler, earlier: Schedule) -> Candidate | None:
    problem = scheduler.instance.problem
    places = earlier.by_unit()
    late = 1 + max((place.start for place in earlier.placements), default=0)
    people = {person.id: number for number, person in enumerate(problem.people)}
    starts, choice = [], {}
    for number, unit in enumerate(problem.units):
        place = places.get(unit.key)
        starts.append(late if place is None else place.start)
        person = -1 if place is None else people.get(place.person, -1)
        if person in scheduler.instance.eligible[number]:
            choice[number] = person
    order = sorted(range(len(starts)), key=lambda unit: (starts[unit], unit))
    return _evaluate(scheduler, order, choice, "the order of the schedule before")


def _evaluate(
    scheduler: Scheduler, order: Sequence[int], choice: dict[int, int], method: str
) -> Candidate | None:
    timetable = scheduler.decode(order, choice)
    if timetable is None:
        return None
    return Candidate(scheduler.score(timetable), timetable, tuple(order), choice, method)


def _better(best: Candidate | None, other: Candidate | None) -> Candidate | None:
    if best is None or (other is not None and other.score < best.score):
        return other
    return best


def parallel_order(scheduler: Scheduler, order: Sequence[int]) -> list[int]:
    """Return the order in which units start when no one stays idle who could begin something.

    Each step takes, among the units whose predecessors are placed, the one that can start first. A unit's
    earliest start never comes forward while lanes fill up, so an outdated key in the heap is only put back:
    as far as anybody able to do it is free at all, which costs little to know, and then where it has room.
    """
    placing = scheduler.begin()
    rank = {unit: position for position, unit in enumerate(order)}
    started: list[int] = []
    for group in scheduler.groups():
        heap = [(placing.earliest_start(unit), rank[unit], unit) for unit in placing.open_group(group)]
        heapify(heap)
        while heap:
            key, _, unit = heappop(heap)
            free = placing.first_free(unit)
            if free > key and heap and (free, rank[unit]) > heap[0][:2]:
                heappush(heap, (free, rank[unit], unit))
                continue
            earliest = placing.earliest_start(unit)
            if heap and (earliest, rank[unit]) > heap[0][:2]:
                heappush(heap, (earliest, rank[unit], unit))
                continue
            if not placing.place(unit):
                return list(order)
            started.append(unit)
            for successor in placing.opened_by(unit):
                heappush(heap, (placing.earliest_start(successor), rank[successor], successor))
    placed = set(started)
    return started + [unit for unit in order if unit not in placed]


def justify(scheduler: Scheduler, candidate: Candidate) -> Candidate:
    """Shift everything to the right, then to the left again, which closes gaps; never returns a worse one."""
    instance = scheduler.instance
    timetable = candidate.timetable
    horizon = max(timetable.finish, default=0)
    if horizon == 0:
        return candidate
    mirror = _mirrored_starts(scheduler, timetable, horizon)
    order = sorted(range(instance.size), key=lambda unit: (mirror[unit], unit))
    better = _better(candidate, _evaluate(scheduler, order, candidate.choice, "justification"))
    return better or candidate


def _mirrored_starts(scheduler: Scheduler, timetable: Timetable, horizon: int) -> list[int]:
    """The latest start of each unit when the units are shifted right, the last to finish first.

    People keep their units and runners are left aside: only the order of the starts is used.
    """
    instance = scheduler.instance
    latest = timetable.start.copy()
    free: dict[tuple[int, int], int] = {}
    for unit in sorted(range(instance.size), key=lambda u: (-timetable.finish[u], -timetable.start[u], u)):
        if scheduler.is_fixed[unit]:
            continue
        end = min([horizon, *(latest[successor] for successor in instance.successors[unit])])
        end -= instance.verification[unit]
        person = timetable.person[unit]
        time_of = instance.people_time[person]
        lanes = range(instance.problem.people[person].capacity)
        lane = max(lanes, key=lambda number: free.get((person, number), horizon))
        end_position = time_of.position(min(end, free.get((person, lane), horizon)))
        start_position = max(0, end_position - instance.effort[unit])
        if start_position < time_of.total:
            latest[unit] = time_of.tick_at(start_position)
            free[person, lane] = latest[unit]
    return latest


@dataclass(slots=True)
class SearchBudget:
    """Counted evaluations, and a clock that only cuts off."""

    evaluations: int
    deadline: float
    used: int = 0
    is_cut_off: bool = False

    def is_left(self) -> bool:
        """Whether another evaluation may be made."""
        if self.used >= self.evaluations:
            return False
        if time.monotonic() > self.deadline:
            self.is_cut_off = True
            return False
        return True


def improve(scheduler: Scheduler, start: Candidate, seed: int, budget: SearchBudget) -> Candidate:
    """Move units in the list and between people by simulated annealing; return the best that was seen.

    Annealing works on one figure, in which a longer makespan weighs as much as delaying every unit by it, so
    that it can pass through schedules that are a little longer; the best is kept by the true objective.
    """
    instance = scheduler.instance
    movable = [unit for unit in range(instance.size) if not scheduler.is_fixed[unit]]
    best = justify(scheduler, start)
    if len(movable) < 2 or budget.evaluations == 0:
        return best
    draw = random.Random(seed)  # noqa: S311 -- a repeatable search, not a secret
    current = best
    weight_of_all = sum(instance.weight) + 1
    cost = _cost(current.score, weight_of_all)
    # One move changes the figure by about its share of all units, so the heat shrinks with their number.
    hottest = _HEAT / instance.size * weight_of_all * max(1, best.score.objective.makespan)
    while budget.is_left():
        neighbour = _neighbour(scheduler, current, movable, draw)
        budget.used += 1
        if neighbour is None:
            continue
        heat = hottest * (1 - budget.used / budget.evaluations) ** 2 + 1e-9
        other = _cost(neighbour.score, weight_of_all)
        if other <= cost or draw.random() < math.exp((cost - other) / heat):
            current, cost = neighbour, other
            if current.score < best.score:
                best = current
    return min(best, justify(scheduler, best), key=lambda candidate: candidate.score)


def _cost(score: Score, weight_of_all: int) -> float:
    late_or_long = _LATENESS_COST * score.lateness + score.objective.makespan
    return weight_of_all * late_or_long + score.objective.weighted_completion


_HEAT = 0.06
_REACH = 15
_LATENESS_COST = 10.0


def repair(scheduler: Scheduler, start: Candidate, seed: int) -> Candidate:
    """Search, and no longer than it takes, for a list that breaks no date."""
    best = start
    for attempt in range(_REPAIRS):
        budget = SearchBudget(_REPAIR_EVALUATIONS, math.inf)
        found = improve(scheduler, best, seed + attempt, budget)
        best = replace(min(best, found, key=lambda candidate: candidate.score), method=start.method)
        if best.score.lateness == 0:
            break
    return best


_REPAIRS = 12
_REPAIR_EVALUATIONS = 25


def _neighbour(
    scheduler: Scheduler, current: Candidate, movable: list[int], draw: random.Random
) -> Candidate | None:
    instance = scheduler.instance
    order = list(current.order)
    choice = current.choice
    unit = draw.choice(movable)
    kind = draw.random()
    if kind < 0.2 and len(instance.eligible[unit]) > 1:
        choice = dict(choice)
        if unit in choice and draw.random() < 0.5:
            del choice[unit]
        else:
            choice[unit] = draw.choice(instance.eligible[unit])
        return _evaluate(scheduler, order, choice, "local search")
    place = order.index(unit)
    target = place + draw.randint(-_REACH, _REACH)
    if kind < 0.6:
        target = _beside_colleague(order, place, current.timetable, draw)
    target = min(max(0, target), len(order) - 1)
    if target == place:
        return None
    order.insert(target, order.pop(place))
    return _evaluate(scheduler, order, choice, "local search")


def _beside_colleague(order: list[int], place: int, timetable: Timetable, draw: random.Random) -> int:
    """A place at which the unit passes one or a few others of the same person."""
    person = timetable.person[order[place]]
    step = draw.choice((-1, 1))
    passed = draw.choice((1, 1, 1, 2, 3))
    target = place
    while 0 <= target + step < len(order) and passed:
        target += step
        passed -= timetable.person[order[target]] == person
    return target
