"""The app of the plan and of every page."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.checks import register

from migrations_tracker import checks


class MigrationsTrackerConfig(AppConfig):
    """Registers the app `migrations_tracker` and the checks of the configuration."""

    name = "migrations_tracker"

    def ready(self) -> None:
        """Register the system checks."""
        register(checks.check_configuration)
