"""Replays what a real GPU showed: the verdict code gives what the sample's tests must get."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.runner.gpuproof import Expected, sample
from workers.protocol.codec import canonical_bytes, from_bytes
from workers.protocol.evidence import EventKind
from workers.protocol.outcome import Outcome, TestOutcome, Verdict
from workers.runner.verdict import judge

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))


def read(path: Path) -> Outcome:
    return from_bytes(Outcome, path.read_bytes())


def outcome_of(name: str, outcome: Outcome) -> TestOutcome:
    return next(test for test in outcome.tests if test.test.name == name)


@pytest.fixture(params=RECORDED, ids=lambda path: path.stem)
def recorded(request: pytest.FixtureRequest) -> Outcome:
    """One run of the sample on a real machine."""
    return read(request.param)


def test_there_is_a_recorded_run() -> None:
    assert RECORDED


def test_a_recorded_run_names_machine_driver_and_date(recorded: Outcome) -> None:
    assert recorded.probe is not None
    system, device = recorded.probe.reading("nvml"), recorded.probe.reading("nvml.device.0")
    assert system is not None and system.values["driver"]
    assert device is not None and device.values["name"]
    assert recorded.started_at.startswith("20")


def test_every_test_of_the_sample_was_run(recorded: Outcome) -> None:
    assert [test.test for test in recorded.tests] == [expected.test for expected in sample().tests]


@pytest.mark.parametrize("expected", sample().tests, ids=lambda expected: expected.test.name)
def test_recorded_evidence_gives_the_verdict_that_the_test_must_get(
    recorded: Outcome, expected: Expected
) -> None:
    found = outcome_of(expected.test.name, recorded)
    canary = recorded.canaries[found.canary] if found.canary is not None else None
    again = judge(expected.test, found.evidence, canary, sample().families)
    assert (again.verdict, again.passes_without_gpu, again.compared_values) == (
        expected.verdict,
        expected.passes_without_gpu,
        expected.compared_values,
    )
    assert again == found.judgement


def test_the_recorded_run_shows_every_verdict(recorded: Outcome) -> None:
    assert {test.judgement.verdict for test in recorded.tests} == set(Verdict)


def test_a_test_killed_after_100_launches_left_100_launches(recorded: Outcome) -> None:
    plain = outcome_of("is_killed_after_100_launches", recorded).evidence.plain
    assert plain is not None
    (trace,) = plain.traces
    launches = [event for event in trace.events if event.kind is EventKind.LAUNCH]
    assert (trace.is_complete, trace.launches) == (False, 100)
    assert sum(event.count for event in launches) == 100


def test_the_gemm_was_called_by_cublas(recorded: Outcome) -> None:
    plain = outcome_of("matmul_runs_through_cublas", recorded).evidence.plain
    assert plain is not None
    callers = {e.caller for t in plain.traces for e in t.events if e.kind is EventKind.LAUNCH}
    assert callers and all(caller.startswith("libcublas") for caller in callers)


def test_without_the_canary_the_same_evidence_proves_and_accuses_nothing(recorded: Outcome) -> None:
    for found in recorded.tests:
        verdict = judge(found.test, found.evidence, None, sample().families).verdict
        assert verdict not in (Verdict.ON_DEVICE, Verdict.REFUSED, Verdict.COMPOSITE, Verdict.NO_KERNEL)


def test_a_recorded_outcome_survives_its_own_json(recorded: Outcome) -> None:
    assert from_bytes(Outcome, canonical_bytes(recorded)) == recorded
