"""Only an outcome that is signed, answers the job and comes under its lease is taken; verdicts are ours."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from audit.models import RowState
from tests.factories import make_repository
from tests.workers.machines import make_job, make_outcome, make_runner, make_test, signed
from workers.errors import OutcomeRefusedError
from workers.models import MachineEvent, Runner, Verification, VerificationJob
from workers.protocol.codec import canonical_bytes
from workers.protocol.outcome import JobState, Verdict
from workers.services import events, jobs
from workers.services.events import REFUSALS_OF_A_JOB
from workers.services.jobs import FunctionProof, jobs_dispatch
from workers.services.outcomes import outcome_accept

pytestmark = pytest.mark.django_db


def nothing(job: VerificationJob, verifications: list[Verification]) -> None:
    """Follow up with nothing."""


def take(runner: Runner, job: VerificationJob, raw: bytes) -> VerificationJob:
    return outcome_accept(runner=runner, job_id=job.pk, raw=raw, after=nothing)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setattr(jobs, "job_send", lambda **_: None)
    return make_runner()


@pytest.fixture
def job(runner: Runner) -> VerificationJob:
    """A job that is leased to the runner."""
    made = make_job(make_repository(), functions={0: [FunctionProof("c::ops::relu", "d" * 64)]})
    assert jobs_dispatch() == 1
    made.refresh_from_db()
    return made


def refusals() -> list[str]:
    return list(MachineEvent.objects.filter(act="outcome refused").values_list("detail", flat=True))


def test_a_signed_outcome_ends_its_job_with_a_verdict_per_test(runner: Runner, job: VerificationJob) -> None:
    taken = take(runner, job, signed(make_outcome(job, "relu_kernel"), runner))
    assert (taken.state, taken.outcome_state, taken.lease_id) == (RowState.SUCCEEDED, "finished", None)
    verification = Verification.objects.get(job=job)
    assert verification.verdict == Verdict.ON_DEVICE and verification.kernels == ["relu_kernel"]
    assert verification.passes_without_gpu is True
    assert [(f.symbol, f.digest) for f in verification.functions.all()] == [("c::ops::relu", "d" * 64)]
    assert taken.gpu_seconds == pytest.approx(1.5)


def test_the_verdict_that_is_stored_is_computed_here_whatever_the_runner_says(
    runner: Runner, job: VerificationJob
) -> None:
    outcome = make_outcome(job)
    test = outcome.tests[0]
    lie = replace(test, judgement=replace(test.judgement, verdict=Verdict.ON_DEVICE))
    take(runner, job, signed(replace(outcome, tests=(lie,)), runner))
    verification = Verification.objects.get(job=job)
    assert (verification.verdict, verification.runner_verdict) == (Verdict.NO_KERNEL, Verdict.ON_DEVICE)


def test_an_unsigned_outcome_is_refused_and_kept_as_refused(runner: Runner, job: VerificationJob) -> None:
    with pytest.raises(OutcomeRefusedError, match="not a signed outcome"):
        take(runner, job, canonical_bytes(make_outcome(job, "relu_kernel")))
    assert len(refusals()) == 1 and not Verification.objects.exists()


def test_an_outcome_changed_after_signing_is_refused(runner: Runner, job: VerificationJob) -> None:
    document = json.loads(signed(make_outcome(job), runner))
    document["outcome"]["reason"] = "all is well"
    with pytest.raises(OutcomeRefusedError, match="signature does not fit"):
        take(runner, job, json.dumps(document).encode())


def test_an_outcome_signed_with_another_runners_key_is_refused(runner: Runner, job: VerificationJob) -> None:
    other = make_runner("rack-2")
    outcome = make_outcome(job, "relu_kernel")
    with pytest.raises(OutcomeRefusedError, match="signature does not fit"):
        take(runner, job, signed(outcome, other))
    with pytest.raises(OutcomeRefusedError, match="leased to another runner"):
        take(other, job, signed(outcome, other))


def test_an_outcome_of_another_job_or_lease_is_refused(runner: Runner, job: VerificationJob) -> None:
    outcome = make_outcome(job, "relu_kernel")
    with pytest.raises(OutcomeRefusedError, match="answers job"):
        take(runner, job, signed(replace(outcome, job_id="999"), runner))
    with pytest.raises(OutcomeRefusedError, match="answers lease"):
        take(runner, job, signed(replace(outcome, lease_id=str(uuid.uuid4())), runner))


def test_an_outcome_that_comes_after_the_job_went_to_another_is_refused(
    runner: Runner, job: VerificationJob
) -> None:
    late = signed(make_outcome(job, "relu_kernel"), runner)
    VerificationJob.objects.filter(pk=job.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    other = make_runner("rack-2")
    assert jobs_dispatch() == 1
    with pytest.raises(OutcomeRefusedError, match="answers lease"):
        take(runner, job, late)
    job.refresh_from_db()
    assert (job.state, job.runner) == (RowState.RUNNING, other)
    take(other, job, signed(make_outcome(job, "relu_kernel"), other))
    assert Verification.objects.filter(job=job).count() == 1


def test_the_same_outcome_a_second_time_changes_nothing(runner: Runner, job: VerificationJob) -> None:
    raw = signed(make_outcome(job, "relu_kernel"), runner)
    take(runner, job, raw)
    with pytest.raises(OutcomeRefusedError):
        take(runner, job, raw)
    assert Verification.objects.filter(job=job).count() == 1


def test_refused_outcomes_are_kept_in_a_number_that_is_bounded(runner: Runner, job: VerificationJob) -> None:
    for _ in range(REFUSALS_OF_A_JOB + 3):
        with pytest.raises(OutcomeRefusedError):
            take(runner, job, b"x" * 10_000)
    assert len(refusals()) == REFUSALS_OF_A_JOB
    assert [text.endswith("is not kept.") for text in refusals()].count(True) == 1
    assert max(map(len, refusals())) < 2_000
    other = make_runner("rack-2")
    with pytest.raises(OutcomeRefusedError):
        take(other, job, b"x")
    assert len(refusals()) == REFUSALS_OF_A_JOB + 1


def test_a_runner_that_answers_job_after_job_wrongly_fills_no_table(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "REFUSALS_OF_A_DAY", 5)
    repository = make_repository()
    for number in range(8):
        waiting = make_job(repository, tests=[make_test(f"test_{number}")])
        with pytest.raises(OutcomeRefusedError):
            take(runner, waiting, b"x")
    assert len(refusals()) == 5


def test_an_outcome_of_other_tests_than_the_jobs_is_refused(runner: Runner, job: VerificationJob) -> None:
    outcome = make_outcome(job, "relu_kernel")
    other = replace(outcome.tests[0], test=make_test("another"))
    with pytest.raises(OutcomeRefusedError, match="not the job's 1"):
        take(runner, job, signed(replace(outcome, tests=(other,)), runner))
    job.refresh_from_db()
    assert job.state == RowState.RUNNING


def test_a_job_that_the_runner_refused_fails_with_the_runners_reason(
    runner: Runner, job: VerificationJob
) -> None:
    outcome = replace(make_outcome(job), state=JobState.REFUSED, reason="wrong checksum", tests=())
    taken = take(runner, job, signed(outcome, runner))
    assert (taken.state, taken.failure_reason) == (RowState.FAILED, "wrong checksum")


def test_text_that_the_database_can_not_hold_is_no_way_to_stop_an_outcome(
    runner: Runner, job: VerificationJob
) -> None:
    outcome = make_outcome(job, "relu_kernel")
    test = outcome.tests[0]
    assert test.evidence.plain is not None
    run = replace(test.evidence.plain.run, stderr="a\0b")
    evidence = replace(test.evidence, plain=replace(test.evidence.plain, run=run))
    take(runner, job, signed(replace(outcome, tests=(replace(test, evidence=evidence),)), runner))
    stored = Verification.objects.get(job=job).evidence
    assert stored["plain"]["run"]["stderr"] == "a\N{REPLACEMENT CHARACTER}b"
