"""The plan in the database."""

from __future__ import annotations

from migrations_tracker.models.access import ApiToken, LoginFailure
from migrations_tracker.models.comment import Comment
from migrations_tracker.models.report import MigrationReport
from migrations_tracker.models.site_migration import SiteMigration, Transition
from migrations_tracker.models.suppression import Suppression, SuppressionStatus

__all__ = [
    "ApiToken",
    "Comment",
    "LoginFailure",
    "MigrationReport",
    "SiteMigration",
    "Suppression",
    "SuppressionStatus",
    "Transition",
]
