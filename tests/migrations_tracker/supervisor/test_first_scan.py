"""How the first scan of a local run is followed."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.db import OperationalError, connection

from migrations_tracker.supervisor.first_scan import FirstScan
from tests.factories import make_repository, make_scan_run

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_database_that_restarts_is_waited_for() -> None:
    scan = FirstScan(make_scan_run(make_repository()), was_done=False)
    with suppress(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert scan.look() == "waiting for the database"
    assert scan.look() == "pending"
