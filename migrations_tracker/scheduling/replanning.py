"""Plan again from now without moving what is under way, and say what moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from migrations_tracker.scheduling.comparing import Comparison, compare
from migrations_tracker.scheduling.problem import Infeasible, Problem, Schedule, SolveOptions
from migrations_tracker.scheduling.solving import solve


@dataclass(frozen=True, slots=True)
class Replan:
    """A new schedule and how it differs from the one before."""

    schedule: Schedule
    comparison: Comparison


def replan(
    old_problem: Problem, old: Schedule, new_problem: Problem, options: SolveOptions | None = None
) -> Replan | Infeasible:
    """Return a schedule of the new problem beside the old one.

    The new problem begins now: finished units are not in it, units under way are marked so with what remains
    of them, and keep their person and their place at the head. The search begins with the order and people
    of the old schedule.
    """
    answer = solve(new_problem, options or SolveOptions(), old)
    if isinstance(answer, Infeasible):
        return answer
    return Replan(answer, compare(old_problem, old, new_problem, answer))


def what_if(problem: Problem, **changes: object) -> Problem:
    """Return a problem with some of its fields changed, for a schedule beside the real one."""
    return replace(problem, **changes)  # type: ignore[arg-type]


def reweighted(problem: Problem, weights: Mapping[str, int]) -> Problem:
    """Return a problem with other weights."""
    units = tuple(replace(unit, weight=weights.get(unit.key, unit.weight)) for unit in problem.units)
    return replace(problem, units=units)


def without_units(problem: Problem, dropped: frozenset[str]) -> Problem:
    """Return a problem without some units; what waited for them waits for what they waited for."""
    edges = set(problem.precedences)
    for key in sorted(dropped):
        before = [b for b, a in edges if a == key]
        after = [a for b, a in edges if b == key]
        edges = {edge for edge in edges if key not in edge} | {(b, a) for b in before for a in after}
    units = tuple(unit for unit in problem.units if unit.key not in dropped)
    return replace(problem, units=units, precedences=tuple(sorted(edges)))
