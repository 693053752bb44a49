"""When every schedule found breaks a date or a phase: find one that does not, or say what clashes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from migrations_tracker.scheduling import exact
from migrations_tracker.scheduling.fixing import fix
from migrations_tracker.scheduling.instance import (
    MAX_HORIZON,
    NO_DEADLINE,
    Instance,
    compile_instance,
    effective_precedences,
)
from migrations_tracker.scheduling.listing import Scheduler, Timetable
from migrations_tracker.scheduling.problem import (
    Conflict,
    ConflictKind,
    Infeasible,
    PhaseOrder,
    Problem,
    SolveOptions,
    UnitDemand,
)
from migrations_tracker.scheduling.spans import earliest_finishes


def explain_lateness(
    scheduler: Scheduler, best: Timetable, options: SolveOptions, deadline: float, use_solver: bool
) -> Timetable | Infeasible:
    """Return a timetable that keeps all promises, or the promises that clash."""
    instance = scheduler.instance
    impossible = tuple(_impossible_alone(instance))
    if impossible:
        return Infeasible(impossible)
    if use_solver:
        clash = _proved_clash(instance.problem, options, deadline)
        if clash is not None:
            return Infeasible((clash,))
        makespan = min(instance.horizon, 2 * max(best.finish))
        if exact.is_small_enough(instance, makespan):
            answer = exact.solve_exactly(
                scheduler, None, makespan, options.seed, options.deterministic_time, deadline, 0
            )
            if answer.timetable is not None and scheduler.score(answer.timetable).lateness == 0:
                return answer.timetable
    return Infeasible(tuple(_missed(instance, best)))


def _impossible_alone(instance: Instance) -> Iterator[Conflict]:
    """Promises that would be broken even if nobody were ever busy with another unit."""
    _, finish = earliest_finishes(instance)
    problem = instance.problem
    for index, unit in enumerate(problem.units):
        if finish[index] > instance.deadline[index]:
            chain = _chain(instance, finish, index)
            yield Conflict(
                ConflictKind.DEADLINE_MISSED,
                (f"deadline of {unit.key}", *_chain_constraints(chain)),
                f"`{unit.key}` can't finish before {problem.instant(finish[index]):%Y-%m-%d %H:%M} UTC, "
                f"after its deadline, even with free people: {' → '.join(chain)}.",
            )
        pin = instance.fixed_start[index]
        late = [p for p in instance.predecessors[index] if pin >= 0 and finish[p] > pin]
        for predecessor in late:
            before = problem.units[predecessor].key
            yield Conflict(
                ConflictKind.PINS_CLASH,
                (f"pin of {unit.key}", f"precedence {before} → {unit.key}"),
                f"`{unit.key}` is pinned to {problem.instant(pin):%Y-%m-%d %H:%M} UTC, before `{before}` "
                "can have finished.",
            )


def _chain(instance: Instance, finish: list[int], last: int) -> list[str]:
    chain = [last]
    while instance.predecessors[chain[-1]]:
        chain.append(max(instance.predecessors[chain[-1]], key=lambda unit: (finish[unit], -unit)))
    return [instance.problem.units[unit].key for unit in reversed(chain)]


def _chain_constraints(chain: list[str]) -> Iterator[str]:
    for before, after in pairwise(chain):
        yield f"precedence {before} → {after}"


def _proved_clash(problem: Problem, options: SolveOptions, deadline: float) -> Conflict | None:
    """Prove that the dated units alone have no schedule, and drop the dates that don't count."""
    if not _is_infeasible(problem, options, deadline):
        return None
    kept = problem
    for unit in problem.units:
        for loosened in _without_dates(unit):
            trial = _replaced(kept, loosened)
            if _is_infeasible(trial, options, deadline):
                kept = trial
                break
    names = [f"deadline of {unit.key}" for unit in kept.units if unit.deadline is not None]
    names += [
        f"pin of {unit.key}" for unit in kept.units if unit.pin and unit.pin.start and not unit.under_way
    ]
    kind = (
        ConflictKind.DEADLINE_MISSED if any(unit.deadline for unit in kept.units) else ConflictKind.PINS_CLASH
    )
    return Conflict(
        kind,
        (*names, "capacity, skills and calendars of the people and runners"),
        "These dates can't all be kept with the people and runners there are: " + "; ".join(names) + ".",
    )


