"""SARIF as GitHub code scanning reads it: what it needs, and what it would misread."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from audit.scanner.baseline import AbsentResult, ComparedResult, Comparison, UnseenResult
from audit.scanner.output.github import MAX_RESULTS, MAX_STEPS, SHOWN_RESULTS, github_log, line_hashes
from audit.scanner.output.source_text import SourceText
from audit.scanner.report import BaselineState, Level, ScanReport, SourceInfo
from tests.audit.scanner.output.test_sarif import valid
from tests.audit.scanner.report_fixture import (
    FILE,
    RULES,
    SOURCE,
    HostByDefault,
    make_report,
    make_result,
    make_suppression,
)

TEXTS = {FILE: SourceText(SOURCE)}


class Wordy(HostByDefault):
    __doc__ = "## What it does\n" + "word " * 400


def run_of(report: ScanReport, comparison: Comparison | None = None) -> dict[str, Any]:
    return valid(github_log(report, RULES, TEXTS, comparison).log)


def test_it_needs_these_properties_of_a_rule() -> None:
    for rule in run_of(make_report())["tool"]["driver"]["rules"]:
        assert rule["id"]
        assert 0 < len(rule["name"]) <= 255
        assert 0 < len(rule["shortDescription"]["text"]) <= 1024
        assert 0 < len(rule["fullDescription"]["text"]) <= 1024
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert len(rule["properties"]["tags"]) <= 10
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")


def test_it_needs_these_properties_of_a_result() -> None:
    [result] = run_of(make_report(make_result()))["results"]
    assert result["ruleId"] == "FT001"
    assert result["ruleIndex"] == 0
    assert result["level"] == "error"
    assert result["message"]["text"]
    [location] = result["locations"]
    assert not location["physicalLocation"]["artifactLocation"]["uri"].startswith(("/", "file:"))
    assert set(location["physicalLocation"]["region"]) == {"startLine", "startColumn", "endLine", "endColumn"}
    assert result["partialFingerprints"]["primaryLocationLineHash"].endswith(":1")
    assert result["codeFlows"]


def test_it_needs_a_category_that_stays_the_same() -> None:
    assert run_of(make_report())["automationDetails"]["id"] == "ferroaudit/ferrotorch/"


def test_it_needs_paths_from_the_root_of_the_repository() -> None:
    source = SourceInfo(
        root="/srv/demo/sub", repository_uri="https://example.org/d", path_in_repository="sub dir"
    )
    [result] = run_of(make_report(make_result(), source=source))["results"]
    paths = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        *(
            step["location"]["physicalLocation"]["artifactLocation"]["uri"]
            for step in result["codeFlows"][0]["threadFlows"][0]["locations"]
        ),
    }
    assert paths == {"sub%20dir/gpu/src/kernels.rs"}


def test_it_would_take_a_suppressed_result_for_an_open_alert() -> None:
    suppressed = make_result(suppressions=(make_suppression(),))
    rejected = make_result(suppressions=(make_suppression("rejected", ""),))
    [result] = run_of(make_report(suppressed, rejected))["results"]
    assert "suppressions" not in result


def test_it_would_take_an_absent_result_for_an_open_alert_and_close_one_that_was_not_seen() -> None:
    here, gone = make_result(), make_result(symbol="gone", path="gone.rs")
    unseen = make_result(symbol="unseen", path="unseen.rs")
    comparison = Comparison(
        results=(ComparedResult(here, BaselineState.NEW),),
        absent=(AbsentResult(gone, None),),
        unseen=(UnseenResult(unseen, "unseen.rs failed: not UTF-8"),),
    )
    run = run_of(make_report(here), comparison)
    symbols = [
        result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for result in run["results"]
    ]
    assert symbols == ["gpu::kernels::gpu_add", "unseen"]
    assert not any("baselineState" in result for result in run["results"])


def test_it_would_close_a_result_of_level_none_as_fixed_so_it_is_told_as_a_note() -> None:
    report = make_report(make_result(), make_result(symbol="c::other")._replace(level=Level.NONE))
    made = github_log(report, RULES, TEXTS)
    results = valid(made.log)["results"]
    assert [one["level"] for one in results] == ["error", "note"]
    assert all("kind" not in one for one in results)
    assert made.remarks == ("1 result of level none: told to GitHub as a note.",)
    assert github_log(make_report(make_result()), RULES, TEXTS).remarks == ()


def test_a_rule_keeps_the_clauses_it_rests_on() -> None:
    report = replace(make_report(), own_clauses={"FT001": ("P1",)})
    [first, *_] = run_of(report)["tool"]["driver"]["rules"]
    assert first["properties"]["clauses"] == ["F1", "M2", "M4", "P1"]


def test_a_result_keeps_the_clauses_that_rest_on_its_form() -> None:
    of_forms = {"match-arm": ("P2",), "early-return": ("P3",)}
    report = replace(make_report(make_result(form="match-arm")), own_clauses_of_forms=of_forms)
    [result] = run_of(report)["results"]
    assert result["properties"]["clauses"] == ["P2"]


def test_it_would_take_security_words_for_a_vulnerability() -> None:
    text = json.dumps([rule["properties"] for rule in run_of(make_report())["tool"]["driver"]["rules"]])
    assert "security" not in text


def test_it_would_take_brackets_before_parentheses_for_a_link() -> None:
    [result] = run_of(make_report(make_result(message="`kernels[0](a)` is dropped")))["results"]
    assert result["message"]["text"] == "`kernels[0] (a)` is dropped"


def test_it_would_resolve_a_root_of_this_machine() -> None:
    run = run_of(make_report(make_result()))
    assert "uri" not in run["originalUriBaseIds"]["SRCROOT"]
    assert "/srv/demo" not in json.dumps(run)


def test_it_cuts_texts_that_are_too_long_at_a_word() -> None:
    log = github_log(make_report(), (Wordy(),), {}).log
    text = valid(log)["tool"]["driver"]["rules"][0]["fullDescription"]["text"]
    assert 900 < len(text) <= 1000
    assert text.endswith("word…")


def test_its_limits_are_those_it_documents() -> None:
    assert (MAX_RESULTS, SHOWN_RESULTS, MAX_STEPS) == (25_000, 5_000, 1_000)


def test_it_refuses_more_results_than_its_limit_so_the_lowest_levels_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("audit.scanner.output.github.MAX_RESULTS", 3)
    notes = [make_result(level=Level.NOTE, symbol=str(number)) for number in range(3)]
    made = github_log(make_report(*notes, make_result()), RULES, {})
    assert [result["level"] for result in made.log["runs"][0]["results"]] == ["error", "note", "note"]
    assert made.remarks == ("GitHub takes 3 results: 1 of the lowest level are left out.",)


def test_it_shows_fewer_results_than_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.scanner.output.github.SHOWN_RESULTS", 2)
    many = [make_result(symbol=str(number)) for number in range(5)]
    assert github_log(make_report(*many), RULES, {}).remarks == (
        "GitHub shows 2 results: 3 will not be seen.",
    )


def test_a_result_whose_text_is_not_at_hand_has_no_line_hash() -> None:
    [result] = valid(github_log(make_report(make_result()), RULES, {}).log)["results"]
    assert result["partialFingerprints"] == {"site/v1": "a1b2c3"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Values that GitHub's own uploader computes for these texts.
        ("", ["c129715d7a2bc9a3:1"]),
        (
            " a\nb\n  \t\tc\n d",
            ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"],
        ),
    ],
)
def test_the_line_hash_is_the_one_github_computes(text: str, expected: list[str]) -> None:
    assert list(line_hashes(text, range(1, 10)).values()) == expected


def test_the_line_hash_does_not_depend_on_indentation_or_line_ends() -> None:
    lines = range(1, 5)
    assert (
        line_hashes("a b\n  c\n", lines)
        == line_hashes("ab\r\n\tc\r\n", lines)
        == line_hashes("ab\rc\r", lines)
    )


def test_equal_lines_are_numbered() -> None:
    hashes = line_hashes("same text\n" * 30, range(1, 4))
    assert [value.partition(":")[2] for value in hashes.values()] == ["1", "2", "3"]
    assert len({value.partition(":")[0] for value in hashes.values()}) == 1
