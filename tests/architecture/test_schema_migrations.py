"""Models and schema migrations say the same."""

from __future__ import annotations

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_no_schema_migration_is_missing() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=1)
