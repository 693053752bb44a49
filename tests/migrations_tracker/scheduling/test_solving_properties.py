from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrations_tracker.scheduling.problem import (
    ALWAYS,
    Infeasible,
    Person,
    Problem,
    Runner,
    Schedule,
    SolveOptions,
    UnitDemand,
)
from migrations_tracker.scheduling.solving import list_schedule, solve
from migrations_tracker.scheduling.validating import breaches
from tests.migrations_tracker.scheduling.problems import MONDAY, any_problem

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
QUICK = SolveOptions(evaluations=60, use_solver=False)
EXACT = SolveOptions(evaluations=40, deterministic_time=1.0)


def assert_valid_or_named(problem: Problem, answer: Schedule | Infeasible) -> None:
    if isinstance(answer, Infeasible):
        assert answer.conflicts
        for conflict in answer.conflicts:
            assert conflict.constraints
            assert all(conflict.constraints)
            assert conflict.message
    else:
        assert breaches(problem, answer) == ()


@settings(UNHURRIED, max_examples=150)
@given(any_problem())
def test_list_scheduling_gives_a_valid_schedule_or_a_named_conflict(problem: Problem) -> None:
    assert_valid_or_named(problem, list_schedule(problem))


@settings(UNHURRIED, max_examples=25)
@given(any_problem(max_units=6))
def test_the_exact_solver_gives_a_valid_schedule_or_a_named_conflict(problem: Problem) -> None:
    assert_valid_or_named(problem, solve(problem, EXACT))


@settings(UNHURRIED, max_examples=40)
@given(any_problem())
def test_the_search_is_never_worse_than_list_scheduling(problem: Problem) -> None:
    first, final = list_schedule(problem), solve(problem, QUICK)
    if isinstance(first, Schedule):
        assert isinstance(final, Schedule)
        assert final.objective <= first.objective
        assert final.list_objective == first.objective


@settings(UNHURRIED, max_examples=25)
@given(any_problem(), st.integers(0, 5))
def test_the_same_seed_gives_the_same_schedule(problem: Problem, seed: int) -> None:
    options = replace(QUICK, seed=seed)
    assert solve(problem, options) == solve(problem, options)


@settings(UNHURRIED, max_examples=8)
@given(any_problem(max_units=5))
def test_the_same_seed_gives_the_same_schedule_from_the_exact_solver(problem: Problem) -> None:
    assert solve(problem, EXACT) == solve(problem, EXACT)


@st.composite
def small_plain_problem(draw: st.DrawFn) -> Problem:
    size = draw(st.integers(2, 5))
    efforts, checks = st.integers(1, 6), st.integers(0, 2)
    units = tuple(UnitDemand(f"U{n}", draw(efforts), verification=draw(checks)) for n in range(size))
    pairs = [(f"U{a}", f"U{b}") for a in range(size) for b in range(a + 1, size)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=size))
    return Problem(MONDAY, units, (Person("ada", calendar=ALWAYS),), (Runner("h100"),), tuple(edges))


@settings(UNHURRIED, max_examples=20)
@given(small_plain_problem(), st.sampled_from(["capacity", "person", "slot"]))
def test_more_capacity_never_lengthens_the_optimum(problem: Problem, kind: str) -> None:
    options = SolveOptions(evaluations=40, deterministic_time=20.0)
    before = solve(problem, options)
    larger = {
        "capacity": replace(problem, people=(replace(problem.people[0], capacity=2),)),
        "person": replace(problem, people=(*problem.people, Person("bo", calendar=ALWAYS))),
        "slot": replace(problem, runners=(replace(problem.runners[0], slots=2),)),
    }[kind]
    after = solve(larger, options)
    assert isinstance(before, Schedule)
    assert isinstance(after, Schedule)
    assert before.is_optimal_makespan
    assert after.is_optimal_makespan
    assert after.objective.makespan <= before.objective.makespan
