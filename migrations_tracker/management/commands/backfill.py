"""`manage.py backfill`: scan the history of a branch."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.errors import AuditError
from audit.models import Repository
from audit.scanner.errors import ScanError
from audit.services.backfill import BackfillProgress, backfill
from audit.services.git_transfer import repository_fetch
from audit.services.repositories import repository_add
from migrations_tracker.services.history import history_follow_up

_SAY_EVERY_SECONDS = 1.0


class Command(BaseCommand):
    """Scan every commit of a branch, oldest first, with today's rules."""

    help = (
        "Scan every commit of a branch, oldest first, with today's rules. What was scanned before is kept; a "
        "run that was stopped goes on where it was."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("repository", metavar="REPO", help="its slug, or a path or URL to add")
        parser.add_argument("--branch", default="", help="else the default branch")
        parser.add_argument(
            "--since", default="", metavar="COMMIT_OR_DATE", help="the first commit, or a day (2026-05-01)"
        )
        parser.add_argument("--jobs", type=int, default=2, help="processes that scan")

    def handle(self, *args: Any, **options: Any) -> None:
        """Scan, say how far it is, and what could not be scanned."""
        started = said = monotonic()

        def say(state: BackfillProgress) -> None:
            nonlocal said
            if state.done == state.total or monotonic() - said > _SAY_EVERY_SECONDS:
                self.stdout.write(f"{state.done} of {state.total} commits  {state.commit[:9]}".rstrip())
                sys.stdout.flush()
                said = monotonic()

        try:
            state = backfill(
                repository=self._repository(options["repository"]),
                branch_name=options["branch"],
                since=options["since"],
                jobs=options["jobs"],
                progress=say,
                after_settling=history_follow_up,
            )
        except (AuditError, ScanError, ValueError) as error:
            raise CommandError(str(error)) from error
        for commit, reason in state.failed.items():
            self.stdout.write(f"{commit[:9]} was not scanned: {reason}")
        scanned = state.total - state.kept - len(state.failed)
        self.stdout.write(
            f"{scanned} commits scanned, {state.kept} known before, {len(state.failed)} left out, "
            f"in {monotonic() - started:.1f} s."
        )

    def _repository(self, named: str) -> Repository:
        known = Repository.objects.filter(slug=named).first()
        repository = known or repository_add(location=named, name="", actor=None)
        if repository.kind == "git-url":
            repository_fetch(repository=repository)
        return repository
