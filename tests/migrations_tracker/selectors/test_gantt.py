"""The drawing of a schedule: everything is in it once, and nothing lies over anything else."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from migrations_tracker.models import Plan, Schedule, WorkUnit
from migrations_tracker.selectors.gantt import Bar, Zoom, gantt
from migrations_tracker.services.plan_people import person_set
from migrations_tracker.services.schedules import schedule_request
from tests.factories import make_user
from tests.migrations_tracker.plan_fixture import make_plan
from workers.models import Runner

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 6, 1, 9, tzinfo=UTC)


@pytest.fixture
def plan() -> Plan:
    plan = make_plan(count=30)
    Runner.objects.create(name="h100", is_able=True)
    for name, capacity in (("ada", 1), ("pair", 2)):
        person_set(
            plan=plan,
            name=name,
            skills=["autograd", "build", "kernel"],
            capacity=capacity,
            time_zone="UTC",
            hours=[[day, 540, 1020] for day in range(5)],
            actor=make_user(name),
        )
    return plan


@pytest.fixture
def schedule(plan: Plan) -> Schedule:
    return schedule_request(plan=plan, actor=None, now=MONDAY)


def lanes(bars: list[Bar]) -> list[list[Bar]]:
    found = defaultdict(list)
    for bar in bars:
        found[bar.y].append(bar)
    return [sorted(lane, key=lambda bar: bar.x) for lane in found.values()]


def test_each_unit_is_drawn_once_for_its_person_and_once_for_its_runner(schedule: Schedule) -> None:
    chart = gantt(schedule=schedule)
    work = [bar.placed.unit_id for bar in chart.bars if not bar.is_run]
    runs = [bar.placed.unit_id for bar in chart.bars if bar.is_run]
    assert sorted(work) == sorted(WorkUnit.objects.values_list("pk", flat=True))
    verified = schedule.placed.exclude(runner="").values_list("unit_id", flat=True)
    assert sorted(runs) == sorted(verified)
    assert runs


def test_bars_of_a_lane_follow_each_other(schedule: Schedule) -> None:
    for lane in lanes(list(gantt(schedule=schedule, zoom="day").bars)):
        for before, after in pairwise(lane):
            assert after.x >= before.x + before.width - 0.2


def test_one_who_does_two_units_at_a_time_has_two_lanes_under_one_name(schedule: Schedule) -> None:
    chart = gantt(schedule=schedule)
    names = [lane.name for lane in chart.lanes]
    assert names.count("pair") == 1
    assert names[names.index("pair") + 1] == ""
    assert [lane.is_runner for lane in chart.lanes][-1]


def test_a_wider_day_makes_a_wider_drawing(schedule: Schedule) -> None:
    widths = [gantt(schedule=schedule, zoom=zoom.value).width for zoom in Zoom]
    assert widths == sorted(widths)
    assert len(set(widths)) == len(widths)


def test_all_bars_lie_inside_the_drawing(schedule: Schedule) -> None:
    chart = gantt(schedule=schedule, zoom="nonsense")
    assert all(bar.x + bar.width <= chart.width for bar in chart.bars)
    assert all(bar.y + bar.height <= chart.height for bar in chart.bars)


def test_a_critical_bar_has_no_slack(schedule: Schedule) -> None:
    bars = gantt(schedule=schedule).bars
    assert any(bar.placed.is_critical for bar in bars)
    assert all(bar.slack_width == 0 for bar in bars if bar.placed.is_critical)
