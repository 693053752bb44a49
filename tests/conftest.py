"""Fixtures for everybody: a real PostgreSQL, made when the first test asks for it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import environ
import pytest

from migrations_tracker.supervisor.account import service_account
from migrations_tracker.supervisor.binaries import postgres_binaries
from migrations_tracker.supervisor.postgres import UNSAFE_BUT_FAST, Postgres


@pytest.fixture(scope="session")
def services_dir() -> Iterator[Path]:
    """Give a folder for embedded services that the account they run as can enter."""
    # pytest's own folders are closed to other accounts, and as root the services run as another one.
    folder = Path(tempfile.mkdtemp(prefix="ferroaudit-tests-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url(services_dir: Path) -> Iterator[str]:
    """Give the address of a PostgreSQL server: TEST_DATABASE_URL's, or one made for the tests."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield given
        return
    account = service_account()
    server = Postgres(
        folder=services_dir / "postgres",
        binaries=postgres_binaries(account, services_dir),
        account=account,
        log=services_dir / "postgres.log",
        options=UNSAFE_BUT_FAST,
    )
    server.make()
    server.start()
    yield server.url()
    server.stop()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, postgres_url: str
) -> None:
    """Point Django at the server of the tests; pytest-django asks for this before it makes the database."""
    from django.db import connections

    connections["default"].settings_dict.update(environ.Env.db_url_config(postgres_url))
