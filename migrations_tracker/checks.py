"""System checks of the configuration, with ids that documentation and people can name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage
from django.core.checks.messages import ERROR, WARNING

SCHEMES = ("redis://", "rediss://", "valkey://", "amqp://", "amqps://", "filesystem://", "memory://")
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]", "testserver"})


@dataclass(frozen=True, slots=True)
class ConfigurationCheck:
    """One thing that can be wrong with the configuration, and how it is noticed."""

    id: str
    level: int
    summary: str
    hint: str
    is_wrong: Callable[[], bool]

    def message(self) -> CheckMessage:
        """Return what Django shows."""
        return CheckMessage(self.level, self.summary, self.hint, id=self.id)


def _broker() -> str:
    return str(settings.CELERY_BROKER_URL)


CHECKS = (
    ConfigurationCheck(
        id="migrations_tracker.E001",
        level=ERROR,
        summary="DATABASE_URL is not set.",
        hint="Set it in the environment or in `.env`; or use `make run`, which brings a database.",
        is_wrong=lambda: not settings.DATABASES["default"].get("NAME"),
    ),
    ConfigurationCheck(
        id="migrations_tracker.E002",
        level=ERROR,
        summary="BROKER_URL is not set.",
        hint="Set it in the environment or in `.env`; or use `make run`, which brings a broker.",
        is_wrong=lambda: not _broker(),
    ),
    ConfigurationCheck(
        id="migrations_tracker.E003",
        level=ERROR,
        summary="BROKER_URL has a scheme that no broker answers to.",
        hint=f"It begins with one of {', '.join(SCHEMES)}.",
        is_wrong=lambda: bool(_broker()) and not _broker().startswith(SCHEMES),
    ),
    ConfigurationCheck(
        id="migrations_tracker.W001",
        level=WARNING,
        summary="DEBUG is on while ALLOWED_HOSTS names other machines.",
        hint="Errors would show source code and settings to anybody who can reach the pages.",
        is_wrong=lambda: settings.DEBUG and not set(settings.ALLOWED_HOSTS) <= LOCAL_HOSTS,
    ),
    ConfigurationCheck(
        id="migrations_tracker.W002",
        level=WARNING,
        summary="HTTPS is on, and CSRF_TRUSTED_ORIGINS is empty behind a proxy.",
        hint="Name the origin that browsers use, such as `https://audit.example.org`, or forms are refused.",
        is_wrong=lambda: settings.IS_BEHIND_PROXY and settings.IS_HTTPS and not settings.CSRF_TRUSTED_ORIGINS,
    ),
    ConfigurationCheck(
        id="migrations_tracker.W003",
        level=WARNING,
        summary="OIDC_SERVER is reached without TLS.",
        hint="Whoever stands in between can say who logs in: its address begins with `https://`.",
        is_wrong=lambda: (
            bool(settings.OIDC_SERVER)
            and not settings.OIDC_SERVER.startswith("https://")
            and urlsplit(settings.OIDC_SERVER).hostname not in LOCAL_HOSTS
        ),
    ),
    ConfigurationCheck(
        id="migrations_tracker.W004",
        level=WARNING,
        summary="OIDC_SERVER is set without OIDC_CLIENT_ID or OIDC_CLIENT_SECRET.",
        hint="The provider gives both where `SITE_URL/account/oidc/oidc/login/callback/` is registered.",
        is_wrong=lambda: (
            bool(settings.OIDC_SERVER) and not (settings.OIDC_CLIENT_ID and settings.OIDC_CLIENT_SECRET)
        ),
    ),
)


def check_configuration(app_configs: Sequence[AppConfig] | None, **kwargs: object) -> list[CheckMessage]:
    """Report everything that is wrong with the configuration."""
    return [check.message() for check in CHECKS if check.is_wrong()]
