"""The steps of a local run that need Django: imported only when its settings can be read."""

from __future__ import annotations

import io
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from audit.services.parity import parity_dumps_import_shipped
from migrations_tracker.supervisor.errors import SupervisorError

ADMINISTRATOR = "admin"
TOLD_EVERY_SECONDS = 5.0
_APPLYING = re.compile(r"\s*Applying (?P<name>[\w.]+)\.\.\.")


def check_configuration() -> None:
    """Run Django's system checks, and end with their messages when one finds an error."""
    try:
        call_command("check", stdout=io.StringIO())
    except SystemCheckError as error:
        raise SupervisorError(str(error).strip()) from error


def apply_schema_migrations(*, tell: Callable[[str], None]) -> int:
    """Bring the database's schema up to date; return how many schema migrations that took.

    The first run takes all of them, which is long enough to `tell` how far it is.
    """
    executor = MigrationExecutor(connection)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if missing:
        call_command("migrate", verbosity=1, interactive=False, no_color=True, stdout=Progress(missing, tell))
    return missing


class Progress(io.StringIO):
    """Reads what `migrate` writes, and tells now and then which schema migration it is at."""

    def __init__(self, total: int, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._total, self._tell = total, tell
        self._begun = 0
        self._told_at = -TOLD_EVERY_SECONDS

    def write(self, text: str) -> int:
        """Take what was written."""
        if match := _APPLYING.match(text):
            self._begun += 1
            now = time.monotonic()
            if now - self._told_at >= TOLD_EVERY_SECONDS:
                self._told_at = now
                self._tell(f"{self._begun} of {self._total}: {match['name']}")
        return len(text)


def import_parity_dumps() -> str:
    """Bring in what PyTorch says about itself, and return of which versions."""
    return ", ".join(str(dump) for dump in parity_dumps_import_shipped())


def collect_static_files() -> None:
    """Put style sheets and scripts where the pages' server finds them."""
    call_command("collectstatic", verbosity=0, interactive=False, clear=False)


@dataclass(frozen=True, slots=True)
class LogIn:
    """Who may log in; the password only when it was made just now, because nobody can read it later."""

    name: str
    password: str | None


def ensure_administrator(*, resets: bool) -> LogIn:
    """Create the administrator, or give a new password when asked to."""
    existing = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if existing is not None and not resets:
        return LogIn(existing.username, None)
    password = secrets.token_urlsafe(12)
    if existing is None:
        User.objects.create_superuser(username=ADMINISTRATOR, password=password)
        return LogIn(ADMINISTRATOR, password)
    existing.set_password(password)
    existing.save(update_fields=["password"])
    return LogIn(existing.username, password)
