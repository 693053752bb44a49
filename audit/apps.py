"""The app of the facts: what the code is."""

from __future__ import annotations

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Registers the app `audit`."""

    name = "audit"
