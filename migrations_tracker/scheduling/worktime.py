"""Working time as a line of its own: the n-th working tick of a calendar, and back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from migrations_tracker.scheduling.problem import TICK, WorkCalendar, WorkingHours


class WorkTime:
    """The working windows of one calendar from tick 0 on; a *position* counts working ticks only."""

    __slots__ = ("cumulative", "ends", "starts", "total")

    def __init__(self, windows: Iterable[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.cumulative: list[int] = []
        self.total = 0
        for start, end in windows:
            self.starts.append(start)
            self.ends.append(end)
            self.cumulative.append(self.total)
            self.total += end - start

    def position(self, tick: int) -> int:
        """Count the working ticks before a tick."""
        index = bisect_right(self.starts, tick) - 1
        if index < 0:
            return 0
        return self.cumulative[index] + min(tick, self.ends[index]) - self.starts[index]

    @property
    def longest(self) -> int:
        """The longest window."""
        return max((end - start for start, end in zip(self.starts, self.ends, strict=True)), default=0)

    def tick_at(self, position: int) -> int:
        """Return the tick of a position; the position must be below `total`."""
        index = bisect_right(self.cumulative, position) - 1
        return self.starts[index] + position - self.cumulative[index]

    def last_position(self, tick: int) -> int:
        """Return the position of the last working tick up to and including a tick."""
        return self.position(tick + 1) - 1

    def latest_end(self, tick: int, length: int) -> int:
        """Return the last tick up to `tick` at which a block of `length` without a pause can end.

        Raises ValueError where no window before it is long enough.
        """
        for start, end in zip(reversed(self.starts), reversed(self.ends), strict=True):
            if min(end, tick) - start >= length:
                return min(end, tick)
        raise ValueError(f"no window before tick {tick} holds a block of {length}")


def working_windows(calendar: WorkCalendar, origin: datetime, horizon: int) -> list[tuple[int, int]]:
    """Return the merged windows of working ticks in `[0, horizon)`, absences taken out."""
    raw = sorted(_raw_windows(calendar, origin, horizon))
    merged: list[tuple[int, int]] = []
    for start, end in raw:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    for absence in calendar.absences:
        merged = list(_without(merged, (absence.start - origin) // TICK, -((origin - absence.end) // TICK)))
    return merged


def _without(windows: list[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    for window_start, window_end in windows:
        if window_end <= start or window_start >= end:
            yield window_start, window_end
            continue
        if window_start < start:
            yield window_start, start
        if window_end > end:
            yield end, window_end


def _raw_windows(calendar: WorkCalendar, origin: datetime, horizon: int) -> Iterator[tuple[int, int]]:
    zone = ZoneInfo(calendar.time_zone)
    by_weekday: dict[int, list[WorkingHours]] = {}
    for hours in calendar.hours:
        by_weekday.setdefault(hours.weekday, []).append(hours)
    day = origin.astimezone(zone).date() - timedelta(days=1)
    last = (origin + horizon * TICK).astimezone(zone).date() + timedelta(days=1)
    while day <= last:
        for start, end in _day_windows(by_weekday.get(day.weekday(), []), day, zone, origin):
            start, end = max(start, 0), min(end, horizon)
            if start < end:
                yield start, end
        day += timedelta(days=1)


def _day_windows(
    hours: list[WorkingHours], day: date, zone: ZoneInfo, origin: datetime
) -> Iterator[tuple[int, int]]:
    midnight = datetime.combine(day, time(), zone)
    next_midnight = datetime.combine(day + timedelta(days=1), time(), zone)
    begin = midnight.astimezone(UTC)
    if next_midnight.astimezone(UTC) - begin != timedelta(days=1):
        yield from _shifted_day_windows(hours, day, zone, origin, begin)
        return
    for window in hours:
        start = begin + timedelta(minutes=window.start_minute)
        end = begin + timedelta(minutes=window.end_minute)
        yield -((origin - start) // TICK), (end - origin) // TICK


def _shifted_day_windows(
    hours: list[WorkingHours], day: date, zone: ZoneInfo, origin: datetime, begin: datetime
) -> Iterator[tuple[int, int]]:
    # The clock is put forward or back on this day, so a minute of the local day is no fixed distance from
    # midnight: each tick is asked for its local time.
    tick = -((origin - begin) // TICK)
    while True:
        local = (origin + tick * TICK).astimezone(zone)
        if local.date() > day:
            return
        minute = local.hour * 60 + local.minute
        last_minute = minute + TICK.seconds // 60
        if local.date() == day and any(
            window.start_minute <= minute and last_minute <= window.end_minute for window in hours
        ):
            yield tick, tick + 1
        tick += 1
