"""The server judges again, by its own job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.workers.runner.evidence import CANARY, launch, traced, upload
from workers.protocol.evidence import TestEvidence
from workers.protocol.job import BundleRef, Expect, Expectation, JobKind, JobSpec, TestSpec
from workers.protocol.outcome import JobState, Judgement, Outcome, TestOutcome, Verdict
from workers.runner.recompute import MismatchError, recompute

TEST = TestSpec("proof", "t", Expectation(Expect.ON_DEVICE, kernels=("add_one",)))
JOB = JobSpec(
    "job-1",
    "lease-1",
    JobKind.VERIFY,
    commit="a" * 40,
    crate="c",
    bundle=BundleRef("0" * 64),
    tests=(TEST,),
)
CLAIMED = Judgement(Verdict.ON_DEVICE, "says the runner")


def outcome(*tests: TestOutcome) -> Outcome:
    return Outcome("job-1", "lease-1", JobState.FINISHED, "", "", "", "1", canaries=(CANARY,), tests=tests)


def answer(*events: object, test: TestSpec = TEST, canary: int | None = 0) -> TestOutcome:
    return TestOutcome(test, TestEvidence(plain=traced(*events)), CLAIMED, canary)  # type: ignore[arg-type]


def test_the_verdict_comes_from_the_evidence_and_not_from_the_claim() -> None:
    (proved,) = recompute(JOB, outcome(answer(upload(8), launch("add_one"))))
    assert proved.verdict is Verdict.ON_DEVICE and proved.reason != CLAIMED.reason
    (idle,) = recompute(JOB, outcome(answer()))
    assert idle.verdict is Verdict.NO_KERNEL


def test_an_outcome_without_tests_has_no_verdicts() -> None:
    assert recompute(JOB, outcome()) == ()


def test_a_weaker_expectation_than_the_jobs_is_refused() -> None:
    weaker = replace(TEST, expectation=Expectation(Expect.COMPOSITE))
    with pytest.raises(MismatchError, match="not the job's"):
        recompute(JOB, outcome(answer(launch("other"), test=weaker)))


@pytest.mark.parametrize("canary", [1, -1])
def test_a_canary_that_did_not_run_is_refused(canary: int) -> None:
    with pytest.raises(MismatchError, match="did not run"):
        recompute(JOB, outcome(answer(launch("add_one"), canary=canary)))


def test_without_a_canary_nothing_is_proved() -> None:
    (found,) = recompute(JOB, outcome(answer(launch("add_one"), canary=None)))
    assert found.verdict is Verdict.INCONCLUSIVE


def test_another_lease_is_refused() -> None:
    with pytest.raises(MismatchError, match="under lease"):
        recompute(replace(JOB, lease_id="lease-2"), outcome())
