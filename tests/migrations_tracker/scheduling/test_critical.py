from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings

from migrations_tracker.scheduling.critical import critical_path
from migrations_tracker.scheduling.problem import ALWAYS, OFFICE, Person, Pin, Problem, Schedule, UnitDemand
from migrations_tracker.scheduling.solving import list_schedule
from tests.migrations_tracker.scheduling.problems import MONDAY, any_problem, problem
from tests.migrations_tracker.scheduling.test_solving_properties import UNHURRIED

TWO = (Person("ada", calendar=ALWAYS), Person("bo", calendar=ALWAYS))
A, B, C = UnitDemand("A", 8), UnitDemand("B", 20), UnitDemand("C", 4)


def solved(given: Problem) -> Schedule:
    schedule = list_schedule(given)
    assert isinstance(schedule, Schedule)
    return schedule


def test_the_longest_chain_is_critical_and_the_rest_may_slip() -> None:
    given_problem = problem(A, B, C, people=TWO, precedences=(("B", "C"),))
    path = critical_path(given_problem, solved(given_problem))
    assert path.units() == ("B", "C")
    assert {slack.unit: slack.ticks for slack in path.slacks} == {"A": 16, "B": 0, "C": 0}


def test_waiting_for_a_person_ties_units_that_no_precedence_ties() -> None:
    given_problem = problem(A, B)
    path = critical_path(given_problem, solved(given_problem))
    assert [link.why for link in path.chain] == ["ada"]
    assert all(slack.is_critical for slack in path.slacks)


def test_nights_are_no_slack() -> None:
    people = (Person("ada", calendar=OFFICE), Person("bo", calendar=ALWAYS))
    day, long = UnitDemand("A", 32, skills=frozenset()), UnitDemand("B", 90)
    pinned = (replace(day, pin=Pin(MONDAY, "ada")), replace(long, pin=Pin(MONDAY, "bo")))
    given_problem = problem(*pinned, people=people)
    path = critical_path(given_problem, solved(given_problem))
    # The end comes at half past seven next morning, before ada is back: working later is not possible.
    assert {slack.unit: slack.ticks for slack in path.slacks} == {"A": 0, "B": 0}


def test_an_end_that_waits_for_a_runner_leads_over_the_runner() -> None:
    units = (UnitDemand("A", 1, verification=30), UnitDemand("B", 8, verification=4))
    given_problem = problem(*units, people=TWO)
    path = critical_path(given_problem, solved(given_problem))
    assert path.units() == ("A", "B")
    assert [link.why for link in path.chain] == ["h100"]


@settings(UNHURRIED, max_examples=60)
@given(any_problem())
def test_slack_is_never_negative_and_the_chain_ends_with_the_last_unit(given_problem: Problem) -> None:
    schedule = list_schedule(given_problem)
    if not isinstance(schedule, Schedule):
        return
    path = critical_path(given_problem, schedule)
    assert all(slack.ticks >= 0 for slack in path.slacks)
    last = max(schedule.placements, key=lambda place: (place.finish, place.unit))
    assert last.unit in {slack.unit for slack in path.slacks if slack.is_critical}
    if path.chain:
        assert path.units()[-1] == last.unit


def test_an_empty_schedule_has_no_critical_path() -> None:
    empty = problem()
    assert critical_path(empty, solved(empty)).slacks == ()


def test_a_deadline_takes_slack_away() -> None:
    dated = replace(A, deadline=MONDAY + timedelta(hours=3))
    given_problem = problem(dated, B, people=TWO)
    slack = {s.unit: s.ticks for s in critical_path(given_problem, solved(given_problem)).slacks}
    assert slack["A"] == 4
