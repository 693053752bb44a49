from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from migrations_tracker.scheduling.catalogue import Hours
from migrations_tracker.scheduling.comparing import compare
from migrations_tracker.scheduling.forecasting import forecast
from migrations_tracker.scheduling.problem import (
    ALWAYS,
    Person,
    Problem,
    Schedule,
    SolveOptions,
    UnderWay,
    UnitDemand,
)
from migrations_tracker.scheduling.replanning import Replan, replan, reweighted, what_if, without_units
from migrations_tracker.scheduling.solving import list_schedule
from migrations_tracker.scheduling.validating import breaches
from tests.migrations_tracker.scheduling.problems import MONDAY, problem

TWO = (Person("ada", calendar=ALWAYS), Person("bo", calendar=ALWAYS))
A, B, C, D = (UnitDemand(key, effort) for key, effort in (("A", 8), ("B", 12), ("C", 8), ("D", 4)))
QUICK = SolveOptions(evaluations=50, use_solver=False)


def solved(given: Problem) -> Schedule:
    schedule = list_schedule(given)
    assert isinstance(schedule, Schedule)
    return schedule


def an_hour_later(given: Problem, schedule: Schedule) -> Problem:
    """The same problem an hour on: what had begun is under way with an hour less to do."""
    units = tuple(
        replace(unit, effort=unit.effort - 4, under_way=UnderWay(place.person, MONDAY))
        if (place := schedule.by_unit()[unit.key]).start == 0
        else unit
        for unit in given.units
    )
    return replace(given, origin=MONDAY + timedelta(hours=1), units=units)


def test_a_replan_without_news_moves_nothing() -> None:
    given = problem(A, B, C, D, people=TWO, precedences=(("A", "D"),))
    old = solved(given)
    later = an_hour_later(given, old)
    answer = replan(given, old, later, QUICK)
    assert isinstance(answer, Replan)
    people = {place.unit: place.person for place in old.placements}
    assert {place.unit: place.person for place in answer.schedule.placements} == people
    moved = [move.unit for move in answer.comparison.moves if move.shift]
    assert moved == []


def test_a_replan_keeps_what_is_under_way_with_its_person() -> None:
    given = problem(A, B, C, D, people=TWO)
    old = solved(given)
    later = an_hour_later(given, old)
    later = replace(later, people=(*TWO, Person("cy", calendar=ALWAYS)))
    answer = replan(given, old, later, QUICK)
    assert isinstance(answer, Replan)
    assert breaches(later, answer.schedule) == ()
    for unit in later.units:
        if unit.under_way:
            place = answer.schedule.by_unit()[unit.key]
            assert (place.person, place.start) == (unit.under_way.person, 0)


def test_a_person_who_left_is_named_as_the_reason() -> None:
    given = problem(A, B, C, D, people=TWO)
    old = solved(given)
    left = replace(given, people=TWO[:1])
    answer = replan(given, old, left, QUICK)
    assert isinstance(answer, Replan)
    from_bo = [move for move in answer.comparison.moves if move.before and move.before.person == "bo"]
    assert from_bo
    for move in from_bo:
        assert "`bo` is no longer there" in move.reasons


def test_an_effort_that_grew_is_named_and_shows_as_a_slip() -> None:
    given = problem(A, D, precedences=(("A", "D"),))
    old = solved(given)
    grown = replace(given, units=(replace(A, effort=12), D))
    comparison = compare(given, old, grown, solved(grown))
    assert [(move.unit, move.shift) for move in comparison.slips] == [("A", 4), ("D", 4)]
    reasons = {move.unit: move.reasons for move in comparison.slips}
    assert "its effort went from 2 to 3 hours" in reasons["A"]
    assert any("`A`" in reason for reason in reasons["D"])


def test_what_if_compares_with_the_base() -> None:
    given = problem(A, B, C, D)
    base = solved(given)
    wider = what_if(given, people=(*given.people, Person("bo", calendar=ALWAYS)))
    comparison = compare(given, base, wider, solved(wider))
    assert comparison.makespan_after < comparison.makespan_before


def test_a_weight_that_grows_brings_its_unit_forward() -> None:
    given = problem(A, B, C)
    heavy = reweighted(given, {"C": 50})
    assert solved(heavy).by_unit()["C"].start == 0


def test_dropping_a_unit_keeps_the_order_around_it() -> None:
    given = problem(A, B, C, precedences=(("A", "B"), ("B", "C")))
    rest = without_units(given, frozenset({"B"}))
    assert [unit.key for unit in rest.units] == ["A", "C"]
    assert rest.precedences == (("A", "C"),)


HOURS = {"A": Hours(1, 2, 6), "B": Hours(2, 3, 4)}


def test_a_forecast_spreads_around_the_plan_and_repeats_with_its_seed() -> None:
    given = problem(A, B)
    schedule = solved(given)
    first = forecast(given, schedule, HOURS, runs=100, seed=3)
    assert first == forecast(given, schedule, HOURS, runs=100, seed=3)
    assert first.failed == 0
    assert len(first.makespans) == 100
    assert 12 <= first.makespans[0] < first.makespans[-1] <= 40
    assert first.percentile(10) <= first.percentile(50) <= first.percentile(95)
    assert 0 < first.chance_of_plan < 1


def test_a_forecast_of_certain_units_is_the_plan() -> None:
    given = problem(A, B)
    schedule = solved(given)
    certain = {"A": Hours(2, 2, 2), "B": Hours(3, 3, 3)}
    found = forecast(given, schedule, certain, runs=10)
    assert set(found.makespans) == {schedule.objective.makespan}
    assert found.chance_of_plan == 1
