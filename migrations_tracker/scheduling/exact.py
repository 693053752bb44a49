"""The exact model: OR-Tools CP-SAT, imported only where it solves."""

from __future__ import annotations

import importlib.util
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from migrations_tracker.scheduling.instance import NO_DEADLINE, Instance
from migrations_tracker.scheduling.listing import Scheduler, Timetable
from migrations_tracker.scheduling.spans import earliest_finishes, latest_times
from migrations_tracker.scheduling.worktime import WorkTime

MAX_LITERALS = 60_000


class ExactModelError(Exception):
    """The exact model contradicts a timetable that is known to exist."""


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """What the solver found and proved.

    `timetable` is None where it found nothing. `makespan_bound` holds for every timetable of the instance;
    `is_best_weighted` says that none as short as this one has a smaller weighted completion.
    """

    timetable: Timetable | None
    makespan_bound: int
    is_cut_off: bool
    is_best_weighted: bool = False


def is_available() -> bool:
    """Whether OR-Tools is installed."""
    return importlib.util.find_spec("ortools") is not None


def is_small_enough(instance: Instance, makespan: int) -> bool:
    """Whether the model of an instance stays of a size that the solver can use."""
    windows = [sum(1 for start in time.starts if start < makespan) for time in instance.people_time]
    literals = sum(2 * windows[p] for eligible in instance.eligible for p in eligible)
    return literals <= MAX_LITERALS


def solve_exactly(
    scheduler: Scheduler,
    hint: Timetable | None,
    makespan: int,
    seed: int,
    deterministic_time: float,
    deadline: float,
    known_bound: int,
) -> ExactAnswer:
    """Make the makespan small, then weighted completion at no longer makespan, from a hint on.

    Where the hint's makespan is known to be the shortest, all the time goes to weighted completion.
    """
    from ortools.sat.python import cp_model

    model = _Model(cp_model, scheduler, makespan)
    solver = _solver(cp_model, seed)
    model.model.add(model.last >= known_bound)
    bound, best, cut, is_best_weighted = known_bound, hint, False, False
    is_shortest = hint is not None and max(hint.finish) <= known_bound
    share = deterministic_time if is_shortest else deterministic_time / 2
    if is_shortest:
        model.model.add(model.last <= known_bound)
    for level in [model.weighted] if is_shortest else [model.last, model.weighted]:
        left = deadline - time.monotonic()
        if left <= 0:
            return ExactAnswer(best, bound, True)
        solver.parameters.max_deterministic_time = share
        solver.parameters.max_time_in_seconds = left
        model.suggest(best)
        model.model.minimize(level)
        status = _solved(solver, model)
        cut = cut or time.monotonic() >= deadline
        if status == cp_model.MODEL_INVALID or (status == cp_model.INFEASIBLE and hint is not None):
            # The hint is a timetable of this very model: without this the fault would pass as a weak answer.
            raise ExactModelError(f"the exact model rejects a known timetable: {solver.status_name(status)}")
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            best = model.read(solver)
        if best is None:
            return ExactAnswer(None, 0, cut)
        if level is model.last:
            bound = round(solver.best_objective_bound)
            model.model.add(model.last <= max(best.finish))
        else:
            is_best_weighted = status == cp_model.OPTIMAL
    return ExactAnswer(best, bound, cut, is_best_weighted)


def is_infeasible(
    scheduler: Scheduler, horizon: int, seed: int, deterministic_time: float, seconds: float
) -> bool:
    """Return whether the solver proves that no timetable ends by the horizon."""
    from ortools.sat.python import cp_model

    model = _Model(cp_model, scheduler, horizon)
    solver = _solver(cp_model, seed)
    solver.parameters.max_deterministic_time = deterministic_time
    solver.parameters.max_time_in_seconds = seconds
    return bool(_solved(solver, model) == cp_model.INFEASIBLE)


def _solver(cp_model: Any, seed: int) -> Any:
    solver = cp_model.CpSolver()
    # One worker: with several the answer depends on which of them is faster.
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    # Its own handler of Ctrl-C gives way to the system's default, not to Python's.
    solver.parameters.catch_sigint_signal = False
    return solver


def _solved(solver: Any, model: _Model) -> Any:
    """Solve, and return the status; what interrupts this process ends the search, and is raised."""
    with ThreadPoolExecutor(1) as beside:
        answer = beside.submit(solver.solve, model.model)
        try:
            # Python answers no signal while it is inside of the solver.
            return answer.result()
        except BaseException:
            solver.stop_search()
            raise


