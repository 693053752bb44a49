"""Servers that somebody else runs: waiting until they are up, and saying what is wrong when they are not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

import kombu
import psycopg

from migrations_tracker.supervisor.errors import SupervisorError

OLDEST_POSTGRES = 15
Answer = TypeVar("Answer")
PATIENCE_SECONDS = 30.0
# What is said while a server is on its way. Any other complaint does not go away by waiting.
ON_ITS_WAY = (
    "refused",
    "starting up",
    "not yet accepting",
    "timeout",
    "timed out",
    "loading",
    "reset by peer",
)


def wait_for_database(url: str, *, patience_seconds: float = PATIENCE_SECONDS) -> str:
    """Wait until the database answers, and return what it is."""

    def ask() -> int:
        with psycopg.connect(url, connect_timeout=3) as connection:
            return connection.info.server_version

    version = _wait("The database", "DATABASE_URL", url, ask, patience_seconds)
    major, minor = divmod(version, 10_000)
    if major < OLDEST_POSTGRES:
        raise SupervisorError(
            f"The database at {hide_password(url)} is PostgreSQL {major}, older than {OLDEST_POSTGRES}."
        )
    return f"PostgreSQL {major}.{minor}"


def wait_for_broker(url: str, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until the broker answers."""

    def ask() -> None:
        with kombu.Connection(
            url, connect_timeout=3, transport_options={"socket_connect_timeout": 3}
        ) as link:
            link.connect()

    _wait("The broker", "BROKER_URL", url, ask, patience_seconds)


def hide_password(url: str) -> str:
    """Return an address as it may be shown."""
    parts = urlsplit(url)
    if parts.password is None:
        return f"`{url}`"
    return f"`{urlunsplit(parts._replace(netloc=parts.netloc.replace(f':{parts.password}@', ':***@')))}`"


def _wait(what: str, variable: str, url: str, ask: Callable[[], Answer], patience_seconds: float) -> Answer:
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            return ask()
        except Exception as error:
            # Each transport of kombu has errors of its own, without a common parent.
            reason = str(error).strip().replace("\n", " ")
            is_on_its_way = any(word in reason.lower() for word in ON_ITS_WAY)
            if not is_on_its_way or time.monotonic() > deadline:
                waited = f" in {patience_seconds:.0f} seconds" if is_on_its_way else ""
                raise SupervisorError(
                    f"{what} at {hide_password(url)} does not answer{waited}: {reason}. "
                    f"Start it, or correct {variable}; without {variable}, one is brought along."
                ) from error
        time.sleep(0.5)
