"""A PostgreSQL server for one benchmark: as `make run` starts it, and gone afterwards unless it is kept."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from migrations_tracker.supervisor.account import service_account
from migrations_tracker.supervisor.binaries import postgres_binaries
from migrations_tracker.supervisor.postgres import Postgres


@contextmanager
def database(kept: Path | None = None) -> Iterator[None]:
    """Set Django up on a database with all its tables: an empty one, or the one in the folder that is kept.

    What a benchmark imports of Django's, it imports inside the block: the settings are read here.
    """
    folder = kept or Path(tempfile.mkdtemp(prefix="ferroaudit-benchmark-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    account = service_account()
    server = Postgres(
        folder=folder / "postgres",
        binaries=postgres_binaries(account, folder),
        account=account,
        log=folder / "postgres.log",
    )
    try:
        server.make()
        server.start()
        _set_up(server.url(), folder)
        yield
    finally:
        server.stop()
        if kept is None:
            shutil.rmtree(folder, ignore_errors=True)


def _set_up(url: str, folder: Path) -> None:
    os.environ["DATABASE_URL"] = url
    os.environ["DATABASE_POOL_SIZE"] = "0"
    os.environ.setdefault("SECRET_KEY", "only-for-benchmarks-" * 3)
    os.environ.setdefault("BROKER_URL", "memory://")
    os.environ.setdefault("SCAN_CACHE_DIR", str(folder / "cache"))
    os.environ["DJANGO_SETTINGS_MODULE"] = "migrations_tracker.settings"
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
