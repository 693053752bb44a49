from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from migrations_tracker.scheduling.lanes import Lane
from migrations_tracker.scheduling.problem import Absence, WorkCalendar, WorkingHours
from migrations_tracker.scheduling.worktime import WorkTime, working_windows

QUARTER = timedelta(minutes=15)
# A week in which the clocks are put forward in Berlin, and one in which they are put back in New York.
ORIGINS = (datetime(2026, 3, 26, 9, tzinfo=UTC), datetime(2026, 10, 29, 6, 15, tzinfo=UTC))
WEEK = 7 * 96


@st.composite
def any_calendar(draw: st.DrawFn) -> WorkCalendar:
    minutes = st.integers(0, 1440)
    hours = st.tuples(st.integers(0, 6), minutes, minutes).filter(lambda found: found[1] < found[2])
    origin = ORIGINS[0]
    absence = st.tuples(st.integers(0, 60 * 24 * 7), st.integers(0, 60 * 24 * 2)).map(
        lambda found: Absence(
            origin + timedelta(minutes=found[0]), origin + timedelta(minutes=found[0] + found[1])
        )
    )
    return WorkCalendar(
        tuple(WorkingHours(*found) for found in draw(st.lists(hours, max_size=6))),
        draw(st.sampled_from(("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu"))),
        tuple(draw(st.lists(absence, max_size=2))),
    )


def is_working(calendar: WorkCalendar, begin: datetime) -> bool:
    if any(absence.start < begin + QUARTER and absence.end > begin for absence in calendar.absences):
        return False
    local = begin.astimezone(ZoneInfo(calendar.time_zone))
    minute = local.hour * 60 + local.minute
    return any(
        hours.weekday == local.weekday() and hours.start_minute <= minute and minute + 15 <= hours.end_minute
        for hours in calendar.hours
    )


@settings(deadline=None)
@given(any_calendar(), st.sampled_from(ORIGINS))
def test_windows_hold_the_quarters_that_lie_inside_the_hours_and_no_others(
    calendar: WorkCalendar, origin: datetime
) -> None:
    found = {tick for start, end in working_windows(calendar, origin, WEEK) for tick in range(start, end)}
    expected = {tick for tick in range(WEEK) if is_working(calendar, origin + tick * QUARTER)}
    assert found == expected


@settings(deadline=None)
@given(any_calendar(), st.sampled_from(ORIGINS))
def test_positions_count_the_working_ticks_before(calendar: WorkCalendar, origin: datetime) -> None:
    windows = working_windows(calendar, origin, WEEK)
    ticks = [tick for start, end in windows for tick in range(start, end)]
    time = WorkTime(windows)
    assert time.total == len(ticks)
    assert [time.tick_at(position) for position in range(time.total)] == ticks
    assert [time.position(tick) for tick in ticks] == list(range(len(ticks)))


def test_a_lane_finds_the_first_room_however_it_was_filled() -> None:
    draw = random.Random(7)
    for _ in range(200):
        lane = Lane()
        busy: set[int] = set()
        for _ in range(12):
            ready, length = draw.randrange(30), draw.randrange(1, 5)
            start = lane.earliest(ready, length)
            free = (at for at in range(ready, 200) if not busy & set(range(at, at + length)))
            assert start == next(free)
            lane.occupy(start, length)
            busy |= set(range(start, start + length))
        assert all(end < start for end, start in zip(lane.ends, lane.starts[1:], strict=False))
