"""Comparing a scan with its baseline."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.scanner.baseline import Baseline, Comparison, compare, earlier_results, read_baseline
from audit.scanner.errors import ScanError
from audit.scanner.output.sarif import sarif_log
from audit.scanner.report import (
    BaselineState,
    FileStatus,
    Level,
    ManifestEntry,
    Outcome,
    Region,
    Result,
    RuleRun,
    RuleStatus,
    ScanReport,
    SiteOutcome,
)
from tests.audit.scanner.report_fixture import FILE, RULES, make_report, make_result, make_suppression

OTHER = "gpu/src/lib.rs"
LONG = "match launch(a, b, c) { Ok(x) => x, Err(_) => { let host = a.to_host(); compute(host, b, c) } }"


def baseline_of(*results: Result, paths: tuple[str, ...] = (FILE, OTHER)) -> Baseline:
    return Baseline(results, frozenset(paths), "11111111-1111-4111-8111-111111111111")


def states(now: list[Result], then: list[Result]) -> list[str]:
    comparison = compare(make_report(*now), baseline_of(*then))
    return [compared.state.value for compared in comparison.results]


def moved(result: Result, **changes: Any) -> Result:
    """Return the result with another fingerprint, and further changes."""
    return result._replace(**{"partial_fingerprints": {"site/v1": "other"}, **changes})


def test_a_result_that_only_moved_down_is_unchanged() -> None:
    assert states([make_result(region=Region(60, 9, 62, 10), message="reworded")], [make_result()]) == [
        "unchanged"
    ]


def test_a_result_that_nothing_matches_is_new() -> None:
    other = moved(make_result(), symbol="gpu::kernels::gpu_mul", path=OTHER)
    assert states([make_result(), other], [make_result()]) == ["unchanged", "new"]


@pytest.mark.parametrize(
    "change",
    [{"level": Level.NOTE}, {"path": OTHER}, {"suppressions": (make_suppression(),)}],
    ids=["level", "path", "suppression"],
)
def test_a_result_that_stands_otherwise_is_updated(change: dict[str, Any]) -> None:
    assert states([make_result(**change)], [make_result()]) == ["updated"]


def test_one_fingerprint_version_in_common_is_enough() -> None:
    both = make_result(partial_fingerprints={"site/v1": "a1b2c3", "site/v2": "ffff"})
    assert states([both], [make_result()]) == ["unchanged"]
    assert states([make_result(partial_fingerprints={"site/v2": "ffff"})], [both]) == ["unchanged"]


def test_a_looser_fingerprint_in_common_means_an_edited_anchor() -> None:
    then = make_result(partial_fingerprints={"site/v1": "a", "item/v1": "b"})
    assert states([make_result(partial_fingerprints={"site/v1": "c", "item/v1": "b"})], [then]) == ["updated"]


def test_an_edited_anchor_in_the_same_item_is_updated() -> None:
    assert states([moved(make_result(), snippet="Err(e) => cpu_sub(a)")], [make_result()]) == ["updated"]


def test_an_item_in_a_renamed_file_is_updated() -> None:
    renamed = moved(make_result(), path=OTHER, symbol="gpu::ops::gpu_add")
    assert states([renamed], [make_result()]) == ["updated"]


def test_the_same_long_code_under_another_name_is_updated() -> None:
    then = make_result(snippet=LONG)
    now = moved(then, symbol="gpu::kernels::gpu_add_f32", snippet=LONG.replace("launch", "try_launch"))
    assert states([now], [then]) == ["updated"]


def test_the_same_short_code_in_another_function_is_new() -> None:
    then = make_result(snippet="Err(_) => cpu_add(a)")
    now = moved(then, symbol="gpu::kernels::gpu_mul")
    comparison = compare(make_report(now), baseline_of(then))
    assert [compared.state for compared in comparison.results] == [BaselineState.NEW]
    assert [gone.result for gone in comparison.absent] == [then]


def test_another_cause_at_the_same_place_is_new() -> None:
    assert states([make_result(rule_id="FT012")], [make_result()]) == ["new"]


def test_a_fallback_that_another_rule_of_its_family_sees_now_is_updated() -> None:
    comparison = compare(make_report(make_result(rule_id="FT008")), baseline_of(make_result()))
    assert [compared.state for compared in comparison.results] == [BaselineState.UPDATED]
    assert comparison.absent == ()


def test_results_are_matched_one_to_one_and_the_nearest_first() -> None:
    def at(line: int) -> Result:
        return moved(
            make_result(), region=Region(line, 1, line, 9), partial_fingerprints={"site/v1": str(line)}
        )

    comparison = compare(make_report(at(11), at(41)), baseline_of(at(10), at(40), at(70)))
    earlier = [compared.earlier.region.start_line for compared in comparison.results if compared.earlier]
    assert earlier == [10, 40]
    assert [gone.result.region.start_line for gone in comparison.absent] == [70]


def gone_with(report: ScanReport) -> Comparison:
    """Compare a scan that found nothing with a baseline that held one result."""
    return compare(report, baseline_of(make_result()))


def test_a_result_is_absent_when_its_file_was_scanned_without_it() -> None:
    [absent] = gone_with(make_report()).absent
    assert (absent.result, absent.outcome) == (make_result(), None)


def test_an_absent_result_has_the_outcome_that_the_scan_found() -> None:
    outcome = SiteOutcome(Outcome.DEVICE_KERNEL, "runs on the device")
    report = replace(make_report(), outcomes={0: outcome})
    assert [absent.outcome for absent in gone_with(report).absent] == [outcome]


def test_a_baseline_asks_for_its_results_by_their_place() -> None:
    asked = earlier_results(baseline_of(make_result(), make_result(symbol="b")))
    assert [(one.key, one.symbol) for one in asked] == [(0, make_result().symbol), (1, "b")]


@pytest.mark.parametrize(
    "status", [FileStatus.FAILED, FileStatus.MISSING, FileStatus.PARTIAL, FileStatus.SKIPPED]
)
def test_a_result_in_a_file_that_was_not_scanned_whole_is_unseen_and_not_absent(status: FileStatus) -> None:
    report = make_report(
        manifest=(ManifestEntry(FILE, "", status, "why"), ManifestEntry(OTHER, "c" * 40, FileStatus.SCANNED))
    )
    comparison = gone_with(report)
    assert comparison.absent == ()
    assert [unseen.reason for unseen in comparison.unseen] == [f"{FILE} {status.value}: why"]


def test_a_result_below_a_folder_that_was_not_entered_is_unseen() -> None:
    report = make_report(
        manifest=(
            ManifestEntry("gpu", "", FileStatus.SKIPPED, "permission denied"),
            ManifestEntry("src/lib.rs", "c" * 40, FileStatus.SCANNED),
        )
    )
    comparison = compare(report, baseline_of(make_result(), paths=("src/lib.rs", FILE)))
    assert [unseen.reason for unseen in comparison.unseen] == ["gpu skipped: permission denied"]


@pytest.mark.parametrize("status", [RuleStatus.NOT_RUN, RuleStatus.FAILED])
def test_a_result_of_a_rule_that_did_not_run_is_unseen(status: RuleStatus) -> None:
    report = make_report(rule_runs=(RuleRun("FT001", status, "left out by --rules"),))
    assert [unseen.reason for unseen in gone_with(report).unseen] == [
        "the rule did not run: left out by --rules"
    ]


def test_a_baseline_of_another_folder_is_refused() -> None:
    with pytest.raises(ScanError, match="made of another folder"):
        compare(make_report(), baseline_of(make_result(path="x/y.rs"), paths=("x/y.rs",)))


def test_a_baseline_is_read_from_the_sarif_of_an_earlier_scan(tmp_path: Path) -> None:
    log = sarif_log(make_report(make_result(), make_result(symbol="b")), RULES)
    log["runs"][0]["results"][1]["baselineState"] = "absent"
    path = tmp_path / "base.sarif"
    path.write_text(json.dumps(log))
    baseline = read_baseline(path)
    assert baseline.results == (make_result(),)
    assert baseline.paths == {FILE, OTHER, "gpu/Cargo.toml"}
    assert baseline.guid == log["runs"][0]["automationDetails"]["guid"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is no JSON"),
        ("[]", "is no SARIF"),
        ('{"version": "2.0.0", "runs": []}', "version '2.0.0'"),
        ('{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "other"}}}]}', "0 runs of ferroaudit"),
        (
            '{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "ferroaudit"}}, "results": [{}]}]}',
            "is no SARIF",
        ),
    ],
)
def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    (tmp_path / "base.sarif").write_text(content)
    with pytest.raises(ScanError, match=complaint):
        read_baseline(tmp_path / "base.sarif")


@pytest.mark.parametrize(
    "change",
    [{"ruleId": ["FT001"]}, {"message": {"text": 5}}, {"partialFingerprints": {"site/v1": ["a"]}}],
)
def test_a_baseline_with_something_else_where_a_text_belongs_is_refused(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    log = sarif_log(make_report(make_result()), RULES)
    log["runs"][0]["results"][0] |= change
    (tmp_path / "base.sarif").write_text(json.dumps(log))
    with pytest.raises(ScanError, match="a text is expected"):
        read_baseline(tmp_path / "base.sarif")


def test_a_baseline_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScanError, match="no such file"):
        read_baseline(tmp_path / "base.sarif")
