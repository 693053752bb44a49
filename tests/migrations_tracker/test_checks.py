"""System checks: each finds its mistake, and none complains about a good configuration."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from migrations_tracker.checks import CHECKS, check_configuration

GOOD = {
    "DATABASES": {"default": {"NAME": "ferroaudit"}},
    "CELERY_BROKER_URL": "redis://broker/0",
    "DEBUG": False,
    "ALLOWED_HOSTS": ["audit.example.org"],
    "IS_HTTPS": True,
    "IS_BEHIND_PROXY": True,
    "CSRF_TRUSTED_ORIGINS": ["https://audit.example.org"],
    "OIDC_SERVER": "https://login.example.org/realms/team",
    "OIDC_CLIENT_ID": "ferroaudit",
    "OIDC_CLIENT_SECRET": "secret",
}


def found(settings: Settings, **changes: object) -> list[str | None]:
    for name, value in {**GOOD, **changes}.items():
        setattr(settings, name, value)
    return [message.id for message in check_configuration(None)]


def test_a_good_configuration_is_passed(settings: Settings) -> None:
    assert found(settings) == []


@pytest.mark.parametrize(
    ("identifier", "changes"),
    [
        ("migrations_tracker.E001", {"DATABASES": {"default": {}}}),
        ("migrations_tracker.E002", {"CELERY_BROKER_URL": ""}),
        ("migrations_tracker.E003", {"CELERY_BROKER_URL": "http://broker"}),
        ("migrations_tracker.W001", {"DEBUG": True}),
        ("migrations_tracker.W002", {"CSRF_TRUSTED_ORIGINS": []}),
        ("migrations_tracker.W003", {"OIDC_SERVER": "http://login.example.org"}),
        ("migrations_tracker.W004", {"OIDC_CLIENT_SECRET": ""}),
    ],
)
def test_each_mistake_is_found_by_its_own_check(
    settings: Settings,
    identifier: str,
    changes: dict[str, object],
) -> None:
    assert found(settings, **changes) == [identifier]


def test_ids_are_unique() -> None:
    assert len({check.id for check in CHECKS}) == len(CHECKS)
