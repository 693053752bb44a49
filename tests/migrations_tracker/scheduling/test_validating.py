from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from migrations_tracker.scheduling.problem import (
    ALWAYS,
    OFFICE,
    Absence,
    Person,
    PhaseOrder,
    Pin,
    Placement,
    Problem,
    Runner,
    Schedule,
    UnderWay,
    UnitDemand,
)
from migrations_tracker.scheduling.solving import list_schedule
from migrations_tracker.scheduling.validating import breaches
from tests.migrations_tracker.scheduling.problems import MONDAY, problem

HOUR = timedelta(hours=1)


def solved(given: Problem) -> Schedule:
    schedule = list_schedule(given)
    assert isinstance(schedule, Schedule)
    assert breaches(given, schedule) == ()
    return schedule


def altered(schedule: Schedule, unit: str, change: Callable[[Placement], Placement]) -> Schedule:
    places = tuple(change(place) if place.unit == unit else place for place in schedule.placements)
    return replace(schedule, placements=places)


def moved(ticks: int) -> Callable[[Placement], Placement]:
    def move(place: Placement) -> Placement:
        return replace(
            place,
            start=place.start + ticks,
            work_end=place.work_end + ticks,
            verification_start=place.verification_start + ticks,
            finish=place.finish + ticks,
        )

    return move


def rules_broken(given: Problem, schedule: Schedule) -> set[str]:
    return {breach.rule for breach in breaches(given, schedule)} - {"figures are right"}


A = UnitDemand("A", 8, skills=frozenset({"kernel"}), verification=2)
B = UnitDemand("B", 8, verification=2)
OFFICE_ADA = (Person("ada", frozenset({"kernel"}), OFFICE),)


def test_a_unit_that_is_left_out_or_placed_twice_is_a_breach() -> None:
    given = problem(A, B)
    schedule = solved(given)
    short = replace(schedule, placements=schedule.placements[1:])
    assert rules_broken(given, short) == {"every unit is placed"}
    double = replace(schedule, placements=(*schedule.placements, schedule.placements[0]))
    assert rules_broken(given, double) == {"every unit is placed once"}


def test_a_person_without_the_skill_is_a_breach() -> None:
    given = problem(A, people=(Person("ada", frozenset({"kernel"}), ALWAYS), Person("bo", calendar=ALWAYS)))
    schedule = altered(solved(given), "A", lambda place: replace(place, person="bo"))
    assert rules_broken(given, schedule) == {"skills are there"}


def test_less_work_than_the_effort_is_a_breach() -> None:
    given = problem(A)
    schedule = altered(solved(given), "A", lambda place: replace(place, work_end=place.work_end - 1))
    assert rules_broken(given, schedule) == {"effort is met"}


def test_work_that_begins_outside_the_hours_is_a_breach() -> None:
    given = problem(A, people=OFFICE_ADA)
    late = replace(A, release=MONDAY + timedelta(hours=24))
    given = replace(given, units=(late,))
    place = solved(given).by_unit()["A"]
    assert place.start == 96
    early = replace(given, units=(A,))
    schedule = solved(early)
    # From the evening of the first day to the next morning: the working ticks are as many.
    start_at_night = replace(place, start=90)
    assert rules_broken(early, replace(schedule, placements=(start_at_night,))) == {"work is in working time"}


def test_an_absence_is_no_working_time() -> None:
    away = replace(OFFICE, absences=(Absence(MONDAY, MONDAY + timedelta(days=1)),))
    given = problem(A, people=(Person("ada", frozenset({"kernel"}), away),))
    assert solved(given).placements[0].start == 96
    here = solved(problem(A, people=OFFICE_ADA))
    assert "effort is met" in rules_broken(given, here)


def test_a_verification_before_the_work_has_ended_is_a_breach() -> None:
    given = problem(A)
    schedule = altered(
        solved(given), "A", lambda place: replace(place, verification_start=7, finish=9, work_end=8)
    )
    assert rules_broken(given, schedule) == {"work before verification"}


