"""What the search may not move: units under way, and units pinned to a start."""

from __future__ import annotations

from dataclasses import dataclass

from migrations_tracker.scheduling.instance import Instance
from migrations_tracker.scheduling.lanes import Lane, Lanes

_MAX_TRIALS = 20_000


@dataclass(frozen=True, slots=True)
class FixedWork:
    """The place of one fixed unit."""

    unit: int
    person: int
    lane: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """All fixed places. `clashing` holds units that have none; `is_exhaustive`: all ways were tried."""

    works: tuple[FixedWork, ...]
    clashing: tuple[int, ...] = ()
    is_exhaustive: bool = True
    is_short_of_time: bool = False


def fix(instance: Instance) -> Fixed:
    """Place the units under way one after the other from now on, then the pinned ones at their pins.

    Work under way on one person queues in the order in which it was begun. A pin without a person goes to
    anybody who is free then; all ways are tried before pins are said to clash.
    """
    lanes = Lanes(instance)
    works: list[FixedWork] = []
    for unit in instance.under_way:
        work = _earliest(instance, lanes, unit, instance.fixed_person[unit])
        if work is None:
            return Fixed((), (unit,), is_short_of_time=True)
        works.append(work)
    pinned = sorted(
        (unit for unit, start in enumerate(instance.fixed_start) if start >= 0),
        key=lambda unit: (len(instance.eligible[unit]), instance.fixed_start[unit], unit),
    )
    trial = _Trial(instance, lanes, works)
    if trial.place(pinned, 0):
        return Fixed(tuple(trial.works))
    return Fixed((), tuple(sorted(trial.deepest)), trial.count <= _MAX_TRIALS, trial.ran_out)


def _earliest(instance: Instance, lanes: Lanes, unit: int, person: int) -> FixedWork | None:
    effort = instance.effort[unit]
    if effort == 0:
        return FixedWork(unit, person, 0, 0, 0)
    found = lanes.earliest_work(person, 0, effort)
    if found is None:
        return None
    lane, start, end = found
    lanes.occupy_work(person, lane, start, effort)
    return FixedWork(unit, person, lane, start, end)


class _Trial:
    """A search for people who are free at all the pins."""

    def __init__(self, instance: Instance, lanes: Lanes, works: list[FixedWork]) -> None:
        self.instance = instance
        self.lanes = lanes
        self.works = works
        self.count = 0
        self.deepest: set[int] = set()
        self.ran_out = False

    def place(self, pinned: list[int], index: int) -> bool:
        if index == len(pinned):
            return True
        unit = pinned[index]
        if index + 1 > len(self.deepest):
            self.deepest = set(pinned[: index + 1])
        effort = self.instance.effort[unit]
        for person in self.instance.eligible[unit]:
            self.count += 1
            if self.count > _MAX_TRIALS:
                return False
            work = self._at_pin(unit, person, effort)
            if work is None:
                continue
            lane = self.lanes.people[person][work.lane]
            before = lane.copy()
            if effort:
                self.lanes.occupy_work(person, work.lane, work.start, effort)
            self.works.append(work)
            if self.place(pinned, index + 1):
                return True
            self.works.pop()
            _restore(lane, before)
        return False

    def _at_pin(self, unit: int, person: int, effort: int) -> FixedWork | None:
        pin = self.instance.fixed_start[unit]
        if effort == 0:
            return FixedWork(unit, person, 0, pin, pin)
        time = self.instance.people_time[person]
        position = time.position(pin)
        if position + effort > time.total:
            self.ran_out = True
            return None
        for index, lane in enumerate(self.lanes.people[person]):
            if lane.earliest(position, effort) == position:
                return FixedWork(
                    unit, person, index, time.tick_at(position), time.tick_at(position + effort - 1) + 1
                )
        return None


def _restore(lane: Lane, before: Lane) -> None:
    lane.starts, lane.ends = before.starts, before.ends
