"""What a first run tells while the schema migrations are applied."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from migrations_tracker.supervisor import prepare


def test_progress_names_the_first_and_then_one_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((100.0, 101.0, 105.0, 106.0))
    monkeypatch.setattr("migrations_tracker.supervisor.prepare.time.monotonic", lambda: next(clock))
    told: list[str] = []
    progress = prepare.Progress(4, told.append)
    for name in ("audit.0001_initial", "audit.0002_parity", "workers.0001_runners", "workers.0002_more"):
        progress.write(f"  Applying {name}...")
        progress.write(" OK\n")
    assert told == ["1 of 4: audit.0001_initial", "3 of 4: workers.0001_runners"]


@pytest.mark.django_db
def test_schema_migrations_that_are_missing_are_told_of() -> None:
    call_command("migrate", "migrations_tracker", "0025", verbosity=0, stdout=StringIO())
    told: list[str] = []
    missing = prepare.apply_schema_migrations(tell=told.append)
    assert told[0].startswith(f"1 of {missing}: migrations_tracker.0026")
    assert prepare.apply_schema_migrations(tell=told.append) == 0
    assert MigrationRecorder(connection).applied_migrations()
