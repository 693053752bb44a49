"""`manage.py audit_import`: import an audit that a project has already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.errors import AuditError
from audit.imports.formats import FORMAT_LABELS
from audit.models import Standing
from audit.services.imported_audits import audit_import
from migrations_tracker.management.named_repository import repository_named

MAX_TOLD = 50


class Command(BaseCommand):
    """Import a document and say what the code says of its findings."""

    help = "Import an audit: Markdown, CSV, SARIF, or issues as GitHub exports them (JSON)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("repository", help="the repository's short name, as in its page's address")
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument("--commit", default="", help="what it speaks of, where it does not say so")
        parser.add_argument("--format", default="", choices=["", *FORMAT_LABELS])
        parser.add_argument("--name", default="", help="else the file's name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, and say what came of it."""
        path: Path = options["file"]
        repository = repository_named(options["repository"])
        try:
            imported = audit_import(
                repository=repository,
                data=path.read_bytes(),
                file_name=path.name,
                format_name=options["format"],
                name=options["name"],
                commit=options["commit"],
                actor=None,
            )
        except OSError as error:
            raise CommandError(f"`{path}` can't be read: {error.strerror}.") from error
        except AuditError as error:
            raise CommandError(f"`{path}`: {error}") from error
        for upload in imported.uploads:
            audit = upload.audit
            about = audit.findings.filter(is_about_device=True)
            self.stdout.write(
                f"{audit.name} at {audit.short_commit}: {upload.added_count} new, {upload.kept_count} known, "
                f"{upload.withdrawn_count} withdrawn; {about.count()} about the device"
            )
            for value, label in Standing.choices:
                count = about.filter(standing=value).count()
                if count:
                    self.stdout.write(f"  {count:5}  {label}")
        for refusal in imported.refused[:MAX_TOLD]:
            self.stdout.write(f"line {refusal.line}: {refusal.reason}")
        if len(imported.refused) > MAX_TOLD:
            self.stdout.write(f"and {len(imported.refused) - MAX_TOLD} more parts that were not read")
