"""The scan that a local run begins with: the sample workspace, or what was named."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import OperationalError, connection

from audit.errors import AuditError
from audit.models import RowState, ScanRequest, ScanRun
from audit.scanner.errors import ScanError
from audit.services.addresses import location_from_here
from audit.services.repositories import repository_add
from migrations_tracker.selectors.overview import scan_breakdown
from migrations_tracker.services.scans import scan_ask
from migrations_tracker.supervisor.errors import SupervisorError


@dataclass(slots=True)
class FirstScan:
    """A scan under way, or the request that becomes one when its repository has been fetched."""

    row: ScanRequest | ScanRun
    was_done: bool

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more will happen by itself."""
        return (isinstance(self.row, ScanRun) and self.row.is_over) or self.has_failed

    @property
    def has_failed(self) -> bool:
        """Tell whether it ended without a result."""
        return self.row.state in {RowState.FAILED, RowState.CANCELLED}

    def look(self) -> str:
        """Read from the database how far it is, and return that in a few words."""
        try:
            self.row.refresh_from_db()
        except OperationalError:
            # Whoever watches over the database starts it again.
            connection.close()
            return "waiting for the database"
        if isinstance(self.row, ScanRequest):
            if self.row.scan_run is None:
                return "fetching the repository" if self.row.state == RowState.RUNNING else self.row.state
            self.row = self.row.scan_run
        if self.row.state == RowState.RUNNING and self.row.phase:
            count = f" {self.row.done} of {self.row.total}" if self.row.total else ""
            return f"{self.row.phase}{count}"
        return str(self.row.state)

    def result(self) -> str:
        """Return what was found, or why nothing was."""
        name = self.row.repository.name
        if self.has_failed:
            return f"{name}: the scan {self.row.state}. {self.row.failure_reason}".rstrip()
        if not isinstance(self.row, ScanRun) or not self.row.is_over:
            return f"{name}: the scan goes on; its page shows how far it is"
        found = scan_breakdown(scan_run=self.row)
        levels = ", ".join(f"{count} {level}" for level, count in found.total.levels)
        total = f"{found.total.total} results ({levels})" if levels else "no results"
        return (
            f"{name}: {total} of {len(found.rules)} rules "
            f"in {len(found.crates)} crates; {self.row.file_count} files looked at"
        )

    def path(self) -> str:
        """Return the address of its page."""
        return str(self.row.get_absolute_url())


def ask(*, location: str, revision: str, actor_name: str, profile: str = "") -> FirstScan:
    """Add the repository, unless it is known, and ask for its scan, which a commit has once.

    Without a profile, what the crates depend on says which one fits.
    """
    actor = User.objects.get(username=actor_name)
    try:
        repository = repository_add(location=location_from_here(location), profile=profile, actor=actor)
        row = scan_ask(repository=repository, revision=revision, actor=actor)
    except (AuditError, ScanError) as error:
        raise SupervisorError(f"`{location}` cannot be scanned. {error}") from error
    return FirstScan(row, was_done=row.state == RowState.SUCCEEDED)
