"""What a report may say of a site that is gone."""

from __future__ import annotations

import itertools

import pytest

from audit.policy.clauses import load_policy
from audit.rules import RULES
from audit.scanner.report import Outcome
from audit.scanner.vocabulary import forbidden_phrases
from migrations_tracker.reports.sentences import closed_sentence
from workers.protocol.outcome import Verdict

OUTCOMES = ("", *(outcome.value for outcome in Outcome))
VERDICTS = ("", *(verdict.value for verdict in Verdict))


def said(outcome: str, verdict: str = "", rule_id: str = "FT001") -> str:
    return closed_sentence(
        rule_id=rule_id, symbol="minitorch_gpu::ops::exp", outcome=outcome, verdict=verdict
    ).text


def test_implemented_is_said_only_with_a_kernel_in_the_code_and_the_verdict_on_device() -> None:
    implemented = [
        (outcome, verdict)
        for outcome, verdict in itertools.product(OUTCOMES, VERDICTS)
        if "Implemented" in said(outcome, verdict)
    ]
    assert implemented == [("device-kernel", "on-device")]


def test_a_silent_fallback_is_called_removed_only_where_an_error_took_its_place() -> None:
    removed = [outcome for outcome in OUTCOMES if "Removed silent CPU fallback" in said(outcome)]
    assert removed == ["structured-error"]
    assert "silent" not in said("structured-error", rule_id="FT016")


def test_a_kernel_that_no_gpu_run_has_shown_is_said_to_be_unshown() -> None:
    assert "no run on a GPU has shown it" in said("device-kernel")
    assert "no run on a GPU has shown it" in said("device-kernel", "no-kernel")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_sentence_is_one_that_the_policy_forbids_and_each_rests_on_a_clause(rule: object) -> None:
    known = {clause.id for clause in load_policy().clauses}
    for outcome, verdict in itertools.product(OUTCOMES, VERDICTS):
        sentence = closed_sentence(
            rule_id=rule.id,  # type: ignore[attr-defined]
            symbol="exp",
            outcome=outcome,
            verdict=verdict,
        )
        assert not list(forbidden_phrases(sentence.text)), sentence.text
        assert sentence.clauses
        assert len(set(sentence.clauses)) == len(sentence.clauses)
        assert known >= set(sentence.clauses)
