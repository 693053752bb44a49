"""`manage.py search_reindex`: build the search index anew."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from migrations_tracker.services.search import search_reindex


class Command(BaseCommand):
    """Build the index anew; it is kept up to date without this."""

    help = "Build the search index anew."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what was indexed."""
        for kind, count in search_reindex().items():
            self.stdout.write(f"{kind}: {count}")