class _Model:
    """Optional intervals of each unit and person on the person's line of working time, tied to the clock."""

    def __init__(self, cp_model: Any, scheduler: Scheduler, makespan: int) -> None:
        self.cp = cp_model
        self.instance = scheduler.instance
        self.scheduler = scheduler
        self.makespan = makespan
        self.model = cp_model.CpModel()
        size = self.instance.size
        new = self.model.new_int_var
        self.earliest, self.latest_end, latest_finish = self._spans()
        self.start = [new(self.earliest[u], makespan, f"start{u}") for u in range(size)]
        self.work_end = [new(0, self.latest_end[u], f"work_end{u}") for u in range(size)]
        self.finish = [new(0, latest_finish[u], f"finish{u}") for u in range(size)]
        self.position: dict[tuple[int, int], Any] = {}
        self.reach: dict[int, tuple[int, int]] = {}
        self.works_on: dict[tuple[int, int], Any] = {}
        self.verification = [
            new(0, makespan, f"verification{u}") if self.instance.verification[u] else self.work_end[u]
            for u in range(size)
        ]
        self.verifies: dict[tuple[int, int], Any] = {}
        self._people()
        self._runners()
        self._order()
        self.last = self._phases()
        self.weighted = sum(
            weight * finish for weight, finish in zip(self.instance.weight, self.finish, strict=True)
        )

    def _spans(self) -> tuple[list[int], list[int], list[int]]:
        """The earliest start, latest end of work and latest finish that the makespan leaves each unit."""
        latest = latest_times(self.instance, self.makespan)
        size = self.instance.size
        if latest is None:
            # No timetable fits; the domains stay wide and the solver finds the contradiction itself.
            return [0] * size, [self.makespan] * size, [self.makespan] * size
        return earliest_finishes(self.instance)[0], latest[1], latest[2]

    def _people(self) -> None:
        by_person: dict[int, list[Any]] = {}
        fixed = {work.unit: work for work in self.scheduler.fixed.works}
        for unit in range(self.instance.size):
            work = fixed.get(unit)
            if work is not None:
                self.model.add(self.start[unit] == work.start)
                self.model.add(self.work_end[unit] == work.end)
            people = self.instance.eligible[unit] if work is None else (work.person,)
            for person in people:
                interval = self._work(unit, person)
                if interval is not None:
                    by_person.setdefault(person, []).append(interval)
            literals = [self.works_on[unit, person] for person in people if (unit, person) in self.works_on]
            self.model.add_exactly_one(literals)
        for person, intervals in by_person.items():
            capacity = self.instance.problem.people[person].capacity
            if capacity == 1:
                self.model.add_no_overlap(intervals)
            else:
                self.model.add_cumulative(intervals, [1] * len(intervals), capacity)

    def _work(self, unit: int, person: int) -> Any:
        effort = self.instance.effort[unit]
        works = self.model.new_bool_var(f"works{unit},{person}")
        self.works_on[unit, person] = works
        if effort == 0:
            self.model.add(self.work_end[unit] == self.start[unit]).only_enforce_if(works)
            return None
        time_of = self.instance.people_time[person]
        first = time_of.position(self.earliest[unit])
        last = time_of.position(self.latest_end[unit]) - effort
        if last < first:
            self.model.add(works == 0)
            return None
        position = self.model.new_int_var(first, last, f"position{unit},{person}")
        self.position[unit, person] = position
        self.reach[position.index] = (first, last)
        self._clock(time_of, position, 0, self.start[unit], 0, works)
        self._clock(time_of, position, effort - 1, self.work_end[unit], 1, works)
        return self.model.new_optional_fixed_size_interval_var(
            position, effort, works, f"work{unit},{person}"
        )

    def _clock(
        self, time_of: WorkTime, position: Any, offset: int, tick: Any, extra: int, works: Any
    ) -> None:
        """Tie `tick` to the clock time of `position + offset`, plus `extra` (1 for an end)."""
        inside = []
        first, last = self.reach[position.index]
        first, last = first + offset, last + offset
        for start, end, before in zip(time_of.starts, time_of.ends, time_of.cumulative, strict=True):
            if before > last:
                break
            if before + end - start <= first:
                continue
            literal = self.model.new_bool_var("")
            low = before - offset
            domain = self.cp.Domain(low, low + end - start - 1)
            self.model.add_linear_expression_in_domain(position, domain).only_enforce_if(literal)
            self.model.add(tick == position + offset + extra + start - before).only_enforce_if(literal)
            inside.append(literal)
        self.model.add(sum(inside) == works)

    def _runners(self) -> None:
        instance = self.instance
        by_runner: dict[int, list[Any]] = {}
        for unit, length in enumerate(instance.verification):
            if length == 0:
                self.model.add(self.finish[unit] == self.work_end[unit])
                continue
            at = self.verification[unit]
            self.model.add(at >= self.work_end[unit])
            self.model.add(self.finish[unit] == at + length)
            for runner in instance.runners[unit]:
                verifies = self.model.new_bool_var(f"verifies{unit},{runner}")
                self.verifies[unit, runner] = verifies
                time_of = instance.runner_time[runner]
                starts = [
                    [start, end - length]
                    for start, end in zip(time_of.starts, time_of.ends, strict=True)
                    if end - length >= start
                ]
                domain = self.cp.Domain.from_intervals(starts)
                self.model.add_linear_expression_in_domain(at, domain).only_enforce_if(verifies)
                interval = self.model.new_optional_fixed_size_interval_var(at, length, verifies, "")
                by_runner.setdefault(runner, []).append(interval)
            self.model.add_exactly_one([self.verifies[unit, runner] for runner in instance.runners[unit]])
        for runner, intervals in by_runner.items():
            slots = instance.problem.runners[runner].slots
            self.model.add_cumulative(intervals, [1] * len(intervals), slots)

    def _order(self) -> None:
        instance = self.instance
        under_way = set(instance.under_way)
        for unit in range(instance.size):
            for predecessor in instance.predecessors[unit]:
                self.model.add(self.start[unit] >= self.finish[predecessor])
            if unit not in under_way:
                self.model.add(self.start[unit] >= instance.release[unit])
            if instance.deadline[unit] != NO_DEADLINE:
                self.model.add(self.finish[unit] <= instance.deadline[unit])

    def _phases(self) -> Any:
        """Tie the end of each phase to its units and return the end of everything."""
        instance = self.instance
        under_way = set(instance.under_way)
        ends: list[Any] = []
        for phase in instance.phases:
            end = self.model.new_int_var(0, self.makespan, f"phase{phase}")
            if ends:
                self.model.add(end >= ends[-1])
            for unit in range(instance.size):
                if instance.phase[unit] == phase:
                    self.model.add(end >= self.finish[unit])
                    if instance.is_strict and ends and unit not in under_way:
                        self.model.add(self.start[unit] >= ends[-1])
            ends.append(end)
        return ends[-1]

    def suggest(self, hint: Timetable | None) -> None:
        """Tell the solver where to begin."""
        if hint is None:
            return
        self.model.clear_hints()
        for unit in range(self.instance.size):
            self.model.add_hint(self.start[unit], hint.start[unit])
            self.model.add_hint(self.work_end[unit], hint.work_end[unit])
            self.model.add_hint(self.finish[unit], hint.finish[unit])
            if self.instance.verification[unit]:
                self.model.add_hint(self.verification[unit], hint.verification_start[unit])
        for (unit, person), works in self.works_on.items():
            self.model.add_hint(works, hint.person[unit] == person)
        for (unit, person), position in self.position.items():
            if hint.person[unit] == person:
                time_of = self.instance.people_time[person]
                self.model.add_hint(position, time_of.position(hint.start[unit]))
        for (unit, runner), verifies in self.verifies.items():
            self.model.add_hint(verifies, hint.runner[unit] == runner)

    def read(self, solver: Any) -> Timetable:
        """Return what the solver found."""
        table = Timetable.empty(self.instance.size)
        for unit in range(self.instance.size):
            table.start[unit] = solver.value(self.start[unit])
            table.work_end[unit] = solver.value(self.work_end[unit])
            table.verification_start[unit] = solver.value(self.verification[unit])
            table.finish[unit] = solver.value(self.finish[unit])
        for (unit, person), works in self.works_on.items():
            if solver.boolean_value(works):
                table.person[unit] = person
        for (unit, runner), verifies in self.verifies.items():
            if solver.boolean_value(verifies):
                table.runner[unit] = runner
        return table
