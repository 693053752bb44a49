"""A problem put into numbers: what the list scheduler and its search work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from migrations_tracker.scheduling.graph import topological_order
from migrations_tracker.scheduling.problem import TICK, PhaseOrder, Problem, UnitDemand
from migrations_tracker.scheduling.worktime import WorkTime, working_windows


@dataclass(frozen=True, slots=True)
class Instance:
    """Units, people and runners by index, in the order of the problem.

    `predecessors` leaves out what has become void (edges into units under way). `fixed_start` is the tick at
    which a pinned unit has to start, or -1; `fixed_person` its person or that of a unit under way, or -1.
    """

    problem: Problem
    horizon: int
    people_time: tuple[WorkTime, ...]
    runner_time: tuple[WorkTime, ...]
    effort: tuple[int, ...]
    verification: tuple[int, ...]
    phase: tuple[int, ...]
    weight: tuple[int, ...]
    release: tuple[int, ...]
    deadline: tuple[int, ...]
    eligible: tuple[tuple[int, ...], ...]
    runners: tuple[tuple[int, ...], ...]
    predecessors: tuple[tuple[int, ...], ...]
    successors: tuple[tuple[int, ...], ...]
    fixed_start: tuple[int, ...]
    fixed_person: tuple[int, ...]
    under_way: tuple[int, ...]
    topological: tuple[int, ...]
    phases: tuple[int, ...] = field(default=())

    @property
    def size(self) -> int:
        """How many units there are."""
        return len(self.effort)

    @property
    def is_strict(self) -> bool:
        """Whether phases are barriers."""
        return self.problem.phase_order is PhaseOrder.STRICT


NO_DEADLINE = 1 << 40
TICKS_PER_DAY = timedelta(days=1) // TICK
MAX_HORIZON = 12 * 366 * TICKS_PER_DAY


def eligible_people(problem: Problem, unit: UnitDemand) -> tuple[int, ...]:
    """Return the people who may do a unit, those with the fewest skills first so that the rare stay free."""
    wanted = unit.under_way.person if unit.under_way else unit.pin.person if unit.pin else None
    able = [
        index
        for index, person in enumerate(problem.people)
        if person.capacity > 0
        and (person.id == wanted if wanted is not None else unit.skills <= person.skills)
    ]
    return tuple(sorted(able, key=lambda index: (len(problem.people[index].skills), index)))


def eligible_runners(problem: Problem, unit: UnitDemand) -> tuple[int, ...]:
    """Return the runners that may verify a unit; none when it needs no verification."""
    if unit.verification == 0:
        return ()
    able = [
        i for i, runner in enumerate(problem.runners) if runner.slots > 0 and unit.labels <= runner.labels
    ]
    return tuple(sorted(able, key=lambda index: (len(problem.runners[index].labels), index)))


def effective_precedences(problem: Problem) -> tuple[tuple[str, str], ...]:
    """Return the precedences that still bind: an edge into a unit under way is void."""
    under_way = {unit.key for unit in problem.units if unit.under_way}
    return tuple(sorted({edge for edge in problem.precedences if edge[1] not in under_way}))


def compile_instance(problem: Problem, horizon: int) -> Instance:
    """Put a checked problem into numbers, with calendars up to a horizon."""
    units = problem.units
    index = {unit.key: position for position, unit in enumerate(units)}
    edges = effective_precedences(problem)
    predecessors: list[list[int]] = [[] for _ in units]
    successors: list[list[int]] = [[] for _ in units]
    for before, after in edges:
        predecessors[index[after]].append(index[before])
        successors[index[before]].append(index[after])
    people_time = tuple(
        WorkTime(working_windows(person.calendar, problem.origin, horizon)) for person in problem.people
    )
    eligible = tuple(eligible_people(problem, unit) for unit in units)
    under_way = sorted(
        (position for position, unit in enumerate(units) if unit.under_way),
        key=lambda position: (_started_at(units[position]), units[position].key),
    )
    return Instance(
        problem=problem,
        horizon=horizon,
        people_time=people_time,
        runner_time=tuple(
            WorkTime(working_windows(runner.calendar, problem.origin, horizon)) for runner in problem.runners
        ),
        effort=tuple(unit.effort for unit in units),
        verification=tuple(unit.verification for unit in units),
        phase=tuple(unit.phase for unit in units),
        weight=tuple(unit.weight for unit in units),
        release=tuple(_release(problem, unit) for unit in units),
        deadline=tuple(
            problem.tick_before(unit.deadline) if unit.deadline is not None else NO_DEADLINE for unit in units
        ),
        eligible=eligible,
        runners=tuple(eligible_runners(problem, unit) for unit in units),
        predecessors=tuple(map(tuple, predecessors)),
        successors=tuple(map(tuple, successors)),
        fixed_start=tuple(_fixed_start(problem, unit) for unit in units),
        fixed_person=tuple(
            able[0] if able and (unit.under_way or (unit.pin and unit.pin.person)) else -1
            for unit, able in zip(units, eligible, strict=True)
        ),
        under_way=tuple(under_way),
        topological=tuple(index[key] for key in topological_order(index, edges)),
        phases=tuple(sorted({unit.phase for unit in units})),
    )


def _started_at(unit: UnitDemand) -> float:
    return unit.under_way.started_at.timestamp() if unit.under_way else 0.0


def _release(problem: Problem, unit: UnitDemand) -> int:
    if unit.release is None or unit.under_way:
        return 0
    return max(0, problem.tick_after(unit.release))


def _fixed_start(problem: Problem, unit: UnitDemand) -> int:
    if unit.under_way or unit.pin is None or unit.pin.start is None:
        return -1
    return max(0, problem.tick_after(unit.pin.start))
