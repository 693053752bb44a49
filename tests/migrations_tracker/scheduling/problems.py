"""Problems for the scheduler's tests: small ones by hand, and any by hypothesis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from migrations_tracker.scheduling.problem import (
    ALWAYS,
    OFFICE,
    Absence,
    Person,
    PhaseOrder,
    Pin,
    Problem,
    Runner,
    UnderWay,
    UnitDemand,
    WorkCalendar,
    WorkingHours,
)

MONDAY = datetime(2026, 6, 1, 9, tzinfo=UTC)
SKILLS = ("kernel", "autograd")

CALENDARS = (
    ALWAYS,
    OFFICE,
    WorkCalendar(OFFICE.hours, "America/New_York"),
    WorkCalendar(OFFICE.hours, "Asia/Kolkata", (Absence(MONDAY, MONDAY + timedelta(days=3), "leave"),)),
    WorkCalendar((WorkingHours(1, 0, 24 * 60), WorkingHours(2, 0, 90)), "Europe/Berlin"),
)


def problem(*units: UnitDemand, **given: Any) -> Problem:
    """Return a problem with one person who can do everything and one runner, unless said otherwise."""
    settings: dict[str, Any] = {
        "people": (Person("ada", frozenset(SKILLS), ALWAYS),),
        "runners": (Runner("h100"),),
    }
    return Problem(origin=MONDAY, units=units, **(settings | given))


@st.composite
def any_problem(draw: st.DrawFn, max_units: int = 8) -> Problem:
    """Draw a problem that may or may not have a schedule."""
    size = draw(st.integers(1, max_units))
    keys = [f"U{number}" for number in range(size)]
    people = tuple(
        Person(
            f"p{number}",
            draw(st.frozensets(st.sampled_from(SKILLS))),
            draw(st.sampled_from(CALENDARS)),
            draw(st.integers(1, 2)),
        )
        for number in range(draw(st.integers(1, 3)))
    )
    names = [person.id for person in people]
    instants = st.integers(-8, 400).map(lambda tick: MONDAY + tick * timedelta(minutes=15))
    pins = st.builds(Pin, st.none() | instants, st.none() | st.sampled_from(names))
    running = st.builds(UnderWay, st.sampled_from(names), st.just(MONDAY - timedelta(hours=1)))
    rarely = st.integers(0, 4).map(lambda number: number == 0)
    units = tuple(
        UnitDemand(
            key=key,
            effort=draw(st.integers(0, 40)),
            phase=draw(st.integers(1, 2)),
            skills=draw(st.frozensets(st.sampled_from(SKILLS), max_size=1)),
            verification=draw(st.sampled_from((0, 0, 1, 6))),
            weight=draw(st.integers(0, 5)),
            release=draw(instants) if draw(rarely) else None,
            deadline=draw(instants) if draw(rarely) else None,
            pin=draw(pins) if draw(rarely) else None,
            under_way=draw(running) if draw(rarely) else None,
        )
        for key in keys
    )
    pairs = st.tuples(st.sampled_from(keys), st.sampled_from(keys))
    edges = draw(st.lists(pairs, max_size=size + 2))
    forward = tuple(sorted({edge for edge in edges if edge[0] < edge[1] or draw(rarely)}))
    runner_calendar = draw(st.sampled_from((ALWAYS, OFFICE)))
    runners = (Runner("r0", calendar=runner_calendar),) if draw(st.booleans()) else (Runner("r1", slots=2),)
    return Problem(MONDAY, units, people, runners, forward, draw(st.sampled_from(PhaseOrder)))
