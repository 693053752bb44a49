"""Serial schedule generation: place one unit after the other, each as early as it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from migrations_tracker.scheduling.fixing import Fixed, FixedWork
from migrations_tracker.scheduling.instance import NO_DEADLINE, Instance
from migrations_tracker.scheduling.lanes import Lanes
from migrations_tracker.scheduling.problem import Objective


@dataclass(slots=True)
class Timetable:
    """Where each unit stands, by index. `runner` is -1 where nothing is verified."""

    person: list[int]
    start: list[int]
    work_end: list[int]
    runner: list[int]
    verification_start: list[int]
    finish: list[int]

    @classmethod
    def empty(cls, size: int) -> Timetable:
        """Return a timetable without any placement."""
        return cls(*([-1] * size for _ in range(6)))

    def copy(self) -> Timetable:
        """Return an independent copy."""
        return Timetable(
            self.person.copy(),
            self.start.copy(),
            self.work_end.copy(),
            self.runner.copy(),
            self.verification_start.copy(),
            self.finish.copy(),
        )


@dataclass(frozen=True, slots=True, order=True)
class Score:
    """What timetables are compared by: first how late they break a promise, then the objective."""

    lateness: int
    objective: Objective


class Scheduler:
    """Decodes priority lists of one instance, around what is fixed."""

    def __init__(self, instance: Instance, fixed: Fixed) -> None:
        self.instance = instance
        self.fixed = fixed
        self.is_fixed = [False] * instance.size
        for work in fixed.works:
            self.is_fixed[work.unit] = True
        waiting = [sum(not self.is_fixed[p] for p in before) for before in instance.predecessors]
        self._start = Placing(self, Lanes(instance), Timetable.empty(instance.size), waiting)
        self.is_possible = all(self._start.place_fixed(work) for work in fixed.works)

    def begin(self) -> Placing:
        """Return the state in which only the fixed units are placed."""
        return self._start.copy()

    def groups(self) -> list[list[int]]:
        """Return the movable units in the groups that have to be placed one after the other."""
        movable = [unit for unit in range(self.instance.size) if not self.is_fixed[unit]]
        if not self.instance.is_strict:
            return [movable]
        return [
            [unit for unit in movable if self.instance.phase[unit] == phase] for phase in self.instance.phases
        ]

    def decode(self, order: Sequence[int], choice: Mapping[int, int] | None = None) -> Timetable | None:
        """Place the units in a given order, predecessors first; None when a calendar runs out of time.

        `choice` names the person of some units; the others go to whoever finishes first.
        """
        if not self.is_possible:
            return None
        instance = self.instance
        rank = [0] * instance.size
        for position, unit in enumerate(order):
            rank[unit] = position
        chosen = choice or {}
        placing = self.begin()
        for group in self.groups():
            heap = [(rank[unit], unit) for unit in placing.open_group(group)]
            heapify(heap)
            while heap:
                _, unit = heappop(heap)
                if not placing.place(unit, chosen.get(unit, -1)):
                    return None
                for successor in placing.opened_by(unit):
                    heappush(heap, (rank[successor], successor))
        return placing.timetable

    def score(self, timetable: Timetable) -> Score:
        """Measure a timetable."""
        return score_of(self.instance, timetable)


class Placing:
    """A timetable that is being filled, with the lanes it occupies."""

    __slots__ = ("_barrier", "_free", "_group", "instance", "lanes", "scheduler", "timetable", "waiting")

    def __init__(self, scheduler: Scheduler, lanes: Lanes, timetable: Timetable, waiting: list[int]) -> None:
        self.scheduler = scheduler
        self.instance = scheduler.instance
        self.lanes = lanes
        self.timetable = timetable
        self.waiting = waiting
        self._barrier = 0
        self._group: frozenset[int] = frozenset()
        self._free: dict[tuple[tuple[int, ...], int], int] = {}

    def copy(self) -> Placing:
        """Return an independent copy."""
        return Placing(self.scheduler, self.lanes.copy(), self.timetable.copy(), self.waiting.copy())

    def open_group(self, group: Sequence[int]) -> list[int]:
        """Turn to the next group and return those of its units that wait for nothing."""
        self._group = frozenset(group)
        if self.instance.is_strict and group:
            phase = self.instance.phase[group[0]]
            finishes = zip(self.timetable.finish, self.instance.phase, strict=True)
            self._barrier = max((finish for finish, other in finishes if other < phase), default=0)
        return [unit for unit in group if self.waiting[unit] == 0]

    def opened_by(self, unit: int) -> list[int]:
        """Note that a unit is placed and return the units of the group that waited for it alone."""
        opened = []
        for successor in self.instance.successors[unit]:
            if not self.scheduler.is_fixed[successor]:
                self.waiting[successor] -= 1
                if self.waiting[successor] == 0 and successor in self._group:
                    opened.append(successor)
        return opened

    def ready(self, unit: int) -> int:
        """Return the tick from which a unit may start."""
        finish = self.timetable.finish
        ready = max(self._barrier, self.instance.release[unit])
        for predecessor in self.instance.predecessors[unit]:
            ready = max(ready, finish[predecessor])
        return ready

    def earliest_start(self, unit: int) -> int:
        """Return the tick at which somebody could start a unit, or the horizon."""
        ready, effort = self.ready(unit), self.instance.effort[unit]
        if effort == 0:
            return ready
        found = (self.lanes.earliest_work(person, ready, effort) for person in self.instance.eligible[unit])
        return min((work[1] for work in found if work is not None), default=self.instance.horizon)

    def first_free(self, unit: int) -> int:
        """Return the tick before which nobody could start a unit, however short it were, or the horizon."""
        ready, eligible = self.ready(unit), self.instance.eligible[unit]
        if self.instance.effort[unit] == 0:
            return ready
        found = self._free.get((eligible, ready))
        if found is None:
            free = (self.lanes.first_free(person, ready) for person in eligible)
            found = min((tick for tick in free if tick is not None), default=self.instance.horizon)
            self._free[eligible, ready] = found
        return found

    def place(self, unit: int, chosen: int = -1) -> bool:
        """Place a unit with the chosen person, or whoever finishes it first; False when time runs out."""
        ready, effort = self.ready(unit), self.instance.effort[unit]
        best: tuple[int, int, int] | None = None
        best_person = -1
        for person in self.instance.eligible[unit] if chosen < 0 else (chosen,):
            found = (0, ready, ready) if effort == 0 else self.lanes.earliest_work(person, ready, effort)
            if found is not None and (best is None or found[2] < best[2]):
                best, best_person = found, person
        return best is not None and self.place_fixed(FixedWork(unit, best_person, *best))

    def place_fixed(self, work: FixedWork) -> bool:
        """Place a unit where it is said to be, and its verification as early as it goes."""
        effort = self.instance.effort[work.unit]
        if effort:
            self._free.clear()
            self.lanes.occupy_work(work.person, work.lane, work.start, effort)
        self.timetable.person[work.unit] = work.person
        self.timetable.start[work.unit] = work.start
        self.timetable.work_end[work.unit] = work.end
        return self._verify(work.unit)

    def _verify(self, unit: int) -> bool:
        timetable, length = self.timetable, self.instance.verification[unit]
        ready = timetable.work_end[unit]
        timetable.verification_start[unit] = timetable.finish[unit] = ready
        if length == 0:
            return True
        best: tuple[int, int] | None = None
        best_runner = -1
        for runner in self.instance.runners[unit]:
            found = self.lanes.earliest_verification(runner, ready, length)
            if found is not None and (best is None or found[1] < best[1]):
                best, best_runner = found, runner
        if best is None:
            return False
        lane, start = best
        self.lanes.runners[best_runner][lane].occupy(start, length)
        timetable.runner[unit] = best_runner
        timetable.verification_start[unit] = start
        timetable.finish[unit] = start + length
        return True


def score_of(instance: Instance, timetable: Timetable) -> Score:
    """Measure a timetable: how late it is against deadlines, pins and phases, and its objective."""
    finish = timetable.finish
    late = 0
    for unit, deadline in enumerate(instance.deadline):
        if deadline != NO_DEADLINE:
            late += max(0, finish[unit] - deadline)
    for unit, pinned in enumerate(instance.fixed_start):
        if pinned >= 0:
            late += sum(max(0, finish[p] - timetable.start[unit]) for p in instance.predecessors[unit])
    if instance.is_strict:
        late += _barrier_lateness(instance, timetable)
    return Score(late, objective_of(instance, finish))


def _barrier_lateness(instance: Instance, timetable: Timetable) -> int:
    under_way = set(instance.under_way)
    late, barrier = 0, 0
    for phase in instance.phases:
        members = [unit for unit in range(instance.size) if instance.phase[unit] == phase]
        late += sum(max(0, barrier - timetable.start[unit]) for unit in members if unit not in under_way)
        barrier = max(barrier, *(timetable.finish[unit] for unit in members))
    return late


def objective_of(instance: Instance, finish: Sequence[int]) -> Objective:
    """Return the objective of given finishes."""
    weighted = sum(weight * at for weight, at in zip(instance.weight, finish, strict=True))
    return Objective(max(finish, default=0), weighted)
