from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings

from migrations_tracker.scheduling.problem import Person, PhaseOrder, Problem, Schedule, UnitDemand
from migrations_tracker.scheduling.solving import list_schedule
from migrations_tracker.scheduling.stored import from_plain, to_plain
from migrations_tracker.scheduling.what_if import WhatIf, applied, in_words
from tests.migrations_tracker.scheduling.problems import any_problem, problem
from tests.migrations_tracker.scheduling.test_solving_properties import UNHURRIED


@settings(UNHURRIED, max_examples=60)
@given(any_problem())
def test_a_problem_and_its_schedule_come_back_as_they_were(given_problem: Problem) -> None:
    text = json.dumps(to_plain(given_problem))
    assert from_plain(Problem, json.loads(text)) == given_problem
    answer = list_schedule(given_problem)
    if isinstance(answer, Schedule):
        assert from_plain(Schedule, json.loads(json.dumps(to_plain(answer)))) == answer


def test_a_what_if_changes_what_it_says() -> None:
    base = problem(UnitDemand("A", 8), UnitDemand("B", 4, weight=1), UnitDemand("C", 2))
    base = replace(base, precedences=(("A", "B"), ("B", "C")))
    change = WhatIf(
        added_people=(Person("bo", frozenset({"kernel"})),),
        dropped_people=frozenset({"ada"}),
        dropped_crates=("demo",),
        dropped_units=frozenset({"B"}),
        weights={"C": 7},
        phase_order=PhaseOrder.STRICT,
    )
    changed = applied(base, change)
    assert [person.id for person in changed.people] == ["bo"]
    assert [(unit.key, unit.weight) for unit in changed.units] == [("A", 1), ("C", 7)]
    assert changed.precedences == (("A", "C"),)
    assert changed.phase_order is PhaseOrder.STRICT
    assert in_words(change) == (
        "`bo` helps with kernel. `ada` is not there. Nothing is done in `demo`. 1 units have other weights. "
        "A phase starts when those before it have finished."
    )
    assert from_plain(WhatIf, json.loads(json.dumps(to_plain(change)))) == change


def test_no_change_is_no_what_if() -> None:
    base = problem(UnitDemand("A", 8))
    assert WhatIf().is_empty
    assert applied(base, WhatIf()) == base
