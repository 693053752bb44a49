"""`manage.py scan`: ask for a scan and wait for it."""

from __future__ import annotations

import sys
from time import monotonic, sleep
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, connection

from audit.errors import AuditError
from audit.models import RowState, ScanRequest, ScanRun
from audit.scanner.errors import ScanError
from audit.services.addresses import location_from_here
from audit.services.repositories import repository_add
from migrations_tracker.services.scans import scan_ask

POLL_SECONDS = 0.3


class Command(BaseCommand):
    """Ask for the scan of a repository or folder, and wait until a worker has done it."""

    help = "Ask for the scan of a path or URL and wait for it, showing its progress."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("location", metavar="PATH_OR_URL", help="a git repository or a plain folder")
        parser.add_argument("--rev", default="", help="a branch, tag or commit; else the default branch")
        parser.add_argument("--name", default="", help="how the pages name the repository")
        parser.add_argument("--timeout", type=float, default=3600.0, help="seconds to wait at most")

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, wait and say what came of it; the exit status is 1 when the scan failed."""
        deadline = monotonic() + options["timeout"]
        try:
            location = location_from_here(options["location"])
            repository = repository_add(location=location, name=options["name"], actor=None)
            asked = scan_ask(repository=repository, revision=options["rev"], actor=None)
        except (AuditError, ScanError) as error:
            raise CommandError(str(error)) from error
        scan_run = self._found(asked, deadline) if isinstance(asked, ScanRequest) else asked
        if scan_run.state == RowState.SUCCEEDED:
            self.stdout.write(f"This commit was scanned before, by scan {scan_run.pk}.")
        self._wait(scan_run, deadline)
        self.stdout.write(_summary(scan_run))

    def _found(self, request: ScanRequest, deadline: float) -> ScanRun:
        self._wait(request, deadline)
        if request.scan_run is None:
            raise CommandError(f"The request for {request} ended without a scan.")
        return request.scan_run

    def _wait(self, row: ScanRun | ScanRequest, deadline: float) -> None:
        said = ""
        while not row.is_over:
            if monotonic() > deadline:
                raise CommandError(f"{row} is still {row.state}. It goes on; its page shows how it ends.")
            text = _progress(row)
            if text != said:
                self.stdout.write(text)
                sys.stdout.flush()
            said = text
            sleep(POLL_SECONDS)
            try:
                row.refresh_from_db()
            except OperationalError:
                # The database restarts: it is asked again until the time is up.
                connection.close()
        if row.state != RowState.SUCCEEDED:
            raise CommandError(f"{row} {row.state}. {row.failure_reason}".strip())


def _progress(row: ScanRun | ScanRequest) -> str:
    if row.state == RowState.PENDING:
        return f"{row}: waiting for a worker"
    if isinstance(row, ScanRequest) or not row.phase:
        return f"{row}: running"
    return f"{row}: {row.phase} {row.done} of {row.total}" if row.total else f"{row}: {row.phase}"


def _summary(scan_run: ScanRun) -> str:
    return (
        f"Scan {scan_run.pk} of {scan_run.repository.name} at {scan_run.commit.short_id}: "
        f"{scan_run.result_count} results in {scan_run.file_count} files; "
        f"{scan_run.new_count} new, {scan_run.absent_count} no longer seen."
    )
