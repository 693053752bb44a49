"""`manage.py migration_report`: write a migration report to a file or to the output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.models import ScanRun
from migrations_tracker.errors import PlanError
from migrations_tracker.management.named_repository import repository_named
from migrations_tracker.models import MigrationReport
from migrations_tracker.report_formats import FORMATS, document_of, report_archive
from migrations_tracker.selectors.branches import branch_choose
from migrations_tracker.services.migration_reports import report_create, report_execute

_ARCHIVE = "zip"
_BINARY = frozenset({"pdf"})


class Command(BaseCommand):
    """Write a report of a branch's last scan, and keep it as the pages do."""

    help = "Write a migration report of a repository's last scan."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--repository", default="", help="its short name; else the one scanned last")
        parser.add_argument("--branch", default="", help="else the default branch")
        parser.add_argument("--since", type=int, help="the number of an earlier scan of the branch")
        parser.add_argument("--format", choices=[*FORMATS, _ARCHIVE], default="md", help="else Markdown")
        parser.add_argument("--output", type=Path, help="a file; else the output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the report."""
        key, output = options["format"], options["output"]
        if key == _ARCHIVE and output is None:
            raise CommandError("An archive needs --output FILE.")
        report = self._report(options)
        if key == _ARCHIVE:
            output.write_bytes(report_archive(report))
            return
        parts = FORMATS[key].write(report, document_of(report))
        written = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
        if output is not None:
            output.write_bytes(written)
        elif key in _BINARY:
            raise CommandError("A PDF needs --output FILE.")
        else:
            self.stdout.write(written.decode(), ending="")

    def _report(self, options: dict[str, Any]) -> MigrationReport:
        if options["repository"]:
            repository_named(options["repository"])
        choice = branch_choose(repository=options["repository"], branch=options["branch"])
        if choice.branch is None or (options["branch"] and choice.branch.name != options["branch"]):
            raise CommandError("There is no such branch with a finished scan. Ask for a scan first.")
        since = None
        if options["since"] is not None:
            since = ScanRun.objects.filter(pk=options["since"]).first()
            if since is None:
                raise CommandError(f"There is no scan #{options['since']}.")
        try:
            created = report_create(branch=choice.branch, since=since, actor=None)
        except PlanError as error:
            raise CommandError(str(error)) from error
        report_execute(pk=created.pk)
        report = MigrationReport.objects.get(pk=created.pk)
        if report.document is None:
            raise CommandError(report.failure_reason or "Another worker has the report: look at its page.")
        return report