def test_a_runner_without_the_labels_is_a_breach() -> None:
    unit = replace(B, labels=frozenset({"cuda"}))
    given = problem(unit, runners=(Runner("h100", frozenset({"cuda"})), Runner("mac")))
    schedule = altered(solved(given), "B", lambda place: replace(place, runner="mac"))
    assert rules_broken(given, schedule) == {"runners fit"}


def test_a_verification_while_the_runner_is_closed_is_a_breach() -> None:
    given = problem(A, runners=(Runner("h100", calendar=OFFICE),))
    schedule = altered(solved(given), "A", lambda place: replace(place, verification_start=11, finish=13))
    assert rules_broken(given, schedule) == {"runners are there"}


def test_a_start_before_the_predecessor_has_finished_is_a_breach() -> None:
    two = (Person("ada", frozenset({"kernel"}), ALWAYS), Person("bo", calendar=ALWAYS))
    given = problem(A, B, people=two, runners=(Runner("h100", slots=2),), precedences=(("A", "B"),))
    schedule = altered(solved(given), "B", moved(-1))
    assert rules_broken(given, schedule) == {"precedence"}


@pytest.mark.parametrize(
    ("unit", "shift", "rule"),
    [
        (replace(B, release=MONDAY + HOUR), -1, "release"),
        (replace(B, deadline=MONDAY + 3 * HOUR), 3, "deadline"),
        (replace(B, pin=Pin(MONDAY + HOUR)), 1, "pin"),
        (replace(B, pin=Pin(MONDAY + HOUR)), -1, "pin"),
    ],
)
def test_a_date_that_is_not_kept_is_a_breach(unit: UnitDemand, shift: int, rule: str) -> None:
    given = problem(unit)
    assert rules_broken(given, altered(solved(given), "B", moved(shift))) == {rule}


def test_a_unit_under_way_that_changes_hands_or_waits_is_a_breach() -> None:
    running = replace(B, under_way=UnderWay("ada", MONDAY - HOUR))
    two = (Person("ada", frozenset({"kernel"}), ALWAYS), Person("bo", calendar=ALWAYS))
    given = problem(running, A, people=two, runners=(Runner("h100", slots=2),))
    schedule = solved(given)
    handed = altered(schedule, "B", lambda place: replace(place, person="bo"))
    assert rules_broken(given, handed) == {"people are kept"}
    swapped = altered(altered(schedule, "B", moved(8)), "A", moved(-8))
    assert rules_broken(given, swapped) == {"what is under way goes first"}


def test_more_units_at_once_than_the_capacity_is_a_breach() -> None:
    given = problem(A, B, runners=(Runner("h100", slots=2),))
    schedule = solved(given)
    second = schedule.placements[1].unit
    assert rules_broken(given, altered(schedule, second, moved(-1))) == {"capacity"}


def test_more_verifications_at_once_than_slots_is_a_breach() -> None:
    two = (Person("ada", frozenset({"kernel"}), ALWAYS), Person("bo", calendar=ALWAYS))
    given = problem(A, B, people=two)
    schedule = solved(given)
    last = max(schedule.placements, key=lambda place: place.finish)
    early = altered(
        schedule, last.unit, lambda p: replace(p, verification_start=p.work_end, finish=p.work_end + 2)
    )
    assert rules_broken(given, early) == {"runner slots"}


def test_a_unit_before_the_earlier_phases_have_finished_is_a_breach() -> None:
    two = (Person("ada", frozenset({"kernel"}), ALWAYS), Person("bo", calendar=ALWAYS))
    runners = (Runner("h100", slots=2),)
    units = (A, replace(B, phase=2))
    given = problem(*units, people=two, runners=runners, phase_order=PhaseOrder.STRICT)
    assert rules_broken(given, altered(solved(given), "B", moved(-1))) == {"phase order"}


def test_figures_that_do_not_follow_from_the_placements_are_a_breach() -> None:
    given = problem(A, B)
    schedule = solved(given)
    better = replace(schedule, objective=replace(schedule.objective, makespan=1))
    assert {breach.rule for breach in breaches(given, better)} == {"figures are right"}
