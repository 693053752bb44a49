"""A tree of which nothing has changed is not judged again; whatever a report depends on is in its key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from audit.rules import RULES
from audit.rules.base import Rule
from audit.scanner import kept, pipeline
from audit.scanner.judge import Candidate, Judgement, judge
from audit.scanner.kept import KeptReports, report_key
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import EarlierResult, RuleRun, RuleStatus, ScanReport, SourceInfo
from audit.scanner.source.memory import MemorySource

SOURCE = b"""
// ferroaudit: allow(deferred-kernel) nobody asks for it yet
pub fn gpu_mode() { todo!() }

pub fn gpu_relu(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    match get_or_compile(d.context(), RELU_PTX, "relu") {
        Ok(kernel) => launch(&kernel, x, d),
        Err(_) => {
            let host = gpu_to_cpu(x, d)?;
            cpu_to_gpu(&host.iter().map(|v| v.max(0.0)).collect::<Vec<f32>>(), d)
        }
    }
}
"""
FILES = {
    "Cargo.toml": b'[package]\nname = "ferrotorch-gpu"\n',
    "src/lib.rs": SOURCE,
    "src/half.rs": b"fn whole() {}\nfn half(\n",
    "src/nul.rs": b"\0",
}


class Judged:
    """Counts how often rules are run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0

        def counting(
            judgement: Judgement, rules: Sequence[Rule], seen: Sequence[Sequence[Candidate]]
        ) -> object:
            self.times += 1
            return judge(judgement, rules, seen)

        monkeypatch.setattr(pipeline, "judge", counting)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Judged:
    return Judged(monkeypatch)


@pytest.fixture
def reports(tmp_path: Path) -> KeptReports:
    return KeptReports(tmp_path / "reports")


def scanned(reports: KeptReports | None, files: dict[str, bytes] = FILES, left_out: int = 0) -> ScanReport:
    rules = RULES[left_out:]
    return scan(MemorySource(files), profile=load_profile(), rules=rules, reports=reports)


def test_the_same_tree_is_judged_once_and_reported_the_same(judged: Judged, reports: KeptReports) -> None:
    first, second = scanned(reports), scanned(reports)
    assert judged.times == 1
    assert {result.suppressions != () for result in first.results} == {True, False}
    assert replace(second, duration_seconds=0.0) == replace(first, duration_seconds=0.0)
    assert replace(second, duration_seconds=0.0) == replace(scanned(None), duration_seconds=0.0)


@pytest.mark.parametrize(
    "files",
    [
        {**FILES, "src/lib.rs": SOURCE + b"\n"},
        {**FILES, "src/new.rs": b""},
        {**FILES, "README.md": b"Falls back to the CPU on error."},
        {path: data for path, data in FILES.items() if path != "src/half.rs"},
        {**{path: data for path, data in FILES.items() if path != "src/lib.rs"}, "src/main.rs": SOURCE},
    ],
    ids=["changed", "added", "a document", "removed", "moved"],
)
def test_another_tree_is_judged_anew(judged: Judged, reports: KeptReports, files: dict[str, bytes]) -> None:
    scanned(reports)
    assert scanned(reports, files).manifest == scanned(None, files).manifest
    assert judged.times == 3


def test_other_rules_judge_anew(judged: Judged, reports: KeptReports) -> None:
    scanned(reports)
    scanned(reports, left_out=1)
    assert judged.times == 2


def test_another_scanner_judges_anew(
    judged: Judged, reports: KeptReports, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanned(reports)
    monkeypatch.setattr(kept, "code_digest", lambda: "another")
    scanned(reports)
    assert judged.times == 2


def test_the_scanner_is_named_by_all_of_its_code(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "rule.py").write_bytes(b"one")
    (tmp_path / "facts.scm").write_bytes(b"two")
    (tmp_path / "notes.txt").write_bytes(b"three")
    found = dict(kept._code_of(str(tmp_path), "audit"))
    assert found == {"audit/part/rule.py": b"one", "audit/facts.scm": b"two"}


def test_profile_and_reasons_not_to_read_are_in_the_key() -> None:
    profile = load_profile()
    keys = [
        report_key([("a.rs", "1")], profile, RULES, ""),
        report_key([("a.rs", "2")], profile, RULES, ""),
        report_key([("a.rs", "1", "0", "symlink", "False")], profile, RULES, ""),
        report_key([("a.rs", "1")], load_profile("candle"), RULES, ""),
        report_key([("a.rs", "1"), ("b.rs", "1")], profile, RULES, ""),
    ]
    assert len(set(keys)) == len(keys)


def test_a_damaged_report_counts_as_absent(judged: Judged, reports: KeptReports, tmp_path: Path) -> None:
    scanned(reports)
    (path,) = (tmp_path / "reports").iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    scanned(reports)
    assert judged.times == 2


def test_who_asks_for_earlier_results_or_the_workspace_gets_a_scan(
    judged: Judged, reports: KeptReports
) -> None:
    scanned(reports)
    profile = load_profile()
    earlier = [EarlierResult(1, "FT001", "gone", "src/gone.rs", "", {"item/v1": "0"})]
    scan(MemorySource(FILES), profile=profile, rules=RULES, reports=reports, earlier=earlier)
    seen: list[object] = []
    scan(MemorySource(FILES), profile=profile, rules=RULES, reports=reports, observe=seen.append)
    assert judged.times == 3
    assert len(seen) == 1


def test_a_report_is_not_kept_when_the_assembler_may_do_better(reports: KeptReports) -> None:
    report = replace(scanned(None), ptxas_version="12.9.86")
    assert RuleRun("FT017", RuleStatus.NOT_RUN) in [run._replace(reason="") for run in report.rule_runs]
    reports.put("key", report)
    assert reports.get("key", SourceInfo("")) is None


def test_a_report_is_not_kept_when_a_rule_failed(reports: KeptReports) -> None:
    report = scanned(None)
    failed = RuleRun("FT001", RuleStatus.FAILED, "MemoryError")
    reports.put("key", replace(report, rule_runs=(failed, *report.rule_runs[1:])))
    assert reports.get("key", SourceInfo("")) is None


def test_only_the_last_reports_are_kept(
    reports: KeptReports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_MOST", 2)
    report = scanned(None)
    for key in ("one", "two", "three"):
        reports.put(key, report)
    assert len(list((tmp_path / "reports").iterdir())) == 2
    assert reports.get("three", SourceInfo("")) is not None
