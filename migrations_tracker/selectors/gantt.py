"""A schedule as a drawing: lanes of people and runners, bars of units, in pixels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Q

from migrations_tracker.models import Precedence, PrecedenceState, Schedule, ScheduledUnit

LANE_HEIGHT = 30
BAR_HEIGHT = 20
HEAD_HEIGHT = 34
NAME_WIDTH = 120
MIN_BAR = 3
# More bars nobody tells apart, and a page of thousands is megabytes.
UNITS_DRAWN = 100
TICK_HOURS = 0.25


_DRAWN_COLUMNS = (
    "schedule_id",
    "runner",
    "starts_at",
    "work_ends_at",
    "verified_from",
    "ends_at",
    "slack",
    "is_critical",
    "person__name",
    "unit__title",
    "unit__pin_start",
    "unit__pin_person__name",
)


class Zoom(StrEnum):
    """How wide a day is."""

    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"
    DAY = "day"


PIXELS_PER_DAY = {Zoom.QUARTER: 6, Zoom.MONTH: 16, Zoom.WEEK: 60, Zoom.DAY: 200}


@dataclass(frozen=True, slots=True)
class Bar:
    """A unit in a lane; `slack_width` is how far it may slip, `title` what a reader hears."""

    placed: ScheduledUnit
    x: float
    y: float
    width: float
    is_run: bool
    title: str
    label: str
    slack_width: float = 0.0

    @property
    def is_pinned(self) -> bool:
        """Whether somebody fixed its start or its person."""
        unit = self.placed.unit
        return unit.pin_start is not None or unit.pin_person_id is not None

    @property
    def height(self) -> int:
        """How high it is drawn."""
        return BAR_HEIGHT

    @property
    def text_x(self) -> float:
        """Where its label begins."""
        return self.x + 4

    @property
    def text_y(self) -> float:
        """The label's baseline."""
        return self.y + 14

    @property
    def slack_x(self) -> float:
        """Where its slack begins."""
        return self.x + self.width


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A person or runner. One who does several units at a time has as many rows as it takes."""

    name: str
    y: float
    is_runner: bool
    text_y: float
    person_id: int | None = None


@dataclass(frozen=True, slots=True)
class Day:
    """A line of the calendar."""

    x: float
    label: str
    is_major: bool


@dataclass(frozen=True, slots=True)
class Arrow:
    """A precedence between two critical bars."""

    points: str


@dataclass(slots=True)
class Gantt:
    """The whole drawing."""

    zoom: Zoom
    width: float
    height: float
    lanes: Sequence[LaneRow] = ()
    bars: Sequence[Bar] = ()
    days: Sequence[Day] = ()
    arrows: Sequence[Arrow] = ()
    head: int = HEAD_HEIGHT
    begin: int = 0
    total: int = 0
    placed: Sequence[ScheduledUnit] = ()
    names: int = NAME_WIDTH
    zooms: Sequence[str] = field(default_factory=lambda: [zoom.value for zoom in Zoom])

    @property
    def end(self) -> int:
        """How many units are drawn or stand before those that are."""
        return self.begin + len(self.placed)

    @property
    def earlier(self) -> int | None:
        """Where the part before begins; None at the beginning."""
        return max(0, self.begin - UNITS_DRAWN) if self.begin else None

    @property
    def later(self) -> int | None:
        """Where the part behind begins; None at the end."""
        return self.end if self.end < self.total else None


def gantt(*, schedule: Schedule, zoom: str = "", begin: str = "", unit: str = "") -> Gantt:
    """Draw a part of a schedule: without the first `begin` units by their start, or the part with a unit."""
    scale = Zoom(zoom) if zoom in set(Zoom) else _fitting(schedule)
    total = schedule.placed.count()
    passed = _passed(schedule, total, begin, unit)
    drawn = schedule.placed.select_related("unit__pin_person", "person").only(*_DRAWN_COLUMNS)
    placed = list(drawn[passed : passed + UNITS_DRAWN])
    if not placed:
        return Gantt(scale, NAME_WIDTH, HEAD_HEIGHT)
    start = placed[0].starts_at if passed else schedule.origin
    end = max(place.ends_at for place in placed)
    lanes: list[LaneRow] = []
    bars: list[Bar] = []
    for name, mine, is_runner in _owners(placed):
        rows = _rows(mine, is_run=is_runner)
        for number, row in enumerate(rows):
            y = HEAD_HEIGHT + LANE_HEIGHT * len(lanes)
            person_id = None if is_runner else row[0].person_id
            shown = name if number == 0 else ""
            lanes.append(LaneRow(shown, y, is_runner, y + LANE_HEIGHT / 2 + 4, person_id))
            bars.extend(_bar(place, start, scale, y + 5, is_run=is_runner) for place in row)
    width = NAME_WIDTH + _x(end, start, scale) + 40
    return Gantt(
        zoom=scale,
        width=width,
        height=HEAD_HEIGHT + LANE_HEIGHT * len(lanes) + 8,
        lanes=lanes,
        bars=bars,
        days=list(_days(start, end, scale)),
        arrows=list(_arrows(bars)),
        begin=passed,
        total=total,
        placed=placed,
    )


def _passed(schedule: Schedule, total: int, begin: str, unit: str) -> int:
    """Return how many units stand before the part that is drawn."""
    if begin.isdecimal():
        return min(int(begin[:9]), max(0, total - 1))
    chosen = schedule.placed.filter(unit_id=int(unit[:9])).first() if unit.isdecimal() else None
    if chosen is None:
        return 0
    is_before = Q(starts_at__lt=chosen.starts_at) | Q(starts_at=chosen.starts_at, id__lt=chosen.pk)
    return schedule.placed.filter(is_before).count() // UNITS_DRAWN * UNITS_DRAWN


def _fitting(schedule: Schedule) -> Zoom:
    days = (schedule.makespan or 0) * TICK_HOURS / 24
    return Zoom.DAY if days <= 7 else Zoom.WEEK if days <= 30 else Zoom.MONTH if days <= 120 else Zoom.QUARTER


def _owners(placed: Sequence[ScheduledUnit]) -> Iterable[tuple[str, list[ScheduledUnit], bool]]:
    people: dict[str, list[ScheduledUnit]] = {}
    runners: dict[str, list[ScheduledUnit]] = {}
    for place in placed:
        people.setdefault(place.person.name if place.person else "somebody else", []).append(place)
        if place.runner:
            runners.setdefault(place.runner, []).append(place)
    yield from ((name, people[name], False) for name in sorted(people))
    yield from ((name, runners[name], True) for name in sorted(runners))


def _rows(placed: Sequence[ScheduledUnit], *, is_run: bool) -> list[list[ScheduledUnit]]:
    """Spread what happens at the same time over rows."""
    rows: list[list[ScheduledUnit]] = []
    ends: list[datetime] = []
    for place in sorted(placed, key=lambda place: _span(place, is_run=is_run)):
        start, end = _span(place, is_run=is_run)
        free = next((row for row, ended in enumerate(ends) if ended <= start), None)
        if free is None:
            rows.append([])
            ends.append(end)
            free = len(rows) - 1
        rows[free].append(place)
        ends[free] = end
    return rows


def _span(place: ScheduledUnit, *, is_run: bool) -> tuple[datetime, datetime]:
    return (place.verified_from, place.ends_at) if is_run else (place.starts_at, place.work_ends_at)


def _x(moment: datetime, start: datetime, zoom: Zoom) -> float:
    return (moment - start).total_seconds() / 86400 * PIXELS_PER_DAY[zoom]


def _bar(place: ScheduledUnit, start: datetime, zoom: Zoom, y: float, *, is_run: bool) -> Bar:
    begins, ends = _span(place, is_run=is_run)
    x, width = _x(begins, start, zoom), max(MIN_BAR, _x(ends, begins, zoom))
    hours = place.slack * TICK_HOURS
    slips = "critical" if place.is_critical else f"may slip {hours:g} working hours"
    if place.unit.pin_start is not None or place.unit.pin_person_id is not None:
        slips += ", pinned"
    what = "verified" if is_run else "done"
    title = f"{place.unit.title}: {what} {begins:%Y-%m-%d %H:%M} to {ends:%Y-%m-%d %H:%M} UTC, {slips}"
    label = place.unit.title if width > 90 else ""
    slack = 0.0 if is_run or place.is_critical else min(hours / 24 * PIXELS_PER_DAY[zoom], 60.0)
    return Bar(
        placed=place,
        x=round(NAME_WIDTH + x, 1),
        y=y,
        width=round(width, 1),
        is_run=is_run,
        title=title,
        label=label[: max(1, int(width / 7))],
        slack_width=round(slack, 1),
    )


def _days(start: datetime, end: datetime, zoom: Zoom) -> Iterable[Day]:
    pixels = PIXELS_PER_DAY[zoom]
    day = start.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    while day <= end + timedelta(days=1):
        is_monday = day.weekday() == 0
        if pixels >= 50 or is_monday:
            shown = is_monday or pixels >= 50
            label = f"{day:%d %b}" if shown and (pixels >= 16 or day.day <= 7) else ""
            yield Day(round(NAME_WIDTH + _x(day, start, zoom), 1), label, is_monday)
        day += timedelta(days=1)


def _arrows(bars: Sequence[Bar]) -> Iterable[Arrow]:
    """Draw the precedences along which one critical unit waits for the other: all would be a thicket."""
    critical = {bar.placed.unit_id: bar for bar in bars if bar.placed.is_critical and not bar.is_run}
    edges = Precedence.objects.filter(before__in=critical, after__in=critical).exclude(
        state=PrecedenceState.CUT
    )
    for before, after in edges.values_list("before_id", "after_id"):
        first, then = critical[before], critical[after]
        if then.placed.starts_at != first.placed.ends_at:
            continue
        x, y = first.x + first.width, first.y + BAR_HEIGHT / 2
        ends = f"{then.x - 4:.1f},{then.y + 10:.1f} {then.x:.1f},{then.y + 10:.1f}"
        yield Arrow(f"{x:.1f},{y:.1f} {x + 4:.1f},{y:.1f} {ends}")
