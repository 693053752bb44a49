"""A job is given to one runner at a time, and to another when that one is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from audit.models import RowState
from audit.models.lease import MAX_ATTEMPTS
from tests.factories import make_repository, make_user
from tests.workers.machines import make_job, make_runner, make_test
from workers.errors import MachineryError
from workers.models import MachineEvent, Runner, RunnerState, VerificationJob
from workers.services import jobs
from workers.services.jobs import job_approve, job_cancel, jobs_dispatch

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was put into runners' queues."""
    taken: list[tuple[str, str]] = []
    monkeypatch.setattr(jobs, "job_send", lambda *, runner, document: taken.append((runner.name, document)))
    return taken


def lose(job: VerificationJob) -> None:
    """Let the lease of a job run out."""
    VerificationJob.objects.filter(pk=job.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def acts(job: VerificationJob) -> list[str]:
    return list(MachineEvent.objects.filter(job=job).order_by("pk").values_list("act", flat=True))


def test_a_waiting_job_goes_to_a_free_runner_under_a_lease(sent: list[tuple[str, str]]) -> None:
    runner, job = make_runner(), make_job(make_repository())
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    assert (job.state, job.runner, job.attempts) == (RowState.RUNNING, runner, 1)
    assert sent[0][0] == "rack-1" and f'"lease_id":"{job.lease_id}"' in sent[0][1]
    assert acts(job) == ["asked for", "leased"]


def test_a_runner_gets_one_job_at_a_time(sent: list[tuple[str, str]]) -> None:
    make_runner()
    repository = make_repository()
    for name in ("first", "second"):
        make_job(repository, tests=[make_test(name)])
    assert (jobs_dispatch(), jobs_dispatch()) == (1, 0)


@pytest.mark.parametrize("state", [RunnerState.DRAINING, RunnerState.DISABLED])
def test_a_runner_that_is_not_enabled_gets_nothing(state: RunnerState, sent: list[tuple[str, str]]) -> None:
    make_runner(state=state)
    make_job(make_repository())
    assert jobs_dispatch() == 0 and not sent


def test_a_runner_that_was_not_heard_of_gets_nothing(sent: list[tuple[str, str]]) -> None:
    make_runner(last_seen_at=timezone.now() - timedelta(minutes=5))
    make_job(make_repository())
    assert jobs_dispatch() == 0


def test_the_job_of_a_lost_runner_goes_to_another(sent: list[tuple[str, str]]) -> None:
    make_runner("rack-1")
    job = make_job(make_repository())
    jobs_dispatch()
    job.refresh_from_db()
    first_lease = job.lease_id
    make_runner("rack-2")
    lose(job)
    assert jobs_dispatch() == 1
    job.refresh_from_db()
    assert [name for name, _ in sent] == ["rack-1", "rack-2"]
    assert job.lease_id != first_lease and job.attempts == 2
    assert acts(job) == ["asked for", "leased", "lost", "leased"]


def test_a_job_whose_runners_are_lost_three_times_fails_with_the_reason(sent: list[tuple[str, str]]) -> None:
    make_runner()
    job = make_job(make_repository())
    for _ in range(MAX_ATTEMPTS):
        assert jobs_dispatch() == 1
        lose(job)
    assert jobs_dispatch() == 0
    job.refresh_from_db()
    assert job.state == RowState.FAILED and "lost 3 times" in job.failure_reason


def test_a_job_that_the_broker_does_not_take_waits_without_counting_as_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(**_: object) -> None:
        raise OSError("connection refused")

    monkeypatch.setattr(jobs, "job_send", away)
    make_runner()
    job = make_job(make_repository())
    assert jobs_dispatch() == 0
    job.refresh_from_db()
    assert (job.state, job.attempts, job.lease_id) == (RowState.PENDING, 0, None)


def test_a_machine_without_a_device_is_asked_where_no_runner_has_one(
    sent: list[tuple[str, str]],
) -> None:
    make_runner("office", is_able=False)
    busy = make_runner("rack-1", last_seen_at=timezone.now() - timedelta(hours=1))
    make_job(make_repository())
    assert jobs_dispatch() == 0
    Runner.objects.filter(pk=busy.pk).update(state=RunnerState.DISABLED)
    assert jobs_dispatch() == 1 and sent[0][0] == "office"


def test_code_of_strangers_waits_for_a_person(sent: list[tuple[str, str]]) -> None:
    make_runner()
    job = make_job(make_repository(), wants_approval=True)
    assert jobs_dispatch() == 0
    job_approve(job=job, actor=make_user())
    assert jobs_dispatch() == 1
    assert "approved" in acts(job)


def test_the_database_refuses_a_lease_of_unapproved_code() -> None:
    job = make_job(make_repository(), wants_approval=True)
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workers_verificationjob SET state='running', lease_id=gen_random_uuid(), "
            "lease_expires_at=now() WHERE id=%s",
            [job.pk],
        )


def test_what_needs_no_approval_can_not_be_approved() -> None:
    with pytest.raises(MachineryError, match="nobody's approval"):
        job_approve(job=make_job(make_repository()), actor=make_user())


def test_asking_twice_for_the_same_gives_one_job() -> None:
    repository = make_repository()
    first = make_job(repository)
    assert make_job(repository) == first
    job_cancel(job=first, actor=make_user())
    assert make_job(repository) != first


def test_when_the_days_minutes_are_spent_jobs_wait(
    settings: LazySettings, sent: list[tuple[str, str]]
) -> None:
    settings.GPU_MINUTES_PER_DAY = 1
    make_runner()
    repository = make_repository()
    earlier = make_job(repository)
    VerificationJob.objects.filter(pk=earlier.pk).update(
        state=RowState.SUCCEEDED, finished_at=timezone.now(), gpu_seconds=61
    )
    make_job(repository)
    assert jobs_dispatch() == 0
    VerificationJob.objects.filter(pk=earlier.pk).update(finished_at=timezone.now() - timedelta(hours=25))
    assert jobs_dispatch() == 1


def test_what_the_night_asks_for_comes_after_what_a_person_waits_for(sent: list[tuple[str, str]]) -> None:
    make_runner()
    repository = make_repository()
    make_job(repository, tests=[make_test("nightly")], is_nightly=True)
    asked = make_job(repository, tests=[make_test("asked")])
    jobs_dispatch()
    asked.refresh_from_db()
    assert asked.state == RowState.RUNNING
