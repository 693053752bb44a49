"""`manage.py rescan`: judge a branch's newest commit anew, or say what that would change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.errors import AuditError
from audit.models import Branch, ScanRun
from audit.scanner.errors import ScanError
from audit.selectors.rules import rule_get
from audit.services.rescan_preview import RescanPreview, rescan_preview
from migrations_tracker.services.scans import scan_ask


class Command(BaseCommand):
    """Judge a branch's newest scanned commit by today's scanner and profile."""

    help = (
        "Ask for a scan of a branch's newest scanned commit by today's scanner and profile. With --dry-run "
        "it is scanned here: what would change is told, and nothing stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("repository", metavar="REPO", help="its slug")
        parser.add_argument("--branch", default="", help="else the default branch")
        parser.add_argument("--dry-run", action="store_true", help="tell what would change, store nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, or tell."""
        slug = options["repository"]
        branches = Branch.objects.filter(repository__slug=slug).select_related(
            "repository", "last_scan__commit"
        )
        by_name = {branch.name: branch for branch in branches}
        if not by_name:
            raise CommandError(f"No repository `{slug}` with a branch is known. Add it, and scan it once.")
        name = options["branch"] or next(iter(by_name.values())).repository.default_branch
        if name not in by_name:
            raise CommandError(f"`{slug}` has no branch `{name}`: it has {', '.join(sorted(by_name))}.")
        try:
            if options["dry_run"]:
                for line in _told(rescan_preview(branch=by_name[name])):
                    self.stdout.write(line)
            else:
                self._ask(by_name[name])
        except (AuditError, ScanError) as error:
            raise CommandError(str(error)) from error

    def _ask(self, branch: Branch) -> None:
        last = branch.last_scan
        if last is None:
            raise AuditError(f"`{branch.name}` has no scan yet: ask for its first one.")
        revision = "" if last.commit.is_snapshot else last.commit.object_id
        asked = scan_ask(repository=branch.repository, revision=revision, actor=None)
        if isinstance(asked, ScanRun) and asked.pk == last.pk:
            self.stdout.write(f"Today's scanner and profile have judged this commit: scan {last.pk}.")
        else:
            self.stdout.write(f"Asked for: {asked}.")


def _told(preview: RescanPreview) -> Iterator[str]:
    """Yield what a preview says, line by line."""
    yield (
        f"Commit {preview.commit}: judged by scanner {preview.old_version}, now by {preview.new_version}. "
        "Nothing is stored."
    )
    yield f"{preview.kept} open sites stay open."
    for match_pass, count in sorted(preview.passes.items()):
        yield f"   {count} recognised by {match_pass}"
    for what, by_rule in (
        ("new", preview.new),
        ("back again", preview.reopened),
        ("no longer seen", preview.closed),
    ):
        yield f"{by_rule.total()} would be {what}."
        for rule_id, count in sorted(by_rule.items()):
            yield f"   {count} {rule_id} {rule_get(rule_id=rule_id).name}"
    for outcome, count in sorted(preview.closed_outcomes.items()):
        yield (f"   {count} with outcome {outcome}" if outcome != "none" else f"   {count} without outcome")
    for (old, new), count in sorted(preview.respelled.items()):
        yield f"{count} would be seen by {new} instead of {old}."
    if preview.changes_nothing:
        yield "Nothing would change."
