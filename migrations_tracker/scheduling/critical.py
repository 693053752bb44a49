"""Which units decide when the schedule ends, and how long each of the others may slip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from migrations_tracker.scheduling.graph import topological_order
from migrations_tracker.scheduling.problem import PhaseOrder, Placement, Problem, Schedule
from migrations_tracker.scheduling.worktime import WorkTime, working_windows


@dataclass(frozen=True, slots=True)
class Link:
    """`after` waits for `before`: for a precedence, for a person (`why` is their id) or for a runner."""

    before: str
    after: str
    why: str


@dataclass(frozen=True, slots=True)
class Slack:
    """How far a unit may slip while the end, all orders, pins and deadlines stay.

    `ticks` are working ticks of its person, `verification` ticks of the clock for its run on a GPU, where it
    has one. They differ where the runner is closed when the work ends: the work may slip, the run may not.
    """

    unit: str
    ticks: int
    verification: int | None = None

    @property
    def is_critical(self) -> bool:
        """Whether its work or its verification can't be any later."""
        return self.ticks == 0 or self.verification == 0


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The slack of all units, and a chain of critical ones from first to last with what ties them.

    `latest` has every unit as late as it may be: a schedule that obeys the same rules and ends no later.
    """

    slacks: tuple[Slack, ...]
    chain: tuple[Link, ...]
    latest: tuple[Placement, ...] = ()

    def units(self) -> tuple[str, ...]:
        """The units of the chain."""
        return tuple(dict.fromkeys(key for link in self.chain for key in (link.before, link.after)))


def critical_path(problem: Problem, schedule: Schedule) -> CriticalPath:
    """Return slack and critical chain: all is shifted right while people and runners keep their order."""
    if not schedule.placements:
        return CriticalPath((), ())
    places = schedule.by_unit()
    steps = _Steps(problem, places, schedule.objective.makespan)
    keys = sorted(places, key=lambda key: (places[key].start, key))
    return CriticalPath(
        tuple(steps.slack(key) for key in keys),
        _chain(places, steps),
        tuple(steps.latest(key) for key in keys),
    )


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
        self.runner_time = {
            runner.id: WorkTime(working_windows(runner.calendar, problem.origin, makespan))
            for runner in problem.runners
        }
        self.links: dict[str, list[tuple[str, Link]]] = {}
        for key in places:
            self._tie(_work(key), _verify(key), Link(key, key, "verification"))
        self._tie_precedences(problem)
        self._tie_queues(problem)
        self.start: dict[str, int] = {}
        self.end: dict[str, int] = {}
        self._shift(problem, makespan)

    def _tie(self, before: str, after: str, link: Link) -> None:
        self.links.setdefault(before, []).append((after, link))

    def _tie_precedences(self, problem: Problem) -> None:
        void = {unit.key for unit in problem.units if unit.under_way}
        for before, after in sorted(set(problem.precedences)):
            if after not in void:
                self._tie(_verify(before), _work(after), Link(before, after, "precedence"))
        if problem.phase_order is not PhaseOrder.STRICT:
            return
        bound = sorted(set(self.places) - void)
        for before in sorted(self.places):
            for after in bound:
                if self.units[before].phase < self.units[after].phase:
                    self._tie(_verify(before), _work(after), Link(before, after, "phase order"))

    def _tie_queues(self, problem: Problem) -> None:
        for person in problem.people:
            mine = [p for p in self.places.values() if p.person == person.id and self.units[p.unit].effort]
            for before, after in _queues([(p.start, p.work_end, p.unit) for p in mine], person.capacity):
                self._tie(_work(before), _work(after), Link(before, after, person.id))
        for runner in problem.runners:
            taken = [p for p in self.places.values() if p.runner == runner.id]
            spans = [(p.verification_start, p.finish, p.unit) for p in taken]
            for before, after in _queues(spans, runner.slots):
                self._tie(_verify(before), _verify(after), Link(before, after, runner.id))

    def into(self, step: str) -> Iterator[tuple[str, Link]]:
        for before, ties in self.links.items():
            yield from ((before, link) for after, link in ties if after == step)

    def _shift(self, problem: Problem, makespan: int) -> None:
        steps = [name(key) for key in self.places for name in (_work, _verify)]
        edges = [(before, after) for before, ties in self.links.items() for after, _ in ties]
        edges += [(_work(key), _work(other)) for key in self.places for other in self._begun_after(key)]
        for step in reversed(topological_order(steps, edges)):
            kind, _, key = step.partition(" ")
            end = min([makespan, *(self.start[after] for after, _ in self.links.get(step, []))])
            if kind == "verify":
                self._shift_verification(problem, key, end)
            else:
                self._shift_work(key, end)

    def _shift_verification(self, problem: Problem, key: str, end: int) -> None:
        unit, place = self.units[key], self.places[key]
        if unit.deadline is not None:
            end = min(end, problem.tick_before(unit.deadline))
        if place.runner is not None:
            end = self.runner_time[place.runner].latest_end(end, unit.verification)
        self.end[_verify(key)] = end
        self.start[_verify(key)] = end - unit.verification

    def _shift_work(self, key: str, end: int) -> None:
        unit, place = self.units[key], self.places[key]
        last_start = min((self.start[_work(other)] for other in self._begun_after(key)), default=end)
        if unit.pin and unit.pin.start and not unit.under_way:
            self.start[_work(key)], self.end[_work(key)] = place.start, place.work_end
        elif unit.effort == 0:
            self.start[_work(key)] = self.end[_work(key)] = min(end, last_start)
        else:
            time = self.time[place.person]
            position = min(time.position(end), time.last_position(last_start) + unit.effort)
            self.start[_work(key)] = time.tick_at(position - unit.effort)
            self.end[_work(key)] = time.tick_at(position - 1) + 1

    def _begun_after(self, key: str) -> list[str]:
        """What is under way goes on before its person begins anything else."""
        if not self.units[key].under_way or not self.units[key].effort:
            return []
        mine = [other for other, place in self.places.items() if place.person == self.places[key].person]
        return [other for other in mine if self.units[other].effort and not self._is_fixed(other)]

    def _is_fixed(self, key: str) -> bool:
        unit = self.units[key]
        return unit.under_way is not None or (unit.pin is not None and unit.pin.start is not None)

    def slack(self, key: str) -> Slack:
        place, end = self.places[key], self.end[_work(key)]
        if self.units[key].effort == 0:
            ticks = end - place.work_end
        else:
            time = self.time[place.person]
            ticks = time.position(end) - time.position(place.work_end)
        late = self.end[_verify(key)] - place.finish if place.runner is not None else None
        return Slack(key, ticks, late)

    def is_critical(self, step: str) -> bool:
        kind, _, key = step.partition(" ")
        slack = self.slack(key)
        return slack.ticks == 0 if kind == "work" or slack.verification is None else slack.verification == 0

    def latest(self, key: str) -> Placement:
        work, verify = _work(key), _verify(key)
        has_runner = self.places[key].runner is not None
        return replace(
            self.places[key],
            start=self.start[work],
            work_end=self.end[work],
            verification_start=self.start[verify] if has_runner else self.end[work],
            finish=self.end[verify] if has_runner else self.end[work],
        )


def _queues(spans: Sequence[tuple[int, int, str]], lanes: int) -> Iterator[tuple[str, str]]:
    """Each span follows the one that left the lane it takes; of several free lanes the one left last."""
    free: list[tuple[int, str]] = [(0, "")] * lanes
    for start, end, key in sorted(spans):
        taken = max(entry for entry in free if entry[0] <= start)
        free.remove(taken)
        free.append((end, key))
        if taken[1]:
            yield taken[1], key


def _chain(places: Mapping[str, Placement], steps: _Steps) -> tuple[Link, ...]:
    step = _verify(max(places, key=lambda unit: (places[unit].finish, unit)))
    chain: list[Link] = []
    seen = {step}
    while True:
        ties = [tie for tie in steps.into(step) if tie[0] not in seen and steps.is_critical(tie[0])]
        if not ties:
            return tuple(reversed(chain))
        step, link = max(ties, key=lambda tie: (_left_at(places[tie[1].before], tie[0]), tie[0]))
        seen.add(step)
        if link.before != link.after:
            chain.append(link)


def _left_at(place: Placement, step: str) -> int:
    return place.work_end if step.startswith("work") else place.finish
