"""How the first scan of a local run is followed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from django.db import OperationalError, connection

from audit.models import ScanRun
from audit.scanner.profile import load_profile
from migrations_tracker.supervisor.first_scan import FirstScan, ask
from migrations_tracker.supervisor.up import SAMPLE_PROFILE
from tests.factories import make_repository, make_scan_run, make_user

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_database_that_restarts_is_waited_for() -> None:
    scan = FirstScan(make_scan_run(make_repository()), was_done=False)
    with suppress(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert scan.look() == "waiting for the database"
    assert scan.look() == "pending"


def test_the_sample_is_read_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("fn f() {}\n")
    make_user("admin")
    scan = ask(location=str(tmp_path), revision="", actor_name="admin", profile=SAMPLE_PROFILE)
    assert isinstance(scan.row, ScanRun)
    assert scan.row.repository.profile == load_profile(SAMPLE_PROFILE).name
