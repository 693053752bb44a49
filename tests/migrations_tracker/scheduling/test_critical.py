from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings

from migrations_tracker.scheduling.critical import Slack, critical_path
from migrations_tracker.scheduling.problem import (
    ALWAYS,
    OFFICE,
    Objective,
    Person,
    PhaseOrder,
    Pin,
    Problem,
    Runner,
    Schedule,
    UnderWay,
    UnitDemand,
)
from migrations_tracker.scheduling.solving import list_schedule
from migrations_tracker.scheduling.validating import breaches
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


def test_work_that_ends_before_its_runner_opens_may_slip_but_its_run_may_not() -> None:
    # Six ticks are not left before the runner's midday break, so its run is from tick 16 to 22.
    checked = UnitDemand("B", 0, verification=6)
    given_problem = problem(
        replace(A, effort=7),
        checked,
        people=TWO,
        runners=(Runner("h100", calendar=OFFICE),),
        precedences=(("A", "B"),),
    )
    path = critical_path(given_problem, solved(given_problem))
    assert path.slacks == (Slack("A", 9), Slack("B", 9, 0))
    assert [slack.unit for slack in path.slacks if slack.is_critical] == ["B"]


def test_a_run_can_not_slip_into_hours_when_its_runner_is_closed() -> None:
    # The other unit ends at tick 15, but the runner closes for the midday break at tick 12.
    units = (UnitDemand("A", 1, verification=6), UnitDemand("B", 15))
    given_problem = problem(*units, people=TWO, runners=(Runner("h100", calendar=OFFICE),))
    path = critical_path(given_problem, solved(given_problem))
    assert {slack.unit: slack.verification for slack in path.slacks} == {"A": 5, "B": None}


def test_a_pinned_unit_stops_what_comes_before_it() -> None:
    pinned = replace(C, pin=Pin(MONDAY + timedelta(hours=3)))
    given_problem = problem(A, B, pinned, people=TWO, precedences=(("A", "C"),))
    slack = {s.unit: s.ticks for s in critical_path(given_problem, solved(given_problem)).slacks}
    assert slack == {"A": 4, "B": 0, "C": 0}


def test_under_strict_phases_an_earlier_phase_may_not_slip_into_a_later_one() -> None:
    later = replace(B, phase=2)
    given_problem = problem(A, replace(C, phase=1), later, people=TWO, phase_order=PhaseOrder.STRICT)
    path = critical_path(given_problem, solved(given_problem))
    assert {slack.unit: slack.ticks for slack in path.slacks} == {"A": 0, "B": 0, "C": 4}
    assert [link.why for link in path.chain] in (["phase order"], ["ada"], ["bo"])


def test_what_is_under_way_may_not_slip_behind_what_its_person_begins() -> None:
    begun = replace(A, under_way=UnderWay("ada", MONDAY))
    given_problem = problem(begun, B, people=(Person("ada", calendar=ALWAYS, capacity=2),))
    path = critical_path(given_problem, solved(given_problem))
    assert {slack.unit: slack.ticks for slack in path.slacks} == {"A": 0, "B": 0}


@settings(UNHURRIED, max_examples=60)
@given(any_problem())
def test_slack_is_never_negative_and_the_chain_ends_with_the_last_unit(given_problem: Problem) -> None:
    schedule = list_schedule(given_problem)
    if not isinstance(schedule, Schedule):
        return
    path = critical_path(given_problem, schedule)
    assert all(slack.ticks >= 0 and (slack.verification or 0) >= 0 for slack in path.slacks)
    last = max(schedule.placements, key=lambda place: (place.finish, place.unit))
    assert last.unit in {slack.unit for slack in path.slacks if slack.is_critical}
    if path.chain:
        assert path.units()[-1] == last.unit


@settings(UNHURRIED, max_examples=60)
@given(any_problem())
def test_all_units_as_late_as_their_slack_allows_still_obey_every_rule(given_problem: Problem) -> None:
    schedule = list_schedule(given_problem)
    if not isinstance(schedule, Schedule):
        return
    latest = critical_path(given_problem, schedule).latest
    weight = {unit.key: unit.weight for unit in given_problem.units}
    weighted = sum(weight[place.unit] * place.finish for place in latest)
    late = replace(
        schedule,
        placements=latest,
        objective=Objective(max(place.finish for place in latest), weighted),
        list_objective=Objective(schedule.objective.makespan, weighted),
    )
    assert breaches(given_problem, late) == ()
    assert late.objective.makespan == schedule.objective.makespan


def test_an_empty_schedule_has_no_critical_path() -> None:
    empty = problem()
    assert critical_path(empty, solved(empty)).slacks == ()


def test_a_deadline_takes_slack_away() -> None:
    dated = replace(A, deadline=MONDAY + timedelta(hours=3))
    given_problem = problem(dated, B, people=TWO)
    slack = {s.unit: s.ticks for s in critical_path(given_problem, solved(given_problem)).slacks}
    assert slack["A"] == 4
