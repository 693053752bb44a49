"""Who is busy when: the lanes of people, in positions of working time, and of runners, in ticks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from migrations_tracker.scheduling.instance import Instance
from migrations_tracker.scheduling.worktime import WorkTime


class Lane:
    """One strand of work. Busy stretches are kept sorted and never overlap or touch.

    What follows without a gap makes one stretch, so that a search for room steps over gaps only.
    """

    __slots__ = ("ends", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def copy(self) -> Lane:
        """Return an independent copy."""
        lane = Lane()
        lane.starts = self.starts.copy()
        lane.ends = self.ends.copy()
        return lane

    def earliest(self, ready: int, length: int) -> int:
        """Return where the first free stretch of a length begins, at `ready` or later."""
        starts, ends = self.starts, self.ends
        index = bisect_right(ends, ready)
        while index < len(starts) and starts[index] < ready + length:
            ready = ends[index]
            index += 1
        return ready

    def occupy(self, start: int, length: int) -> None:
        """Mark a free stretch as busy."""
        starts, ends, end = self.starts, self.ends, start + length
        index = bisect_left(starts, start)
        follows = index > 0 and ends[index - 1] == start
        if index < len(starts) and starts[index] == end:
            if follows:
                ends[index - 1] = ends.pop(index)
                starts.pop(index)
            else:
                starts[index] = start
        elif follows:
            ends[index - 1] = end
        else:
            starts.insert(index, start)
            ends.insert(index, end)


class Lanes:
    """The lanes of all people and runners of an instance."""

    __slots__ = ("instance", "people", "runners")

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.people = [[Lane() for _ in range(person.capacity)] for person in instance.problem.people]
        self.runners = [[Lane() for _ in range(runner.slots)] for runner in instance.problem.runners]

    def copy(self) -> Lanes:
        """Return an independent copy."""
        lanes = Lanes.__new__(Lanes)
        lanes.instance = self.instance
        lanes.people = [[lane.copy() for lane in group] for group in self.people]
        lanes.runners = [[lane.copy() for lane in group] for group in self.runners]
        return lanes

    def earliest_work(self, person: int, ready: int, effort: int) -> tuple[int, int, int] | None:
        """Return the lane, start and end in ticks of the earliest work, or None when time runs out."""
        time = self.instance.people_time[person]
        position = time.position(ready)
        best_lane, best = 0, -1
        for index, lane in enumerate(self.people[person]):
            found = lane.earliest(position, effort)
            if best < 0 or found < best:
                best_lane, best = index, found
        if best < 0 or best + effort > time.total:
            return None
        return best_lane, time.tick_at(best), time.tick_at(best + effort - 1) + 1

    def first_free(self, person: int, ready: int) -> int | None:
        """Return the first tick, at `ready` or later, at which a person could do anything at all."""
        work = self.earliest_work(person, ready, 1)
        return None if work is None else work[1]

    def occupy_work(self, person: int, lane: int, start: int, effort: int) -> None:
        """Mark a person's lane as busy from a tick on."""
        self.people[person][lane].occupy(self.instance.people_time[person].position(start), effort)

    def earliest_verification(self, runner: int, ready: int, length: int) -> tuple[int, int] | None:
        """Return the lane and start of the earliest verification without a pause, or None."""
        best_lane, best = 0, -1
        time = self.instance.runner_time[runner]
        for index, lane in enumerate(self.runners[runner]):
            found = _earliest_unbroken(lane, time, ready, length)
            if found >= 0 and (best < 0 or found < best):
                best_lane, best = index, found
        return None if best < 0 else (best_lane, best)


def _earliest_unbroken(lane: Lane, time: WorkTime, ready: int, length: int) -> int:
    starts, ends = time.starts, time.ends
    index = max(bisect_right(starts, ready) - 1, 0)
    while index < len(starts):
        candidate = lane.earliest(max(ready, starts[index]), length)
        if candidate + length <= ends[index]:
            return candidate
        ready = max(ready, candidate)
        index += 1
        while index < len(ends) and ends[index] < ready + length:
            index += 1
    return -1
