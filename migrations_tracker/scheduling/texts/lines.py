"""What every format says of one unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from migrations_tracker.scheduling.catalogue import Hours
from migrations_tracker.scheduling.precedence import PrecedenceGraph
from migrations_tracker.scheduling.problem import Problem, Schedule
from migrations_tracker.scheduling.units import WorkUnit


@dataclass(frozen=True, slots=True)
class PlanLine:
    """One unit with its hours, its place in the schedule (None where it has none) and what it waits for."""

    unit: WorkUnit
    hours: Hours
    question: str
    prerequisites: tuple[str, ...] = ()
    person: str = ""
    runner: str = ""
    start: datetime | None = None
    finish: datetime | None = None


def plan_lines(
    units: Sequence[WorkUnit],
    hours: Mapping[str, Hours],
    questions: Mapping[str, str],
    graph: PrecedenceGraph,
    problem: Problem,
    schedule: Schedule | None,
) -> tuple[PlanLine, ...]:
    """Return the lines in the order of the starts, units without a place last."""
    places = schedule.by_unit() if schedule else {}
    lines = []
    for unit in units:
        place = places.get(unit.key)
        lines.append(
            PlanLine(
                unit=unit,
                hours=hours[unit.key],
                question=questions.get(unit.key, ""),
                prerequisites=tuple(edge.before for edge in graph.prerequisites(unit.key)),
                person=place.person if place else "",
                runner=(place.runner or "") if place else "",
                start=problem.instant(place.start) if place else None,
                finish=problem.instant(place.finish) if place else None,
            )
        )
    return tuple(
        sorted(lines, key=lambda line: (line.start is None, line.start or problem.origin, line.unit.key))
    )
