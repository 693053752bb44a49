"""A tree that no profile fits: what could not be looked for is not run or narrowed, never clean."""

from __future__ import annotations

from dataclasses import replace

from audit.rules import RULES
from audit.scanner.output.sarif import RULE_NARROWED, RULE_NOT_RUN, sarif_log
from audit.scanner.output.style import Style
from audit.scanner.output.summary import summary
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import RuleStatus, ScanReport, SourceInfo
from audit.scanner.source.memory import MemorySource

FOLLOWING = {rule.id for rule in RULES if rule.follows_device_data}
OWN_WORDS = """
pub fn on_the_card(x: &Cells) -> Cells {
    fetch_cells(x)
}
"""
LIBRARY_WORDS = """
pub fn total(x: &CudaSlice<f32>, s: &Stream) -> f32 {
    s.launch_builder(&kernel()).arg(x).launch(shape()).unwrap();
    s.clone_dtoh(x).unwrap().iter().sum()
}
"""


def _scan(text: str, profile: str = "generic") -> ScanReport:
    files = {"Cargo.toml": b'[package]\nname = "mine"\n', "src/lib.rs": text.encode()}
    return scan(MemorySource(files), profile=load_profile(profile), rules=RULES)


def _said(report: ScanReport) -> str:
    return "\n".join(summary(report, RULES, None, Style()))


def test_rules_that_follow_device_data_are_not_run_where_no_call_is_known() -> None:
    runs = {run.rule_id: run for run in _scan(OWN_WORDS).rule_runs}
    for rule_id in FOLLOWING:
        assert runs[rule_id].status is RuleStatus.NOT_RUN
        assert "no profile fits" in runs[rule_id].reason


def test_rules_that_follow_device_data_run_narrowed_where_a_library_s_calls_are_known() -> None:
    report = _scan(LIBRARY_WORDS)
    runs = {run.rule_id: run for run in report.rule_runs}
    assert {run.status for run in report.rule_runs if run.rule_id in FOLLOWING} == {RuleStatus.RAN}
    assert all("no profile fits" in runs[rule_id].reason for rule_id in FOLLOWING)
    assert {
        run.rule_id for run in report.rule_runs if run.status is RuleStatus.RAN and run.reason
    } == FOLLOWING


def test_no_rule_is_narrowed_under_a_profile_that_fits() -> None:
    runs = _scan(LIBRARY_WORDS, "cudarc").rule_runs
    assert [run for run in runs if run.status is RuleStatus.RAN and run.reason] == []


def test_the_dispatch_crate_is_not_looked_at_where_a_profile_names_none() -> None:
    (run,) = [run for run in _scan(LIBRARY_WORDS).rule_runs if run.rule_id == "FT015"]
    assert run.status is RuleStatus.NOT_RUN
    assert "gpu.core_crates" in run.reason


def test_the_summary_says_that_no_profile_fits_and_how_to_write_one() -> None:
    said = _said(_scan(LIBRARY_WORDS))
    assert f"Narrowed: {len(FOLLOWING)} rules, whose silence tells little" in said
    assert "No profile fits this project" in said
    assert "docs/write-a-profile.md" in said
    assert "No profile fits this project" not in _said(_scan(LIBRARY_WORDS, "cudarc"))


def test_no_results_of_narrowed_rules_are_not_shown_as_clean() -> None:
    text = "pub fn run(s: &Stream) {\n    s.launch_builder(&kernel()).launch(shape()).unwrap();\n}\n"
    report = _scan(text)
    assert report.results == ()
    assert f"{len(FOLLOWING)} of them narrowed (below)" in _said(report)
    assert "narrowed" not in _said(_scan(text, "cudarc"))


def test_the_log_tells_a_narrowed_rule_from_one_that_did_not_run() -> None:
    report = _scan(LIBRARY_WORDS)
    (run,) = sarif_log(replace(report, source=SourceInfo(root="/mine")), RULES)["runs"]
    told = run["invocations"][0]["toolExecutionNotifications"]
    by_id = {(one["descriptor"]["id"], one["associatedRule"]["id"]): one for one in told}
    assert by_id[RULE_NARROWED, "FT005"]["level"] == "note"
    assert by_id[RULE_NOT_RUN, "FT015"]["level"] == "warning"
