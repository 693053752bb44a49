"""Solve a problem: list scheduling at once, search over lists, the exact solver; or say why not."""

from __future__ import annotations

import time
from collections.abc import Iterator

from migrations_tracker.scheduling import exact
from migrations_tracker.scheduling.bounds import lower_bound, tightened
from migrations_tracker.scheduling.checking import conflicts_of
from migrations_tracker.scheduling.fixing import Fixed, fix
from migrations_tracker.scheduling.improving import Candidate, SearchBudget, first_answer, improve, repair
from migrations_tracker.scheduling.instance import MAX_HORIZON, TICKS_PER_DAY, Instance, compile_instance
from migrations_tracker.scheduling.lateness import explain_lateness
from migrations_tracker.scheduling.listing import Scheduler, Timetable
from migrations_tracker.scheduling.problem import (
    Bound,
    BoundPart,
    Conflict,
    ConflictKind,
    Infeasible,
    Objective,
    Placement,
    Problem,
    Schedule,
    SolveOptions,
)

_FIRST_HORIZON = 120 * TICKS_PER_DAY


def solve(
    problem: Problem, options: SolveOptions | None = None, earlier: Schedule | None = None
) -> Schedule | Infeasible:
    """Return a schedule that obeys every rule, or the constraints that clash.

    The order and the people of an earlier schedule are among those that the search begins with.
    """
    options = options or SolveOptions()
    conflicts = conflicts_of(problem)
    if conflicts:
        return Infeasible(conflicts)
    if not problem.units:
        return Schedule(
            (), Objective(0, 0), Bound(()), "nothing to schedule", options.seed, Objective(0, 0), True
        )
    prepared = _prepare(problem, earlier)
    if isinstance(prepared, Infeasible):
        return prepared
    scheduler, first = prepared
    return _search(scheduler, first, options)


def list_schedule(problem: Problem) -> Schedule | Infeasible:
    """Return what list scheduling alone gives, at once."""
    return solve(problem, SolveOptions(evaluations=0, use_solver=False))


def _prepare(problem: Problem, earlier: Schedule | None) -> tuple[Scheduler, Candidate] | Infeasible:
    for horizon in _horizons(problem):
        instance = compile_instance(problem, horizon)
        fixed = fix(instance)
        if fixed.clashing and not (fixed.is_short_of_time and horizon < MAX_HORIZON):
            return Infeasible((_pins_clash(instance, fixed),))
        if fixed.clashing:
            continue
        scheduler = Scheduler(instance, fixed)
        first = first_answer(scheduler, earlier)
        if first is not None:
            return scheduler, first
    return Infeasible((_no_time(instance),))


def _horizons(problem: Problem) -> Iterator[int]:
    horizon = _FIRST_HORIZON
    for unit in problem.units:
        for instant in (unit.release, unit.pin.start if unit.pin else None):
            if instant is not None:
                horizon = max(horizon, problem.tick_after(instant) + _FIRST_HORIZON)
    while horizon < MAX_HORIZON:
        yield horizon
        horizon *= 4
    yield MAX_HORIZON


def _search(scheduler: Scheduler, first: Candidate, options: SolveOptions) -> Schedule | Infeasible:
    deadline = time.monotonic() + options.wall_seconds
    budget = SearchBudget(options.evaluations, deadline)
    if first.score.lateness:
        first = repair(scheduler, first, options.seed)
    found = improve(scheduler, first, options.seed, budget) if options.evaluations else first
    best, method = found.timetable, found.method
    use_solver = options.use_solver and exact.is_available()
    if found.score.lateness:
        late = explain_lateness(scheduler, best, options, deadline, use_solver)
        if isinstance(late, Infeasible):
            return late
        best, method = late, "exact solver"
    bound = lower_bound(scheduler.instance)
    if options.evaluations:
        bound = tightened(scheduler.instance, bound, max(best.finish))
    is_best_weighted, cut, notes = False, budget.is_cut_off, []
    makespan = max(best.finish)
    if not use_solver:
        notes.append("No bound was proved by an exact solver: it is not installed or not asked for.")
    elif not exact.is_small_enough(scheduler.instance, makespan):
        notes.append("The exact solver was left out: the instance is larger than its model can use.")
    else:
        answer = exact.solve_exactly(
            scheduler, best, makespan, options.seed, options.deterministic_time, deadline, bound.value
        )
        cut = cut or answer.is_cut_off
        if answer.timetable and scheduler.score(answer.timetable) < scheduler.score(best):
            best, method = answer.timetable, "exact solver"
        is_best_weighted = answer.is_best_weighted
        if answer.makespan_bound:
            parts = (*bound.parts, BoundPart("exact solver", answer.makespan_bound))
            bound = Bound(parts, is_by_solver=True)
    objective = scheduler.score(best).objective
    is_optimal = bound.value >= objective.makespan
    return Schedule(
        placements_of(scheduler.instance, best),
        objective,
        bound,
        method,
        options.seed,
        first.score.objective,
        is_optimal,
        cut,
        tuple(notes),
        is_best_weighted,
    )


def placements_of(instance: Instance, table: Timetable) -> tuple[Placement, ...]:
    """Name what a timetable places, in the order of the starts."""
    problem = instance.problem
    placements = [
        Placement(
            unit=unit.key,
            person=problem.people[table.person[index]].id,
            start=table.start[index],
            work_end=table.work_end[index],
            runner=problem.runners[table.runner[index]].id if table.runner[index] >= 0 else None,
            verification_start=table.verification_start[index],
            finish=table.finish[index],
        )
        for index, unit in enumerate(problem.units)
    ]
    return tuple(sorted(placements, key=lambda placement: (placement.start, placement.unit)))


def _pins_clash(instance: Instance, fixed: Fixed) -> Conflict:
    units = [instance.problem.units[index] for index in fixed.clashing]
    if fixed.is_short_of_time:
        names = tuple(f"working time of unit {unit.key}" for unit in units)
        return Conflict(
            ConflictKind.NO_WORKING_TIME, names, "No calendar leaves enough working time for what is fixed."
        )
    names = tuple(f"pin of {unit.key}" for unit in units)
    keys = ", ".join(f"`{unit.key}`" for unit in units)
    return Conflict(
        ConflictKind.PINS_CLASH,
        (*names, "capacity of the people"),
        f"There are not enough free people for {keys} at their pins beside what is under way.",
        fixed.is_exhaustive,
    )


def _no_time(instance: Instance) -> Conflict:
    short = [unit for index, unit in enumerate(instance.problem.units) if not _fits_alone(instance, index)]
    names = tuple(f"working time for {unit.key}" for unit in short) or (
        "working time of the people and runners",
    )
    keys = ", ".join(f"`{unit.key}`" for unit in short) or "all units together"
    return Conflict(
        ConflictKind.NO_WORKING_TIME,
        names,
        f"Within {MAX_HORIZON // TICKS_PER_DAY // 366} years the calendars leave too little time for {keys}.",
        is_proved=bool(short),
    )


def _fits_alone(instance: Instance, unit: int) -> bool:
    effort, length = instance.effort[unit], instance.verification[unit]
    has_person = effort == 0 or any(instance.people_time[p].total >= effort for p in instance.eligible[unit])
    calendars = (instance.runner_time[runner] for runner in instance.runners[unit])
    longest = max((time.longest for time in calendars), default=0)
    return has_person and (length == 0 or longest >= length)
