"""A runner registers once with a token, is steered by people, and says that it lives."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import unquote, urlsplit

import pytest
import redis
from django.utils import timezone

from tests.factories import make_repository, make_user
from tests.workers.machines import ABLE, UNABLE, make_job, make_runner
from workers.errors import MachineryError, NotAuthorisedError
from workers.models import MachineEvent, Runner, RunnerState
from workers.protocol.report import Heartbeat, Standing, key_prefix_of
from workers.services.jobs import jobs_dispatch
from workers.services.runners import (
    runner_add,
    runner_by_token,
    runner_heartbeat,
    runner_register,
    runner_set_state,
    runner_token_renew,
    signing_key,
)

pytestmark = pytest.mark.django_db


def test_a_registration_token_works_once(broker: str) -> None:
    _, token = runner_add(name="rack-1", actor=make_user())
    registration = runner_register(token=token, probe=UNABLE)
    assert registration.key_id == "rack-1.1"
    assert runner_by_token(token=registration.token).name == "rack-1"
    with pytest.raises(NotAuthorisedError, match="used up"):
        runner_register(token=token, probe=UNABLE)


def test_a_registration_token_is_worth_nothing_after_an_hour(broker: str) -> None:
    runner, token = runner_add(name="rack-1", actor=make_user())
    Runner.objects.filter(pk=runner.pk).update(registration_expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(NotAuthorisedError):
        runner_register(token=token, probe=ABLE)


def test_no_secret_of_a_runner_stands_in_the_database(broker: str) -> None:
    runner, token = runner_add(name="rack-1", actor=make_user())
    registration = runner_register(token=token, probe=ABLE)
    row = str(Runner.objects.filter(pk=runner.pk).values().get())
    password = unquote(urlsplit(registration.broker_url).password or "")
    assert password
    for secret in (token, registration.token, registration.key, password):
        assert secret not in row


def test_registering_anew_ends_what_the_machine_had_before(broker: str) -> None:
    actor = make_user()
    runner, token = runner_add(name="rack-1", actor=actor)
    first = runner_register(token=token, probe=ABLE)
    second = runner_register(token=runner_token_renew(runner=runner, actor=actor), probe=ABLE)
    assert second.key != first.key
    with pytest.raises(NotAuthorisedError):
        runner_by_token(token=first.token)


def test_a_runners_user_at_the_broker_reaches_its_own_keys_and_no_others(broker: str) -> None:
    _, token = runner_add(name="rack-1", actor=make_user())
    registration = runner_register(token=token, probe=ABLE)
    with redis.Redis.from_url(registration.broker_url) as client:
        client.rpush(f"{key_prefix_of('rack-1')}reports", "mine")
        for command in (("LRANGE", "scan", 0, -1), ("RPUSH", f"{key_prefix_of('rack-2')}reports", "x")):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*command)
        for line in ("KEYS *", "FLUSHALL", "ACL LIST", "CONFIG GET *"):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*line.split())


def test_a_disabled_runner_is_shut_out_of_web_app_and_broker(
    broker: str, django_capture_on_commit_callbacks: object
) -> None:
    actor = make_user()
    runner, token = runner_add(name="rack-1", actor=actor)
    registration = runner_register(token=token, probe=ABLE)
    key = signing_key(runner=Runner.objects.get(pk=runner.pk))
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        disabled = runner_set_state(runner=runner, to=RunnerState.DISABLED, actor=actor, reason="sold")
    with pytest.raises(NotAuthorisedError):
        runner_by_token(token=registration.token)
    with (
        redis.Redis.from_url(registration.broker_url) as client,
        pytest.raises(redis.exceptions.AuthenticationError),
    ):
        client.ping()
    assert signing_key(runner=disabled) != key
    assert MachineEvent.objects.get(act="disabled").detail == "sold"


def test_a_heartbeat_keeps_the_lease_and_brings_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.services.jobs.job_send", lambda **_: None)
    runner, job = make_runner(), make_job(make_repository())
    jobs_dispatch()
    job.refresh_from_db()
    before = job.lease_expires_at
    answer = runner_heartbeat(runner=runner, heartbeat=Heartbeat("1", str(job.pk), str(job.lease_id), 3, 9))
    assert (answer.standing, answer.is_lease_held) == (Standing.ENABLED, True)
    job.refresh_from_db()
    assert (job.done, job.total) == (3, 9)
    assert before is not None and job.lease_expires_at is not None and job.lease_expires_at > before


@pytest.mark.parametrize(
    ("job_id", "lease_id"), [("x", "y"), ("1", "0" * 32), ("", ""), ("9" * 18, "0" * 32)]
)
def test_a_heartbeat_for_a_lease_that_is_not_there_says_so(job_id: str, lease_id: str) -> None:
    answer = runner_heartbeat(runner=make_runner(), heartbeat=Heartbeat("1", job_id, lease_id))
    assert not answer.is_lease_held


def test_a_runner_hears_that_it_is_drained() -> None:
    runner = runner_set_state(runner=make_runner(), to=RunnerState.DRAINING, actor=make_user())
    assert runner_heartbeat(runner=runner, heartbeat=Heartbeat("1")).standing is Standing.DRAINING


def test_the_last_probes_readings_are_the_inventory() -> None:
    runner = make_runner(is_able=True)
    runner_heartbeat(runner=runner, heartbeat=Heartbeat("1", probe=UNABLE))
    runner.refresh_from_db()
    assert runner.is_able is False
    assert runner.inabilities == [
        {"what": "run on a device", "because": "NVML lists 0 devices", "reading": "nvml"}
    ]
    assert [reading.output for reading in runner.readings.all()] == ["1 device"]


@pytest.mark.parametrize("name", ["", "Rack", "a b", "../x", "-x", "x" * 51, "rack:1"])
def test_a_name_that_could_not_be_a_key_at_the_broker_is_refused(name: str) -> None:
    with pytest.raises(MachineryError):
        runner_add(name=name, actor=make_user())
