"""Without an assembler, or for a target that it does not know, the rule has not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.ptx.assembler import Assembler, find_assembler
from audit.scanner.ptx.driver import (
    DriverAnswer,
    DriverAnswers,
    digest_of,
    first_error,
    judged_by,
    parts_of,
)
from audit.scanner.report import EarlierResult, RuleStatus, ScanReport
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


# -- what a driver answered outranks the assembler -----------------------------------------------------------


def _answered(*, is_loaded: bool, device: str = "NVIDIA H100") -> DriverAnswers:
    """Answers of one device to the one text of the source."""
    found: list[str] = []
    files = {"Cargo.toml": MANIFEST, "src/lib.rs": SOURCE}
    scan(
        MemorySource(files),
        profile=load_profile(),
        rules=(),
        observe=lambda judgement: found.extend(text.text for text in judgement.kernels.texts),
    )
    (text,) = found
    error = ("", "") if is_loaded else ("CUDA_ERROR_INVALID_PTX", "line 5: Duplicate definition of '%tid'")
    return DriverAnswers([DriverAnswer(digest_of(text), is_loaded, device, "13.0", *error)], label="7")


def _heard(
    assembler: Assembler | None, driver: DriverAnswers, earlier: Sequence[EarlierResult] = ()
) -> ScanReport:
    profile = replace(load_profile(), ptx_targets=("sm_80",))
    files = {"Cargo.toml": MANIFEST, "src/lib.rs": SOURCE}
    return scan(
        MemorySource(files), profile=profile, rules=RULES, assembler=assembler, driver=driver, earlier=earlier
    )


def test_a_text_that_a_driver_loads_is_no_result_whatever_the_assembler_says() -> None:
    before = [one for one in _scan(find_assembler(), "sm_80").results if one.rule_id == "FT017"]
    report = _heard(
        find_assembler(),
        _answered(is_loaded=True),
        earlier=[
            EarlierResult(0, one.rule_id, one.symbol, one.path, one.form, one.partial_fingerprints)
            for one in before
        ],
    )
    assert len(before) == 1
    assert "FT017" not in {result.rule_id for result in report.results}
    assert not any("rejectedKernel" in result.properties for result in report.results)
    assert "the driver loads `SUM_PTX` (NVIDIA H100" in report.outcomes[0].text


def test_a_text_that_a_driver_refuses_is_a_result_without_any_assembler() -> None:
    report = _heard(None, _answered(is_loaded=False))
    (result,) = (one for one in report.results if one.rule_id == "FT017")
    assert _run_of(report)[0] is RuleStatus.RAN
    assert "CUDA_ERROR_INVALID_PTX: line 5: Duplicate" in result.message
    assert "always taken" in result.message
    assert result.properties["device"] == "NVIDIA H100" and "targets" not in result.properties


def test_only_a_drivers_refusal_says_that_the_fallback_is_always_taken() -> None:
    fallback = next(
        one for one in _heard(find_assembler(), _answered(is_loaded=False)).results if one.rule_id == "FT001"
    )
    assert fallback.message.endswith("driver for CUDA 13.0): this path is always taken")


def test_the_same_place_is_the_same_site_whoever_judges_it() -> None:
    by_assembler, by_driver = (
        next(one for one in report.results if one.rule_id == "FT017").partial_fingerprints
        for report in (_scan(find_assembler(), "sm_80"), _heard(None, _answered(is_loaded=False)))
    )
    assert by_assembler == by_driver


def test_who_was_heard_is_part_of_the_judges_name() -> None:
    report = _heard(find_assembler(), _answered(is_loaded=True))
    assembler = find_assembler()
    assert assembler is not None
    assert parts_of(report.ptxas_version) == (assembler.version, "7")
    assert parts_of(judged_by("", "7")) == ("", "7") and parts_of("12.9.86") == ("12.9.86", "")


def test_one_device_that_refuses_a_text_is_enough() -> None:
    text = "text"
    answers = [
        DriverAnswer(digest_of(text), is_loaded, device, "13.0")
        for device, is_loaded in (("A", True), ("B", False), ("A", True))
    ]
    answer = DriverAnswers(answers).to(text)
    assert answer is not None and (answer.device, answer.is_loaded) == ("B", False)
    newer = DriverAnswers([*answers, DriverAnswer(digest_of(text), True, "B", "13.1")]).to(text)
    assert newer is not None and newer.is_loaded
    assert DriverAnswers(answers).to("another") is None


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            "ptxas application ptx input, line 7; error   : Unknown symbol 'x'\nptxas fatal   : aborted",
            "line 7: Unknown symbol 'x'",
        ),
        ("ptxas fatal   : Unexpected non-ASCII character", "Unexpected non-ASCII character"),
        ("info    : 0 bytes gmem", ""),
        ("", ""),
    ],
)
def test_the_first_error_of_a_drivers_log_is_found(log: str, said: str) -> None:
    assert first_error(log) == said
