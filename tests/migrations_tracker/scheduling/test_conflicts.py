from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from migrations_tracker.scheduling.problem import (
    ALWAYS,
    OFFICE,
    Absence,
    Conflict,
    ConflictKind,
    Infeasible,
    Person,
    PhaseOrder,
    Pin,
    Problem,
    Runner,
    Schedule,
    SolveOptions,
    UnderWay,
    UnitDemand,
    WorkCalendar,
)
from migrations_tracker.scheduling.solving import list_schedule, solve
from tests.migrations_tracker.scheduling.problems import MONDAY, problem

HOUR = timedelta(hours=1)
A, B, C = UnitDemand("A", 8), UnitDemand("B", 8), UnitDemand("C", 8)


def only_conflict(given: Problem, options: SolveOptions | None = None) -> Conflict:
    answer = solve(given, options) if options else list_schedule(given)
    assert isinstance(answer, Infeasible)
    (conflict,) = answer.conflicts
    return conflict


def test_a_cycle_is_named_with_the_edges_that_close_it() -> None:
    edges = (("A", "B"), ("B", "C"), ("C", "A"))
    conflict = only_conflict(problem(A, B, C, precedences=edges))
    assert conflict.kind is ConflictKind.PRECEDENCE_CYCLE
    assert conflict.constraints == ("precedence A → B", "precedence B → C", "precedence C → A")


def test_an_edge_into_a_unit_under_way_closes_no_cycle() -> None:
    begun = replace(A, under_way=UnderWay("ada", MONDAY - HOUR))
    assert isinstance(list_schedule(problem(begun, B, precedences=(("A", "B"), ("B", "A")))), Schedule)


def test_a_skill_that_nobody_has_is_named() -> None:
    conflict = only_conflict(problem(replace(A, skills=frozenset({"metal"}))))
    assert conflict.kind is ConflictKind.NO_SKILLED_PERSON
    assert conflict.constraints == ("skills of A", "skills of the people")
    assert "metal" in conflict.message


def test_a_label_that_no_runner_has_is_named() -> None:
    conflict = only_conflict(problem(replace(A, verification=1, labels=frozenset({"rocm"}))))
    assert conflict.kind is ConflictKind.NO_RUNNER
    assert "rocm" in conflict.message


def test_a_deadline_before_the_shortest_chain_is_named_with_the_chain() -> None:
    late = replace(B, deadline=MONDAY + 3 * HOUR)
    conflict = only_conflict(problem(A, late, precedences=(("A", "B"),)))
    assert conflict.kind is ConflictKind.DEADLINE_MISSED
    assert conflict.constraints == ("deadline of B", "precedence A → B")
    assert conflict.is_proved


def test_deadlines_that_only_together_ask_for_too_much_are_proved_and_only_they_are_named() -> None:
    soon = MONDAY + 3 * HOUR
    units = (replace(A, deadline=soon), replace(B, deadline=soon), replace(C, deadline=MONDAY + 90 * HOUR))
    conflict = only_conflict(problem(*units), SolveOptions(evaluations=20, deterministic_time=4.0))
    assert conflict.kind is ConflictKind.DEADLINE_MISSED
    assert conflict.is_proved
    assert conflict.constraints[:-1] == ("deadline of A", "deadline of B")
    assert "capacity" in conflict.constraints[-1]


def test_without_the_solver_the_same_clash_is_named_but_not_called_proved() -> None:
    soon = MONDAY + 3 * HOUR
    units = (replace(A, deadline=soon), replace(B, deadline=soon))
    conflict = only_conflict(problem(*units), SolveOptions(evaluations=20, use_solver=False))
    assert conflict.kind is ConflictKind.DEADLINE_MISSED
    assert not conflict.is_proved


def test_two_pins_of_one_person_at_the_same_time_clash() -> None:
    units = (replace(A, pin=Pin(MONDAY)), replace(B, pin=Pin(MONDAY + HOUR)))
    conflict = only_conflict(problem(*units))
    assert conflict.kind is ConflictKind.PINS_CLASH
    assert conflict.constraints == ("pin of A", "pin of B", "capacity of the people")


def test_pins_without_a_person_go_to_whoever_is_able() -> None:
    units = (replace(A, pin=Pin(MONDAY)), replace(B, pin=Pin(MONDAY), skills=frozenset({"kernel"})))
    people = (Person("ada", frozenset({"kernel"}), ALWAYS), Person("bo", calendar=ALWAYS))
    schedule = list_schedule(problem(*units, people=people))
    assert isinstance(schedule, Schedule)
    assert {place.unit: place.person for place in schedule.placements} == {"A": "bo", "B": "ada"}


def test_a_pin_before_its_predecessor_can_have_finished_clashes_with_the_precedence() -> None:
    conflict = only_conflict(problem(A, replace(B, pin=Pin(MONDAY)), precedences=(("A", "B"),)))
    assert conflict.kind is ConflictKind.PINS_CLASH
    assert conflict.constraints == ("pin of B", "precedence A → B")


def test_a_precedence_against_strict_phases_is_named() -> None:
    units = (replace(A, phase=2), B)
    given = problem(*units, precedences=(("A", "B"),), phase_order=PhaseOrder.STRICT)
    conflict = only_conflict(given)
    assert conflict.kind is ConflictKind.PHASE_ORDER
    assert conflict.constraints == ("phase order", "precedence A → B")


def test_somebody_who_is_away_for_good_leaves_no_working_time() -> None:
    gone = replace(OFFICE, absences=(Absence(MONDAY, MONDAY + timedelta(days=36500)),))
    conflict = only_conflict(problem(A, people=(Person("ada", calendar=gone),)))
    assert conflict.kind is ConflictKind.NO_WORKING_TIME
    assert conflict.constraints == ("working time for A",)


def test_a_verification_longer_than_any_window_of_the_runner_is_named() -> None:
    unit = replace(A, verification=40)
    conflict = only_conflict(problem(unit, runners=(Runner("h100", calendar=OFFICE),)))
    assert conflict.kind is ConflictKind.NO_WORKING_TIME


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (problem(A, A), "unit A"),
        (problem(A, precedences=(("A", "Z"),)), "precedence A → Z"),
        (problem(replace(A, effort=-1)), "unit A"),
        (problem(replace(A, pin=Pin(person="nobody"))), "unit A"),
        (problem(replace(A, deadline=datetime(2026, 6, 1))), "unit A"),
        (problem(A, people=(Person("ada", calendar=WorkCalendar((), "Mars/Olympus")),)), "calendar of ada"),
        (replace(problem(A), origin=MONDAY + timedelta(minutes=1)), "origin"),
    ],
)
def test_input_that_makes_no_sense_is_named(given: Problem, named: str) -> None:
    conflict = only_conflict(given)
    assert conflict.kind is ConflictKind.INVALID_INPUT
    assert conflict.constraints == (named,)
