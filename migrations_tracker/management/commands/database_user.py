"""`manage.py database_user`: give the programs' database user the rights that they need, and no more."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from migrations_tracker.errors import PlanError
from migrations_tracker.services.database_rights import database_rights_give


class Command(BaseCommand):
    """Run as the owner of the tables, after each `migrate`."""

    help = "Give a database user what the programs need: no TRUNCATE, and no change of what is kept."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("role", metavar="USER", help="the database user that the programs log in as")

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what was given."""
        try:
            count = database_rights_give(role=options["role"])
        except PlanError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"`{options['role']}` may use {count} tables, and change no log.")
