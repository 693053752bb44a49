"""`manage.py parity_import`: bring what a PyTorch says about itself into the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.errors import AuditError
from audit.services.parity import parity_dump_import, parity_dumps_import_shipped


class Command(BaseCommand):
    """Import one dump, or those that come with the package."""

    help = "Import a dump made by `python -m audit.parity.dump`; without FILE, the shipped ones."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="a dump, compressed or not")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, and say what is there now."""
        path: Path | None = options["file"]
        try:
            dumps = [parity_dump_import(path=path)] if path else parity_dumps_import_shipped()
        except AuditError as error:
            raise CommandError(str(error)) from error
        for dump in dumps:
            on = f" on {dump.gpu_name}, CUDA {dump.cuda_version}" if dump.gpu_name else ""
            self.stdout.write(f"{dump}{on}, taken {dump.taken_at:%Y-%m-%d}: {dump.operator_count} operators")
