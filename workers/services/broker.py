"""What the server does at the broker on behalf of runners: admit them, send jobs, take reports.

Each runner has a user of its own there, whose rights end at the keys with its name. What it reads and writes
stands under its prefix, so one runner sees neither another's jobs nor the server's.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import cast
from urllib.parse import quote, urlsplit, urlunsplit

import redis
from celery import current_app
from django.conf import settings
from kombu import Connection

from workers.models import Runner
from workers.protocol.codec import MAX_DOCUMENT_BYTES
from workers.protocol.report import key_prefix_of, queue_of, reply_key_of

RUN_JOB = "workers.runner_worker.run_job"
REPORTS_AT_ONCE = 50
_TIMEOUT_S = 5


def broker_password_new() -> tuple[str, str]:
    """Make a password for a runner's user, and its hash, which is all that is kept."""
    password = secrets.token_urlsafe(32)
    return password, hashlib.sha256(password.encode()).hexdigest()


def broker_admit(*, runner: Runner) -> None:
    """Let a runner in to its own keys, or shut it out where it is disabled or not registered.

    The broker forgets its users when it is started anew, so this is repeated by the clock.
    """
    prefix = key_prefix_of(runner.name)
    with _client() as client:
        if not runner.broker_password_hash or runner.state == "disabled":
            client.execute_command("ACL", "DELUSER", user_of(runner))
            return
        client.execute_command(
            *("ACL", "SETUSER", user_of(runner), "reset", "on", f"#{runner.broker_password_hash}"),
            *(f"~{prefix}*", f"&{prefix}*", "+@all", "-@dangerous", "-@admin"),
            # These name no key, and tell the names of all or change what is for all.
            *("-scan", "-randomkey", "-dbsize", "-select", "-function", "-script|flush"),
        )


def user_of(runner: Runner) -> str:
    """Name the runner's user at the broker."""
    return f"runner-{runner.name}"


def runner_broker_url(*, runner: Runner, password: str) -> str:
    """Give the address that the runner connects to, with its own user."""
    parts = urlsplit(settings.RUNNER_BROKER_URL or _address())
    host = parts.hostname or "localhost"
    place = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit(
        parts._replace(netloc=f"{quote(user_of(runner))}:{quote(password, safe='')}@{place}{port}")
    )


def job_send(*, runner: Runner, document: str) -> None:
    """Put a job into a runner's queue."""
    options = {
        "global_keyprefix": key_prefix_of(runner.name),
        "socket_connect_timeout": _TIMEOUT_S,
        "socket_timeout": _TIMEOUT_S,
    }
    with Connection(_address(), transport_options=options) as connection:
        current_app.send_task(
            RUN_JOB, kwargs={"job": document}, queue=queue_of(runner.name), connection=connection
        )


def reports_take(*, runner: Runner) -> list[bytes]:
    """Take what a runner left under its reply key; what is larger than any document is dropped unread."""
    with _client() as client:
        taken = cast("list[bytes] | None", client.lpop(reply_key_of(runner.name), REPORTS_AT_ONCE))
    return [raw for raw in taken or [] if len(raw) <= MAX_DOCUMENT_BYTES]


def _address() -> str:
    return str(current_app.conf.broker_url)


def _client() -> redis.Redis:
    return redis.Redis.from_url(_address(), socket_connect_timeout=_TIMEOUT_S, socket_timeout=_TIMEOUT_S)
