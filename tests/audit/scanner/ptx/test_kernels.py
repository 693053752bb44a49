"""Without an assembler, or for a target that it does not know, the rule has not run."""

from __future__ import annotations

from dataclasses import replace

from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.ptx.assembler import Assembler, find_assembler
from audit.scanner.report import RuleStatus, ScanReport
from audit.scanner.source.memory import MemorySource

MANIFEST = b'[package]\nname = "ferrotorch-gpu"\n[features]\ndefault = ["cuda"]\ncuda = []\n'
SOURCE = b"""
const SUM_PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry sum() { rte; }
";

pub fn gpu_sum(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    match get_or_compile(d.context(), SUM_PTX, "sum") {
        Ok(f) => run(&f, a, d),
        Err(_) => {
            let host = gpu_to_cpu(a, d)?;
            cpu_to_gpu(&host, d)
        }
    }
}
"""


def _scan(assembler: Assembler | None, *targets: str) -> ScanReport:
    profile = replace(load_profile(), ptx_targets=targets)
    files = {"Cargo.toml": MANIFEST, "src/lib.rs": SOURCE}
    return scan(MemorySource(files), profile=profile, rules=RULES, assembler=assembler)


def _run_of(report: ScanReport) -> tuple[RuleStatus, str]:
    return next((run.status, run.reason) for run in report.rule_runs if run.rule_id == "FT017")


def test_without_an_assembler_the_rule_is_not_run_and_names_what_is_missing() -> None:
    report = _scan(None, "sm_80")
    status, reason = _run_of(report)
    assert status is RuleStatus.NOT_RUN
    assert "ptxas" in reason
    assert report.ptxas_version == ""
    assert "FT017" not in {result.rule_id for result in report.results}


def test_an_unknown_target_makes_the_rule_not_run_though_the_known_one_is_judged() -> None:
    report = _scan(find_assembler(), "sm_20", "sm_80")
    status, reason = _run_of(report)
    assert status is RuleStatus.NOT_RUN
    assert "sm_20" in reason
    assert [result.properties["targets"] for result in report.results if result.rule_id == "FT017"] == [
        "sm_80"
    ]


def test_a_profile_without_targets_makes_the_rule_not_run() -> None:
    assert _run_of(_scan(find_assembler()))[0] is RuleStatus.NOT_RUN


def test_a_fallback_whose_kernel_is_rejected_says_that_it_may_be_the_only_path() -> None:
    report = _scan(find_assembler(), "sm_80")
    fallback = next(result for result in report.results if result.rule_id == "FT001")
    assert fallback.properties["rejectedKernel"] == "SUM_PTX"
    assert fallback.message.endswith("this path may be the only one")
    assert report.ptxas_version in fallback.message
