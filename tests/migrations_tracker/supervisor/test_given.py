"""Servers that somebody else runs: waiting for one on its way, and not for one that will never answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import pytest

from migrations_tracker.supervisor.errors import SupervisorError
from migrations_tracker.supervisor.given import hide_password, wait_for_broker, wait_for_database
from migrations_tracker.supervisor.ports import LOOPBACK, free_port
from migrations_tracker.supervisor.postgres import Postgres
from migrations_tracker.supervisor.valkey import Valkey


def test_a_database_that_answers_is_named_with_its_version(postgres_url: str) -> None:
    assert wait_for_database(postgres_url).startswith("PostgreSQL ")


def test_a_database_that_is_not_up_yet_is_waited_for(make_postgres: Callable[..., Postgres]) -> None:
    # After a first start it has its port, which another server might take while it is only free.
    server = make_postgres()
    server.start()
    server.stop()
    answers: list[str] = []
    waiting = threading.Thread(
        target=lambda: answers.append(wait_for_database(server.url(), patience_seconds=20))
    )
    waiting.start()
    # From the main thread: the kernel ends a server with the thread that started it.
    server.start()
    waiting.join()
    assert answers and answers[0].startswith("PostgreSQL ")


def test_a_database_that_never_comes_is_named_without_its_password() -> None:
    url = f"postgresql://somebody:secret-word@{LOOPBACK}:{free_port()}/name"
    with pytest.raises(SupervisorError, match=r"does not answer in 0 seconds.*DATABASE_URL") as failure:
        wait_for_database(url, patience_seconds=0)
    assert "secret-word" not in str(failure.value)


def test_a_wrong_password_is_reported_at_once(postgres_url: str) -> None:
    head, _, tail = postgres_url.rpartition("@")
    wrong = f"{head.rpartition(':')[0]}:wrong@{tail}"
    with pytest.raises(SupervisorError, match="password authentication failed"):
        wait_for_database(wrong, patience_seconds=3600)


def test_a_broker_that_answers_is_accepted(broker_url: str) -> None:
    wait_for_broker(broker_url)


def test_a_broker_that_is_not_up_yet_is_waited_for(make_valkey: Callable[..., Valkey]) -> None:
    server = make_valkey()
    server.start()
    server.stop()
    failures: list[Exception] = []

    def wait() -> None:
        try:
            wait_for_broker(server.url(), patience_seconds=20)
        except SupervisorError as error:
            failures.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    server.start()
    waiting.join()
    assert failures == []


def test_a_broker_that_is_down_is_named_with_what_to_do() -> None:
    url = f"redis://:secret-word@{LOOPBACK}:{free_port()}/0"
    with pytest.raises(SupervisorError, match=r"broker.*refused.*BROKER_URL") as failure:
        wait_for_broker(url, patience_seconds=0)
    assert "secret-word" not in str(failure.value)


def test_a_server_that_is_something_else_is_no_database() -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        threading.Thread(target=lambda: other.accept()[0].close(), daemon=True).start()
        url = f"postgresql://somebody@{LOOPBACK}:{other.getsockname()[1]}/name"
        with pytest.raises(SupervisorError, match="does not answer"):
            wait_for_database(url, patience_seconds=0)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:pw@host:1/0", "`redis://:***@host:1/0`"),
        ("postgresql://me:pw@host/db", "`postgresql://me:***@host/db`"),
        ("postgresql://host/db", "`postgresql://host/db`"),
    ],
)
def test_a_password_is_not_shown(url: str, shown: str) -> None:
    assert hide_password(url) == shown
