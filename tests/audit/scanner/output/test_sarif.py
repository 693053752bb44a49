"""A scan as SARIF."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.policy.clauses import CURRENT_VERSION
from audit.policy.links import RULE_CLAUSES
from audit.scanner.baseline import AbsentResult, ComparedResult, Comparison, UnseenResult
from audit.scanner.output.json_text import json_text
from audit.scanner.output.sarif import SCHEMA_URI, sarif_lines, sarif_log
from audit.scanner.output.sarif_result import result_from_sarif, result_to_sarif
from audit.scanner.report import (
    BaselineState,
    EvidenceStep,
    FileStatus,
    Level,
    ManifestEntry,
    Outcome,
    Region,
    Result,
    RuleRun,
    RuleStatus,
    SiteOutcome,
    SourceInfo,
)
from tests.audit.scanner.report_fixture import (
    FILE,
    RULES,
    make_report,
    make_result,
    make_suppression,
    results,
)

SCHEMAS = Path(__file__).parents[1] / "schemas"
SCHEMA = json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text())
VALIDATOR = jsonschema.Draft4Validator(SCHEMA)


def valid(log: dict[str, Any]) -> dict[str, Any]:
    """Return the run of a log after checking the log against the schema."""
    decoded = json.loads(json.dumps(log))
    assert [error.message for error in VALIDATOR.iter_errors(decoded)] == []
    run: dict[str, Any] = decoded["runs"][0]
    return run


def test_the_schema_is_that_of_errata_01_and_refuses_what_is_wrong() -> None:
    assert SCHEMA["id"] == SCHEMA_URI
    log = sarif_log(make_report(make_result()), RULES)
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert not VALIDATOR.is_valid(log)


@settings(max_examples=25, deadline=None)
@given(st.lists(results(), max_size=2))
def test_any_results_make_a_valid_log(found: list[Result]) -> None:
    valid(sarif_log(make_report(*found), RULES))


@settings(deadline=None)
@given(results())
def test_a_result_is_read_back_as_it_was_written(result: Result) -> None:
    assert result_from_sarif(json.loads(json.dumps(result_to_sarif(result, 0)))) == result


def test_a_result_names_place_symbol_and_fingerprints() -> None:
    [result] = valid(sarif_log(make_report(make_result(path="gpu/src/a b#é.rs")), RULES))["results"]
    [location] = result["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "gpu/src/a%20b%23%C3%A9.rs", "uriBaseId": "SRCROOT"}
    assert physical["region"] == {"startLine": 6, "startColumn": 9, "endLine": 8, "endColumn": 10}
    assert location["logicalLocations"] == [
        {"fullyQualifiedName": "gpu::kernels::gpu_add", "kind": "function"}
    ]
    assert result["partialFingerprints"] == {"site/v1": "a1b2c3"}
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("FT001", 0, "error")


def test_the_evidence_is_one_code_flow_in_order() -> None:
    [result] = valid(sarif_log(make_report(make_result()), RULES))["results"]
    [flow] = result["codeFlows"][0]["threadFlows"]
    assert [step["kinds"] for step in flow["locations"]] == [["anchor"], ["call"], ["effect"]]
    last = flow["locations"][-1]["location"]
    assert last["message"] == {"text": "downloads `a`"}
    assert last["physicalLocation"]["region"]["startLine"] == 14


def test_the_rules_carry_their_texts_and_levels() -> None:
    rules = valid(sarif_log(make_report(), RULES))["tool"]["driver"]["rules"]
    assert [(rule["id"], rule["name"]) for rule in rules] == [
        ("FT001", "silent-fallback"),
        ("FT008", "host-readback"),
    ]
    assert rules[0]["shortDescription"]["text"] == "Checks for an Err arm that computes on the host."
    assert "PyTorch raises NotImplementedError" in rules[0]["fullDescription"]["text"]
    assert rules[0]["help"]["markdown"].startswith("## What it does\nChecks for an `Err` arm")
    assert [rule["defaultConfiguration"]["level"] for rule in rules] == ["error", "warning"]


def test_the_rules_name_their_clauses_and_the_run_the_policy() -> None:
    run = valid(sarif_log(make_report(), RULES))
    for descriptor in run["tool"]["driver"]["rules"]:
        assert tuple(descriptor["properties"]["clauses"]) == RULE_CLAUSES[descriptor["id"]]
    assert run["properties"]["policyVersion"] == CURRENT_VERSION
    run = valid(sarif_log(replace(make_report(), policy_version="1+3"), RULES))
    assert run["properties"]["policyVersion"] == "1+3"


def test_what_was_not_scanned_and_not_run_is_told() -> None:
    report = make_report(
        manifest=(
            ManifestEntry("a.rs", "", FileStatus.FAILED, "not UTF-8: byte 0xe9 in line 2"),
            ManifestEntry("b.rs", "b" * 40, FileStatus.PARTIAL, "syntax error in line 7"),
            ManifestEntry("c.rs", "c" * 40, FileStatus.UNCHANGED),
            ManifestEntry("third party", "", FileStatus.SKIPPED, "submodule"),
        ),
        rule_runs=(
            RuleRun("FT001", RuleStatus.RAN),
            RuleRun("FT008", RuleStatus.NOT_RUN, "left out by --rules"),
        ),
    )
    run = valid(sarif_log(report, RULES))
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is True
    told = [
        (note["descriptor"]["id"], note["message"]["text"])
        for note in invocation["toolExecutionNotifications"]
    ]
    assert told == [
        ("file-not-scanned", "a.rs failed: not UTF-8: byte 0xe9 in line 2"),
        ("file-scanned-in-part", "b.rs partial: syntax error in line 7"),
        ("file-not-scanned", "third party skipped: submodule"),
        ("rule-not-run", "FT008 not-run: left out by --rules"),
    ]
    assert [artifact["properties"]["status"] for artifact in run["artifacts"]] == [
        "failed",
        "partial",
        "unchanged",
        "skipped",
    ]


def test_a_rule_that_failed_makes_the_run_unsuccessful() -> None:
    report = make_report(rule_runs=(RuleRun("FT001", RuleStatus.FAILED, "ptxas crashed"),))
    assert valid(sarif_log(report, RULES))["invocations"][0]["executionSuccessful"] is False


def test_a_suppression_is_told_with_its_justification() -> None:
    [result] = valid(sarif_log(make_report(make_result(suppressions=(make_suppression(),))), RULES))[
        "results"
    ]
    [suppression] = result["suppressions"]
    assert (suppression["kind"], suppression["status"]) == ("inSource", "accepted")
    assert suppression["justification"] == "the oracle of the tests"


def test_a_commit_is_told_by_repository_revision_and_branch() -> None:
    source = SourceInfo(
        root="/srv/demo",
        revision="main",
        commit_id="d" * 40,
        repository_uri="https://example.org/demo.git",
        branch="main",
        committed_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    run = valid(sarif_log(make_report(source=source), RULES))
    assert run["versionControlProvenance"] == [
        {
            "repositoryUri": "https://example.org/demo.git",
            "revisionId": "d" * 40,
            "branch": "main",
            "mappedTo": {"uriBaseId": "SRCROOT"},
        }
    ]
    assert "uri" not in run["originalUriBaseIds"]["SRCROOT"]


def test_a_folder_in_a_repository_is_placed_in_it() -> None:
    source = SourceInfo(
        root="/srv/demo/gpu", repository_uri="https://example.org/d", path_in_repository="sub dir/gpu"
    )
    run = valid(sarif_log(make_report(source=source), RULES))
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == "sub%20dir/gpu/"
    assert run["originalUriBaseIds"]["SRCROOT"]["uriBaseId"] == "REPOROOT"
    assert run["versionControlProvenance"][0]["mappedTo"] == {"uriBaseId": "REPOROOT"}


def test_a_plain_folder_has_a_root_on_disk_and_no_provenance() -> None:
    run = valid(sarif_log(make_report(), RULES))
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == "file:///srv/demo/"
    assert "versionControlProvenance" not in run


def test_a_comparison_gives_every_result_a_state() -> None:
    new, old, lost = make_result(), make_result(symbol="old"), make_result(symbol="lost", path="gone.rs")
    step = EvidenceStep("effect", "gone.rs", Region(3, 5, 3, 20), "lost", "refused here")
    told = SiteOutcome(Outcome.OPT_IN_FALLBACK, "asks first", (step,), {"hostBody": "errors"})
    comparison = Comparison(
        results=(ComparedResult(new, BaselineState.NEW), ComparedResult(old, BaselineState.UNCHANGED, old)),
        absent=(AbsentResult(lost, told), AbsentResult(lost, None)),
        unseen=(UnseenResult(lost, "gone.rs missing: partial clone"),),
        baseline_guid="11111111-1111-4111-8111-111111111111",
    )
    run = valid(sarif_log(make_report(new, old), RULES, comparison))
    assert [result["baselineState"] for result in run["results"]] == [
        "new",
        "unchanged",
        "absent",
        "absent",
        "unchanged",
    ]
    assert [result["properties"].get("outcome") for result in run["results"]] == [
        None,
        None,
        "opt-in-fallback",
        None,
        None,
    ]
    assert run["results"][2]["properties"]["outcomeEvidence"] == "asks first"
    assert run["results"][2]["properties"]["outcomeDetails"] == {"hostBody": "errors"}
    [shown] = run["results"][2]["relatedLocations"]
    assert shown["physicalLocation"]["region"]["startLine"] == 3
    assert "relatedLocations" not in run["results"][3]
    assert run["results"][4]["properties"]["notSeen"] == "gone.rs missing: partial clone"
    assert run["baselineGuid"] == comparison.baseline_guid


def test_the_lines_of_a_log_are_those_of_the_whole() -> None:
    for report in (make_report(), make_report(make_result(), make_result(symbol="b"))):
        assert "\n".join(sarif_lines(report, RULES)) == json_text(sarif_log(report, RULES))


def test_the_same_scan_gives_the_same_log() -> None:
    report = make_report(make_result())
    slower = make_report(make_result(), duration_seconds=99.0)
    assert sarif_log(report, RULES) == sarif_log(slower, RULES)


@pytest.mark.parametrize("status", [FileStatus.SCANNED, FileStatus.FAILED])
def test_a_run_is_named_by_what_it_saw(status: FileStatus) -> None:
    report = make_report(manifest=(ManifestEntry(FILE, "a" * 40, status),))
    guids = {
        sarif_log(each, RULES)["runs"][0]["automationDetails"]["guid"]
        for each in (report, make_report(manifest=(ManifestEntry(FILE, "f" * 40, status),)), make_report())
    }
    assert len(guids) == 3


def test_a_run_is_named_by_the_policy_it_was_judged_under_too() -> None:
    guids = {
        sarif_log(replace(make_report(), policy_version=version), RULES)["runs"][0]["automationDetails"][
            "guid"
        ]
        for version in ("", CURRENT_VERSION, "1+1", "1+2")
    }
    assert len(guids) == 3, "the one that came with the scanner is the house's"


def test_a_result_of_level_none_is_no_problem_in_the_words_of_the_standard() -> None:
    run = valid(sarif_log(make_report(make_result(), make_result()._replace(level=Level.NONE)), RULES))
    assert [(one["level"], one.get("kind", "fail")) for one in run["results"]] == [
        ("error", "fail"),
        ("none", "informational"),
    ]
