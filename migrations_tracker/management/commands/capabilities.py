"""`manage.py capabilities`: print what the code can do, as CSV, JSON or Rust source."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from migrations_tracker.capability_texts import as_csv, as_json, as_markdown, as_rust
from migrations_tracker.management.named_repository import repository_named
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.selectors.capability_list import capabilities_find, reading_of


class Command(BaseCommand):
    """Print the capabilities of a branch's last scan."""

    help = "Print the capabilities of a repository's last scan."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--repository", default="", help="its short name; else the one scanned last")
        parser.add_argument("--branch", default="", help="else the default branch")
        parser.add_argument("--device", default="", help="only this device")
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--rust", action="store_const", dest="write", const=as_rust, help="Rust source")
        form.add_argument("--json", action="store_const", dest="write", const=as_json, help="JSON")
        form.add_argument(
            "--markdown", action="store_const", dest="write", const=as_markdown, help="Markdown"
        )
        form.add_argument("--csv", action="store_const", dest="write", const=as_csv, help="CSV, the default")
        parser.set_defaults(write=as_csv)

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the table."""
        if options["repository"]:
            repository_named(options["repository"])
        choice = branch_choose(repository=options["repository"], branch=options["branch"])
        reading = reading_of(branch=choice.branch) if choice.branch is not None else None
        if reading is None:
            raise CommandError("No scan with capabilities is stored. Ask for a scan first.")
        if reading.failure_reason:
            raise CommandError(f"{reading} are not known. {reading.failure_reason}")
        cells = capabilities_find(scan_run_id=reading.scan_run_id, device=options["device"])
        self.stdout.write(options["write"](reading, cells), ending="")
