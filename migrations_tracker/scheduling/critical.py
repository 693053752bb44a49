"""Which units decide when the schedule ends, and how long each of the others may slip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from migrations_tracker.scheduling.graph import topological_order
from migrations_tracker.scheduling.problem import Placement, Problem, Schedule
from migrations_tracker.scheduling.worktime import WorkTime, working_windows


@dataclass(frozen=True, slots=True)
class Link:
    """`after` waits for `before`: for a precedence, for a person (`why` is their id) or for a runner."""

    before: str
    after: str
    why: str


@dataclass(frozen=True, slots=True)
class Slack:
    """How many working ticks of its person a unit may slip while the end and all orders stay."""

    unit: str
    ticks: int

    @property
    def is_critical(self) -> bool:
        """Whether every delay of it delays the end."""
        return self.ticks == 0


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The slack of all units, and a chain of critical ones from first to last with what ties them."""

    slacks: tuple[Slack, ...]
    chain: tuple[Link, ...]

    def units(self) -> tuple[str, ...]:
        """The units of the chain."""
        return tuple(dict.fromkeys(key for link in self.chain for key in (link.before, link.after)))


def critical_path(problem: Problem, schedule: Schedule) -> CriticalPath:
    """Return slack and critical chain: all is shifted right while people and runners keep their order."""
    if not schedule.placements:
        return CriticalPath((), ())
    places = schedule.by_unit()
    steps = _Steps(problem, places, schedule.objective.makespan)
    slacks = tuple(
        Slack(key, steps.slack(key)) for key in sorted(places, key=lambda key: (places[key].start, key))
    )
    return CriticalPath(slacks, _chain(places, steps, {slack.unit for slack in slacks if slack.is_critical}))


def _work(key: str) -> str:
    return f"work {key}"


def _verify(key: str) -> str:
    return f"verify {key}"


class _Steps:
    """Work and verification of each unit as steps of their own, tied by what each waits for."""

    def __init__(self, problem: Problem, places: Mapping[str, Placement], makespan: int) -> None:
        self.places = places
        self.units = {unit.key: unit for unit in problem.units}
        self.time = {
            person.id: WorkTime(working_windows(person.calendar, problem.origin, makespan))
            for person in problem.people
        }
        self.links: dict[str, list[tuple[str, Link]]] = {}
        for key in places:
            self._tie(_work(key), _verify(key), Link(key, key, "verification"))
        void = {unit.key for unit in problem.units if unit.under_way}
        for before, after in sorted(set(problem.precedences)):
            if after not in void:
                self._tie(_verify(before), _work(after), Link(before, after, "precedence"))
        for person in problem.people:
            mine = [p for p in places.values() if p.person == person.id and self.units[p.unit].effort]
            for before, after in _queues([(p.start, p.work_end, p.unit) for p in mine], person.capacity):
                self._tie(_work(before), _work(after), Link(before, after, person.id))
        for runner in problem.runners:
            taken = [p for p in places.values() if p.runner == runner.id]
            spans = [(p.verification_start, p.finish, p.unit) for p in taken]
            for before, after in _queues(spans, runner.slots):
                self._tie(_verify(before), _verify(after), Link(before, after, runner.id))
        self.latest_start, self.latest_end = self._shift(problem, makespan)

    def _tie(self, before: str, after: str, link: Link) -> None:
        self.links.setdefault(before, []).append((after, link))

    def into(self, step: str) -> Iterator[Link]:
        for ties in self.links.values():
            yield from (link for after, link in ties if after == step)

    def _shift(self, problem: Problem, makespan: int) -> tuple[dict[str, int], dict[str, int]]:
        steps = [name(key) for key in self.places for name in (_work, _verify)]
        edges = [(before, after) for before, ties in self.links.items() for after, _ in ties]
        start: dict[str, int] = {}
        end: dict[str, int] = {}
        for step in reversed(topological_order(steps, edges)):
            kind, _, key = step.partition(" ")
            unit = self.units[key]
            end[step] = min([makespan, *(start[after] for after, _ in self.links.get(step, []))])
            if kind == "verify":
                if unit.deadline is not None:
                    end[step] = min(end[step], problem.tick_before(unit.deadline))
                start[step] = end[step] - unit.verification
            else:
                start[step] = self._latest_work_start(key, end[step])
        return start, end

    def _latest_work_start(self, key: str, end: int) -> int:
        effort = self.units[key].effort
        if effort == 0:
            return end
        time = self.time[self.places[key].person]
        return time.tick_at(max(0, time.position(end) - effort))

    def slack(self, key: str) -> int:
        place, end = self.places[key], self.latest_end[_work(key)]
        if self.units[key].effort == 0:
            return max(0, end - place.work_end)
        time = self.time[place.person]
        return max(0, time.position(end) - time.position(place.work_end))


def _queues(spans: Sequence[tuple[int, int, str]], lanes: int) -> Iterator[tuple[str, str]]:
    """Each span follows the one that left the lane it takes; of several free lanes the one left last."""
    free: list[tuple[int, str]] = [(0, "")] * lanes
    for start, end, key in sorted(spans):
        taken = max(entry for entry in free if entry[0] <= start)
        free.remove(taken)
        free.append((end, key))
        if taken[1]:
            yield taken[1], key


def _chain(places: Mapping[str, Placement], steps: _Steps, critical: set[str]) -> tuple[Link, ...]:
    key = max(places, key=lambda unit: (places[unit].finish, unit))
    step = _verify(key)
    chain: list[Link] = []
    seen = {step}
    while True:
        before = [link for link in steps.into(step) if link.before in critical]
        if not before:
            return tuple(reversed(chain))
        link = max(before, key=lambda tie: (_left_at(places[tie.before], step), tie.before))
        is_work = step.startswith("work") and link.why != "precedence"
        step = _work(link.before) if is_work or link.why == "verification" else _verify(link.before)
        if step in seen:
            return tuple(reversed(chain))
        seen.add(step)
        if link.before != link.after:
            chain.append(link)


def _left_at(place: Placement, step: str) -> int:
    return place.work_end if step.startswith("work") else place.finish
