"""The health address: it answers anybody who asks, and says no when the database is away."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from migrations_tracker.healthcheck import main
from migrations_tracker.supervisor.ports import free_port


@pytest.mark.django_db
def test_it_answers_by_any_name_and_without_https(client: Client, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.ALLOWED_HOSTS = ["audit.example.org"]
    response = client.get("/healthz", HTTP_HOST="10.0.0.7")
    assert (response.status_code, response.content) == (200, b"ok\n")


def test_it_says_no_when_the_database_is_away(client: Client) -> None:
    with patch("migrations_tracker.health.connection.cursor", side_effect=OperationalError("secret detail")):
        response = client.get("/healthz")
    assert response.status_code == 503
    assert b"secret" not in response.content


def test_the_program_of_the_image_asks_it(live_server: LiveServer) -> None:
    assert main(f"{live_server.url}/healthz") == 0
    assert main(f"http://127.0.0.1:{free_port()}/healthz") == 1