def _without_dates(unit: UnitDemand) -> Iterator[UnitDemand]:
    pin = replace(unit.pin, start=None) if unit.pin and unit.pin.start and not unit.under_way else unit.pin
    if unit.deadline is not None and pin is not unit.pin:
        yield replace(unit, deadline=None, pin=pin)
    if unit.deadline is not None:
        yield replace(unit, deadline=None)
    if pin is not unit.pin:
        yield replace(unit, pin=pin)


def _replaced(problem: Problem, unit: UnitDemand) -> Problem:
    return replace(problem, units=tuple(unit if other.key == unit.key else other for other in problem.units))


def _is_infeasible(problem: Problem, options: SolveOptions, deadline: float) -> bool:
    """Whether the solver proves that the dated units and what they wait for have no schedule.

    All other units are left out, which only makes it easier; so what is left has to end by the last date, and
    the proof needs no guess about a horizon.
    """
    dated = _dated_part(problem)
    if not dated.units:
        return False
    horizon = _last_date(dated)
    instance = compile_instance(dated, max(horizon, 1))
    fixed = fix(instance)
    pins = zip(instance.fixed_start, instance.eligible, strict=True)
    is_open_who = any(start >= 0 and len(able) > 1 for start, able in pins)
    if fixed.clashing or is_open_who or not exact.is_small_enough(instance, instance.horizon):
        return False
    left = deadline - time.monotonic()
    if left <= 0:
        return False
    scheduler = Scheduler(instance, fixed)
    return exact.is_infeasible(
        scheduler, instance.horizon, options.seed, options.deterministic_time / 4, left
    )


def _dated_part(problem: Problem) -> Problem:
    edges = effective_precedences(problem)
    keep = {
        unit.key
        for unit in problem.units
        if unit.deadline is not None or unit.under_way or (unit.pin and unit.pin.start)
    }
    if problem.phase_order is PhaseOrder.STRICT:
        last = max(
            (unit.phase for unit in problem.units if unit.key in keep and not unit.under_way), default=0
        )
        keep |= {unit.key for unit in problem.units if unit.phase < last}
    while True:
        more = {before for before, after in edges if after in keep} - keep
        if not more:
            break
        keep |= more
    waited_for = {before for before, after in edges if after in keep}
    # What is fixed and waited for by nobody may be verified at any time: without its verification the last
    # date bounds everything that is left.
    units = tuple(
        replace(unit, verification=0) if unit.deadline is None and unit.key not in waited_for else unit
        for unit in problem.units
        if unit.key in keep
    )
    kept_edges = tuple(edge for edge in edges if edge[0] in keep and edge[1] in keep)
    return replace(problem, units=units, precedences=kept_edges)


def _last_date(problem: Problem) -> int:
    """The tick by which the dated part has ended: its last date, or the end of what is fixed."""
    dates = [problem.tick_after(unit.deadline) for unit in problem.units if unit.deadline is not None]
    dates += [problem.tick_after(unit.pin.start) for unit in problem.units if unit.pin and unit.pin.start]
    probe = compile_instance(problem, MAX_HORIZON)
    return max([0, *dates, *(work.end for work in fix(probe).works)])


def _missed(instance: Instance, table: Timetable) -> Iterator[Conflict]:
    """What the best timetable found breaks. Nothing proves that none could keep it."""
    problem = instance.problem
    found = False
    for index, unit in enumerate(problem.units):
        if instance.deadline[index] != NO_DEADLINE and table.finish[index] > instance.deadline[index]:
            found = True
            yield Conflict(
                ConflictKind.DEADLINE_MISSED,
                (f"deadline of {unit.key}", "capacity, skills and calendars of the people and runners"),
                f"The best schedule found finishes `{unit.key}` at "
                f"{problem.instant(table.finish[index]):%Y-%m-%d %H:%M} UTC, after its deadline.",
                is_proved=False,
            )
        pin = instance.fixed_start[index]
        for predecessor in instance.predecessors[index]:
            if pin >= 0 and table.finish[predecessor] > table.start[index]:
                found = True
                before = problem.units[predecessor].key
                yield Conflict(
                    ConflictKind.PINS_CLASH,
                    (f"pin of {unit.key}", f"precedence {before} → {unit.key}"),
                    f"The best schedule found finishes `{before}` after the pinned start of `{unit.key}`.",
                    is_proved=False,
                )
    if not found:
        yield Conflict(
            ConflictKind.PHASE_ORDER,
            ("phase order", *(f"pin of {u.key}" for u in problem.units if u.pin and u.pin.start)),
            "The best schedule found starts a pinned unit before the earlier phases have finished.",
            is_proved=False,
        )
