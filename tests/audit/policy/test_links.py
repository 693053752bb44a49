"""Everything that judges rests on a clause that exists, and what is forbidden is looked for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from audit.parity.capability import State
from audit.policy.clauses import ClauseKind, load_policy
from audit.policy.forms import FORMS
from audit.policy.links import (
    GAP_CLAUSES,
    OUTCOME_CLAUSES,
    RULE_CLAUSES,
    STATE_CLAUSES,
    VERDICT_CLAUSES,
)
from audit.rules import RULES
from audit.scanner.report import Outcome
from workers.protocol.outcome import Verdict

CLAUSES = {clause.id: clause for clause in load_policy().clauses}


def test_every_registered_rule_rests_on_a_clause_and_no_other() -> None:
    assert set(RULE_CLAUSES) == {rule.id for rule in RULES}


def test_every_outcome_rests_on_a_clause() -> None:
    assert set(OUTCOME_CLAUSES) == set(Outcome)


def test_every_verdict_rests_on_a_clause_and_no_other() -> None:
    assert set(VERDICT_CLAUSES) == {verdict.value for verdict in Verdict}


def test_every_state_of_a_capability_rests_on_a_clause_and_no_other() -> None:
    assert set(STATE_CLAUSES) == {state.value for state in State}


def test_every_form_rests_on_the_clauses_of_rules_that_exist() -> None:
    for form in FORMS:
        assert form.rules, form.key
        assert set(form.rules) <= set(RULE_CLAUSES), form.key


@pytest.mark.parametrize(
    "links",
    [RULE_CLAUSES, OUTCOME_CLAUSES, VERDICT_CLAUSES, STATE_CLAUSES, {"gap": GAP_CLAUSES}],
    ids=["rules", "outcomes", "verdicts", "states", "gaps"],
)
def test_the_clauses_that_things_rest_on_exist(links: Mapping[str, tuple[str, ...]]) -> None:
    for key, ids in links.items():
        assert ids, key
        assert len(set(ids)) == len(ids), key
        assert set(ids) <= set(CLAUSES), key


def test_every_forbidden_clause_is_enforced_by_a_rule() -> None:
    enforced = {clause_id for ids in RULE_CLAUSES.values() for clause_id in ids}
    forbidden = {clause.id for clause in CLAUSES.values() if clause.kind is ClauseKind.FORBIDDEN}
    assert forbidden - enforced == set()


def test_every_clause_but_those_about_the_work_itself_carries_something() -> None:
    """A3, A7, A8 allow what no rule reports; V8 ends verdicts, S3 orders units, W1 is of reports."""
    links = (*RULE_CLAUSES.values(), *OUTCOME_CLAUSES.values(), *VERDICT_CLAUSES.values(), GAP_CLAUSES)
    carrying = {clause_id for ids in links for clause_id in ids}
    assert set(CLAUSES) - carrying == {"A3", "A7", "A8", "V8", "S3", "W1"}


def test_a_rule_rests_first_on_what_is_mandatory_forbidden_or_said() -> None:
    judged = {ClauseKind.MANDATORY, ClauseKind.FORBIDDEN, ClauseKind.VOCABULARY}
    assert {rule_id for rule_id, ids in RULE_CLAUSES.items() if CLAUSES[ids[0]].kind not in judged} == set()
