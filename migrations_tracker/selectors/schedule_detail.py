"""One schedule: its figures, its forecast, and how it differs from another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from migrations_tracker.models import Plan, Schedule, ScheduledUnit, WorkUnit
from migrations_tracker.scheduling.comparing import Comparison, Move, compare
from migrations_tracker.scheduling.problem import Problem
from migrations_tracker.scheduling.problem import Schedule as Answer
from migrations_tracker.scheduling.stored import from_plain

SCHEDULES_SHOWN = 20
MOVES_SHOWN = 60
NEXT_SHOWN = 50
SOLVED_FROM = ("problem", "hours", "answer")
TICK_HOURS = 0.25
_WIDTH, _HEIGHT, _BINS = 600, 120, 24
Answered = tuple[int, datetime | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Percentile:
    """By when so many per cent of the runs had ended."""

    share: int
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class ColumnBar:
    """One column of the forecast's histogram."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Outlook:
    """The forecast of a schedule's end."""

    runs: int
    failed: int
    chance: float
    percentiles: Sequence[Percentile]
    bars: Sequence[ColumnBar]
    width: int = _WIDTH
    height: int = _HEIGHT


@dataclass(frozen=True, slots=True)
class MovedUnit:
    """A unit that stands elsewhere, with the row where there is one. `hours` is how far its end moved."""

    move: Move
    unit: WorkUnit | None
    hours: float


@dataclass(frozen=True, slots=True)
class ScheduleComparison:
    """Two schedules side by side: what moved, the furthest first."""

    before: Schedule
    after: Schedule
    comparison: Comparison
    moved: Sequence[MovedUnit]
    moved_total: int

    @property
    def hours(self) -> float:
        """How much later the after ends, in hours of the clock."""
        return (self.comparison.makespan_after - self.comparison.makespan_before) * TICK_HOURS


def outlook(*, schedule: Schedule) -> Outlook | None:
    """Return the forecast of a schedule, if a worker made one."""
    found = schedule.forecast
    if not found:
        return None
    shares = [
        Percentile(int(share), datetime.fromisoformat(at)) for share, at in found["percentiles"].items()
    ]
    ends = [datetime.fromisoformat(text) for text in found["ends"]]
    return Outlook(found["runs"], found["failed"], found["chance"], shares, _histogram(ends))


def _histogram(ends: Sequence[datetime]) -> list[ColumnBar]:
    if not ends:
        return []
    first, last = min(ends), max(ends)
    step = max((last - first) / _BINS, timedelta(hours=1))
    counts = [0] * _BINS
    for end in ends:
        counts[min(_BINS - 1, int((end - first) / step))] += 1
    width, tallest = _WIDTH / _BINS, max(counts)
    return [
        ColumnBar(
            x=round(number * width, 1),
            y=round(_HEIGHT - _HEIGHT * count / tallest, 1),
            width=round(width - 2, 1),
            height=round(_HEIGHT * count / tallest, 1),
            title=f"{first + number * step:%Y-%m-%d}: {count} of {len(ends)} runs",
        )
        for number, count in enumerate(counts)
        if count
    ]


def comparison(*, before: Schedule, after: Schedule) -> ScheduleComparison | None:
    """Compare two schedules of a plan; None where one of them has no answer."""
    if before.makespan is None or after.makespan is None:
        return None
    read = _compared if before.finished_at and after.finished_at else _compared.__wrapped__
    found = read(_answered(before), _answered(after))
    moves = sorted(found.moves, key=lambda move: (-abs(move.shift), move.unit))
    shown = moves[:MOVES_SHOWN]
    rows = WorkUnit.objects.filter(plan=after.plan_id, key__in=[move.unit for move in shown])
    units = {unit.key: unit for unit in rows.only("key", "title")}
    moved = [MovedUnit(move, units.get(move.unit), move.shift * TICK_HOURS) for move in shown]
    return ScheduleComparison(before, after, found, moved, len(moves))


def _answered(schedule: Schedule) -> Answered:
    """Name what a schedule was solved from and its answer, by what changes with the answer."""
    return (schedule.pk, schedule.finished_at, schedule.makespan, schedule.weighted_completion)


# Both are megabytes to read; a schedule that is finished is not solved again.
@lru_cache(maxsize=4)
def _compared(before: Answered, after: Answered) -> Comparison:
    solved = Schedule.objects.filter(pk__in=(before[0], after[0])).values_list("pk", "problem", "answer")
    read = {pk: (from_plain(Problem, problem), from_plain(Answer, answer)) for pk, problem, answer in solved}
    return compare(*read[before[0]], *read[after[0]])


def schedule_list(*, plan: Plan) -> list[Schedule]:
    """List the newest schedules of a plan, without what they were solved from."""
    rows = Schedule.objects.filter(plan=plan).defer(*SOLVED_FROM, "forecast")
    return list(rows.select_related("requested_by")[:SCHEDULES_SHOWN])


def next_units(*, plan: Plan, person: str) -> list[ScheduledUnit]:
    """Return what somebody does next by the newest schedule of the plan, in order."""
    newest = Schedule.objects.filter(plan=plan, what_if={}, makespan__isnull=False).values("pk")[:1]
    placed = ScheduledUnit.objects.filter(schedule__in=newest, person__name=person)
    return list(placed.select_related("unit").exclude(unit__status="finished")[:NEXT_SHOWN])
