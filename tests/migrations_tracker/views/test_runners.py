"""Runners are added, drained and disabled by who may, and their tokens are shown once."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from migrations_tracker.roles import Role
from tests.factories import PASSWORD, make_member, make_user
from tests.workers.machines import UNABLE, make_runner
from workers.models import MachineEvent, Runner, RunnerState
from workers.protocol.report import Heartbeat
from workers.services.runners import runner_heartbeat, token_hash

pytestmark = pytest.mark.django_db


@pytest.fixture
def user(client: Client) -> User:
    person = make_user()
    assert client.login(username=person.username, password=PASSWORD)
    return person


def allow(user: User) -> None:
    make_member(user, Role.ADMINISTRATOR)


def test_who_may_add_runners_is_shown_the_token_once(client: Client, user: User) -> None:
    assert client.post("/runners/add/", {"name": "rack-1"}).status_code == 403
    allow(user)
    sent = client.post("/runners/add/", {"name": "rack-1"})
    runner = Runner.objects.get()
    assert (sent.status_code, sent["Location"]) == (302, runner.get_absolute_url())
    response = client.get(sent["Location"])
    page = response.content.decode()
    shown = re.findall(r"<code>([\w-]{43})</code>", page)
    assert [token_hash(token) for token in shown] == [runner.registration_hash]
    assert "no-store" in response.headers["Cache-Control"]
    assert shown[0] not in client.get(runner.get_absolute_url()).content.decode()


def test_a_renewed_token_is_shown_once_too(client: Client, user: User) -> None:
    allow(user)
    runner = make_runner()
    response = client.post(f"{runner.get_absolute_url()}act/", {"act": "token"}, follow=True)
    shown = re.findall(r"<code>([\w-]{43})</code>", response.content.decode())
    runner.refresh_from_db()
    assert [token_hash(token) for token in shown] == [runner.registration_hash]
    assert shown[0] not in client.get(runner.get_absolute_url()).content.decode()


def test_a_name_that_is_taken_or_no_name_is_told(client: Client, user: User) -> None:
    allow(user)
    make_runner("rack-1")
    for name in ("rack-1", "Rack One"):
        response = client.post("/runners/add/", {"name": name})
        assert response.status_code == 422 and "field-error" in response.content.decode()


def test_acts_on_a_runner_are_for_who_may_and_are_kept(client: Client, user: User) -> None:
    runner = make_runner()
    act = f"{runner.get_absolute_url()}act/"
    assert client.post(act, {"act": "drain"}).status_code == 403
    allow(user)
    assert client.post(act, {"act": "drain", "reason": "moving"}).status_code == 302
    runner.refresh_from_db()
    assert runner.state == RunnerState.DRAINING
    event = MachineEvent.objects.get(runner=runner)
    assert (event.act, event.actor, event.detail) == ("draining", user, "moving")
    assert client.post(act, {"act": "explode"}).status_code == 404


def test_a_runner_shows_what_was_measured_and_what_it_can_not_do(client: Client, user: User) -> None:
    runner = make_runner()
    runner_heartbeat(runner=runner, heartbeat=Heartbeat("1", probe=UNABLE))
    page = client.get(runner.get_absolute_url()).content.decode()
    assert "run on a device: NVML lists 0 devices" in page and "(reading <code>nvml</code>)" in page
    assert "1 device" in page and "alive" in page


@pytest.mark.parametrize("address", ["/runners/", "/runners/rack-1/"])
def test_who_is_not_signed_in_sees_no_runner(client: Client, address: str) -> None:
    make_runner("rack-1")
    assert client.get(address).status_code == 302
