"""One writer of a repository's sites at a time."""

from __future__ import annotations

from django.db import connection

_LOCK_CLASS = 7201


def repository_lock(*, repository_id: int) -> None:
    """Wait until nobody else stores a scan of the repository, and keep others from it until the commit."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK_CLASS, repository_id])
