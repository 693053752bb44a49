"""A scan as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audit.scanner.baseline import AbsentResult, ComparedResult, Comparison, UnseenResult
from audit.scanner.output.json_report import json_document
from audit.scanner.report import BaselineState, FileStatus, Outcome, RuleRun, RuleStatus, SiteOutcome
from tests.audit.scanner.report_fixture import RULES, make_report, make_result, make_suppression

PAGE = Path(__file__).parents[4] / "docs" / "command-line.md"
TOLD = SiteOutcome(Outcome.REMOVED, "`gone` is gone", make_result().evidence)
FREE_KEYS = {"partial_fingerprints", "properties"}


def compared() -> dict[str, Any]:
    here = make_result(suppressions=(make_suppression(),), properties={"kernel": "add"})
    gone = make_result(symbol="gone")
    comparison = Comparison(
        results=(ComparedResult(here, BaselineState.NEW),),
        absent=(AbsentResult(gone, TOLD), AbsentResult(gone, None)),
        unseen=(UnseenResult(gone, "gone.rs missing: partial clone"),),
    )
    document: dict[str, Any] = json.loads(json.dumps(json_document(make_report(here), RULES, comparison)))
    return document


def keys(value: object) -> Iterator[str]:
    """Yield every key of a document, those apart that are data."""
    if isinstance(value, list):
        for item in value:
            yield from keys(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in FREE_KEYS:
                yield from keys(item)


def test_every_key_is_described_on_the_page() -> None:
    page = PAGE.read_text()
    assert {key for key in keys(compared()) if f"`{key}`" not in page} == set()


def test_every_status_and_state_is_described_on_the_page() -> None:
    page = PAGE.read_text()
    words = [*FileStatus, *RuleStatus, *BaselineState, *Outcome]
    assert {word.value for word in words if f"`{word.value}`" not in page} == set()


def test_results_of_the_baseline_stand_behind_those_of_the_scan() -> None:
    results = compared()["results"]
    assert [result["baseline_state"] for result in results] == ["new", "absent", "absent", "unchanged"]
    assert [result.get("outcome") for result in results] == [None, "removed", None, None]
    assert results[1]["outcome_evidence"]["text"] == "`gone` is gone"
    assert results[3]["not_seen"] == "gone.rs missing: partial clone"


def test_a_suppressed_result_is_marked() -> None:
    [result, *_] = compared()["results"]
    assert result["is_suppressed"] is True
    assert result["suppressions"][0]["justification"] == "the oracle of the tests"


def test_a_rule_that_did_not_run_is_told_with_its_reason() -> None:
    report = make_report(
        rule_runs=(
            RuleRun("FT001", RuleStatus.RAN),
            RuleRun("FT008", RuleStatus.NOT_RUN, "left out by --rules"),
        )
    )
    assert [(rule["status"], rule["reason"]) for rule in json_document(report, RULES)["rules"]] == [
        ("ran", None),
        ("not-run", "left out by --rules"),
    ]


def test_without_a_baseline_a_result_has_no_state() -> None:
    [result] = json_document(make_report(make_result()), RULES)["results"]
    assert "baseline_state" not in result
