"""System checks of the configuration, with ids that documentation and people can name."""

from __future__ import annotations

from collections.abc import Sequence

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error

SCHEMES = ("redis://", "rediss://", "valkey://", "amqp://", "amqps://", "filesystem://", "memory://")


def check_database(app_configs: Sequence[AppConfig] | None, **kwargs: object) -> list[CheckMessage]:
    """Report that no database is configured."""
    if settings.DATABASES["default"].get("NAME"):
        return []
    return [
        Error(
            "DATABASE_URL is not set.",
            hint="Set it in the environment or in `.env`; or use `make run`, which brings a database.",
            id="migrations_tracker.E001",
        )
    ]


def check_broker(app_configs: Sequence[AppConfig] | None, **kwargs: object) -> list[CheckMessage]:
    """Report that no broker is configured, or one that Celery does not speak to."""
    address = str(settings.CELERY_BROKER_URL)
    if not address:
        return [
            Error(
                "BROKER_URL is not set.",
                hint="Set it in the environment or in `.env`; or use `make run`, which brings a broker.",
                id="migrations_tracker.E002",
            )
        ]
    if not address.startswith(SCHEMES):
        return [
            Error(
                "BROKER_URL has a scheme that no broker answers to.",
                hint=f"It begins with one of {', '.join(SCHEMES)}.",
                id="migrations_tracker.E003",
            )
        ]
    return []


def check_debug_is_local(app_configs: Sequence[AppConfig] | None, **kwargs: object) -> list[CheckMessage]:
    """Warn when DEBUG is on and the pages answer to other names than this machine's."""
    local = {"localhost", "127.0.0.1", "[::1]", "testserver"}
    if not settings.DEBUG or set(settings.ALLOWED_HOSTS) <= local:
        return []
    return [
        checks.Warning(
            "DEBUG is on while ALLOWED_HOSTS names other machines.",
            hint="Errors would show source code and settings to anybody who can reach the pages.",
            id="migrations_tracker.W001",
        )
    ]


CHECKS = (check_database, check_broker, check_debug_is_local)
