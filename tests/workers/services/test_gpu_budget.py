"""Tests are on GPUs for as long as they may be, and what is left over is not lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.utils import timezone

from audit.models import RowState
from tests.factories import make_repository, make_user
from tests.workers.machines import make_job, make_outcome, make_runner, make_test, signed
from workers.errors import OutcomeRefusedError
from workers.models import MachineEvent, Verification, VerificationJob, VerifiedFunction
from workers.protocol.outcome import JobState, Outcome
from workers.services import jobs
from workers.services.gpu_budget import gpu_seconds_taken, why_it_waits
from workers.services.jobs import FunctionProof, job_approve, jobs_dispatch, leased_spec
from workers.services.outcomes import outcome_accept

pytestmark = pytest.mark.django_db
OTHER_COMMIT = "b" * 40


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was put into runners' queues."""
    taken: list[str] = []
    monkeypatch.setattr(jobs, "job_send", lambda *, runner, document: taken.append(document))
    return taken


def spend(job: VerificationJob, seconds: float, hours_ago: int = 0) -> None:
    """Let a job have ended, after its tests were on a device for so long."""
    VerificationJob.objects.filter(pk=job.pk).update(
        state=RowState.SUCCEEDED,
        finished_at=timezone.now() - timedelta(hours=hours_ago),
        gpu_seconds=seconds,
    )


def cut(job: VerificationJob, done: int) -> Outcome:
    """Make the outcome of a job that was cut short after some tests."""
    whole = make_outcome(job, "relu_kernel")
    return replace(whole, state=JobState.CUT_SHORT, reason="over", tests=whole.tests[:done])


def test_a_job_is_told_how_much_of_the_day_is_left(settings: LazySettings, sent: list[str]) -> None:
    settings.GPU_MINUTES_PER_DAY = 10
    make_runner()
    repository = make_repository()
    spend(make_job(repository, tests=[make_test("earlier")]), 420)
    job = make_job(repository)
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    assert job.gpu_granted_s == pytest.approx(180)
    assert '"gpu_s":180.0' in sent[0]


def test_without_a_budget_a_job_has_no_limit(sent: list[str]) -> None:
    make_runner()
    make_job(make_repository())
    jobs_dispatch()
    assert '"gpu_s":null' in sent[0]


def test_what_a_running_job_may_take_is_not_given_to_another(settings: LazySettings) -> None:
    settings.GPU_MINUTES_PER_DAY = 10
    repository = make_repository()
    make_runner("rack-1")
    first = make_job(repository, tests=[make_test("first")])
    second = make_job(repository, tests=[make_test("second")])
    assert jobs_dispatch() == 1
    make_runner("rack-2")
    assert jobs_dispatch() == 0
    first.refresh_from_db()
    assert first.gpu_granted_s == pytest.approx(600) and gpu_seconds_taken() == pytest.approx(600)
    assert why_it_waits(job=second) == "The 10 GPU minutes of 24 hours are taken."


def test_runners_that_are_free_share_what_is_left(settings: LazySettings) -> None:
    settings.GPU_MINUTES_PER_DAY = 10
    repository = make_repository()
    make_runner("rack-1")
    make_runner("rack-2")
    for name in ("first", "second"):
        make_job(repository, tests=[make_test(name)])
    assert jobs_dispatch() == 2
    granted = VerificationJob.objects.values_list("gpu_granted_s", flat=True)
    assert list(granted) == pytest.approx([300, 300])


