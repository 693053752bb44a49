"""When everything will have ended, with its uncertainty: the schedule run many times over drawn efforts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from migrations_tracker.scheduling.catalogue import Hours
from migrations_tracker.scheduling.estimating import ticks
from migrations_tracker.scheduling.fixing import fix
from migrations_tracker.scheduling.instance import MAX_HORIZON, compile_instance
from migrations_tracker.scheduling.listing import Scheduler
from migrations_tracker.scheduling.problem import Problem, Schedule

_PERCENTILES = (10, 50, 80, 90, 95)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Makespans in ticks, sorted, of the runs; `failed` counts those whose draw fitted no calendar."""

    makespans: tuple[int, ...]
    planned: int
    failed: int = 0

    def percentile(self, share: int) -> int:
        """Return the makespan that so many per cent of the runs did not exceed."""
        if not self.makespans:
            return self.planned
        place = max(0, -(-share * len(self.makespans) // 100) - 1)
        return self.makespans[place]

    @property
    def percentiles(self) -> dict[int, int]:
        """The usual percentiles."""
        return {share: self.percentile(share) for share in _PERCENTILES}

    @property
    def chance_of_plan(self) -> float:
        """The share of the runs that ended no later than planned."""
        if not self.makespans:
            return 0.0
        return sum(span <= self.planned for span in self.makespans) / len(self.makespans)


def forecast(
    problem: Problem, schedule: Schedule, hours: Mapping[str, Hours], runs: int = 300, seed: int = 0
) -> Forecast:
    """Return the makespans of runs in which each unit takes what was drawn for it.

    Efforts are drawn from the triangle of low, likely and high, each unit by itself. People keep their units
    and take them in the order of the schedule; what starts earlier or later follows from that.
    """
    draw = random.Random(seed)  # noqa: S311 -- a repeatable simulation, not a secret
    horizon = min(MAX_HORIZON, 6 * schedule.objective.makespan + 96 * 60)
    base = compile_instance(problem, horizon)
    index = {unit.key: number for number, unit in enumerate(problem.units)}
    people = {person.id: number for number, person in enumerate(problem.people)}
    order = [index[place.unit] for place in sorted(schedule.placements, key=lambda p: (p.start, p.unit))]
    choice = {index[place.unit]: people[place.person] for place in schedule.placements}
    spans, failed = [], 0
    for _ in range(runs):
        instance = replace(base, effort=_drawn(problem, hours, draw))
        fixed = fix(instance)
        table = None if fixed.clashing else Scheduler(instance, fixed).decode(order, choice)
        if table is None:
            failed += 1
        else:
            spans.append(max(table.finish, default=0))
    return Forecast(tuple(sorted(spans)), schedule.objective.makespan, failed)


def _drawn(problem: Problem, hours: Mapping[str, Hours], draw: random.Random) -> tuple[int, ...]:
    efforts: Sequence[int] = [
        ticks(draw.triangular(hours[unit.key].low, hours[unit.key].high, hours[unit.key].likely))
        if unit.effort and unit.key in hours
        else unit.effort
        for unit in problem.units
    ]
    return tuple(efforts)