def test_the_tests_of_one_scans_commit_leave_minutes_to_others(settings: LazySettings) -> None:
    settings.GPU_MINUTES_PER_SCAN = 1
    make_runner()
    repository = make_repository()
    earlier = make_job(repository, tests=[make_test("earlier")])
    spend(earlier, 61)
    waits = make_job(repository)
    other = make_job(repository, object_id=OTHER_COMMIT)
    assert jobs_dispatch() == 1
    waits.refresh_from_db()
    other.refresh_from_db()
    assert (waits.state, other.state) == (RowState.PENDING, RowState.RUNNING)
    assert other.gpu_granted_s == pytest.approx(60)
    assert "one scan may have in 24 hours" in why_it_waits(job=waits)
    spend(earlier, 61, hours_ago=25)
    spend(other, 1)
    assert why_it_waits(job=waits) == "" and jobs_dispatch() == 1


def test_many_jobs_of_a_commit_that_had_its_minutes_hide_no_other(settings: LazySettings) -> None:
    settings.GPU_MINUTES_PER_SCAN = 1
    make_runner()
    repository = make_repository()
    spend(make_job(repository, tests=[make_test("earlier")]), 61)
    for number in range(jobs.DISPATCH_AT_MOST + 1):
        make_job(repository, tests=[make_test(f"test_{number}")])
    make_job(repository, object_id=OTHER_COMMIT)
    assert jobs_dispatch() == 1


def test_what_is_left_over_of_a_job_becomes_a_job(settings: LazySettings) -> None:
    settings.GPU_MINUTES_PER_DAY = 1
    runner = make_runner()
    job = make_job(
        make_repository(),
        tests=[make_test("first"), make_test("second"), make_test("third")],
        functions={0: [FunctionProof("c::one", "d" * 64)], 2: [FunctionProof("c::three", "e" * 64)]},
        wants_approval=True,
    )
    person = make_user()
    job_approve(job=job, actor=person)
    jobs_dispatch()
    job.refresh_from_db()
    taken = outcome_accept(
        runner=runner, job_id=job.pk, raw=signed(cut(job, 1), runner), after=lambda *_: None
    )
    assert (taken.state, taken.outcome_state, taken.done, taken.total) == ("succeeded", "cut-short", 1, 3)
    assert list(Verification.objects.values_list("test", flat=True)) == ["first"]
    rest = taken.continued_by
    spec = leased_spec(job=rest, lease_id="none")
    assert [test.name for test in spec.tests] == ["second", "third"] and spec.gpu_s is None
    assert (rest.state, rest.total, rest.approved_by) == (RowState.PENDING, 2, person)
    assert not rest.waits_for_approval
    assert rest.functions == {"1": [["c::three", "e" * 64, []]]}
    assert "continued" in MachineEvent.objects.filter(job=job).values_list("act", flat=True)

    assert jobs_dispatch() == 1
    rest.refresh_from_db()
    outcome = make_outcome(rest, "relu_kernel")
    outcome_accept(runner=runner, job_id=rest.pk, raw=signed(outcome, runner), after=lambda *_: None)
    assert set(VerifiedFunction.objects.values_list("symbol", flat=True)) == {"c::one", "c::three"}


@pytest.mark.parametrize("done", [0, 2])
def test_a_cut_that_leaves_nothing_or_everything_over_is_refused(settings: LazySettings, done: int) -> None:
    settings.GPU_MINUTES_PER_DAY = 1
    runner = make_runner()
    job = make_job(make_repository(), tests=[make_test("first"), make_test("second")])
    jobs_dispatch()
    job.refresh_from_db()
    with pytest.raises(OutcomeRefusedError, match="cut short"):
        outcome_accept(
            runner=runner, job_id=job.pk, raw=signed(cut(job, done), runner), after=lambda *_: None
        )
    assert not VerificationJob.objects.filter(continues=job).exists()


def test_a_cut_that_nobody_asked_for_is_refused() -> None:
    runner = make_runner()
    job = make_job(make_repository(), tests=[make_test("first"), make_test("second")])
    jobs_dispatch()
    job.refresh_from_db()
    with pytest.raises(OutcomeRefusedError, match="no limit of its time"):
        outcome_accept(runner=runner, job_id=job.pk, raw=signed(cut(job, 1), runner), after=lambda *_: None)
