"""`manage.py vocabulary_check`: find the phrases that the policy forbids (clause W2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.scanner.errors import ScanError
from audit.scanner.source.git_command import run_git
from audit.scanner.vocabulary import forbidden_phrases


class Command(BaseCommand):
    """Check files and commit messages; fail when one of them holds a forbidden phrase."""

    help = "Find forbidden phrases in text files, changelogs and commit messages."
    # It reads texts alone: a build machine has neither database nor broker.
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("what", nargs="+", metavar="FILE|COMMIT", help="a text file, a commit or a range")
        parser.add_argument("--repository", default=".", help="where the commits are; else this folder")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print each phrase with its place."""
        count = 0
        for what in options["what"]:
            for name, text in _texts(what, options["repository"]):
                for phrase in forbidden_phrases(text):
                    count += 1
                    line = text.count("\n", 0, phrase.start) + 1
                    column = phrase.start - text.rfind("\n", 0, phrase.start)
                    self.stdout.write(
                        f"{name}:{line}:{column}: says \u201c{phrase.text}\u201d ({phrase.form})"
                    )
        if count:
            raise CommandError(f"{count} forbidden phrase{'s' if count > 1 else ''}, see policy clause W2.")


def _texts(what: str, repository: str) -> list[tuple[str, str]]:
    """Return the named texts: of a file, or of each commit of a range."""
    path = Path(what)
    if path.is_file():
        try:
            return [(what, path.read_text(encoding="utf-8"))]
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{what} can't be read: {error}.") from error
    if what.startswith("-"):
        raise CommandError(f"{what} is neither a file nor a commit.")
    single = () if ".." in what else ("--no-walk",)
    try:
        answer = run_git(
            "-C", repository, "log", *single, "--format=%H%x00%B%x00", "--end-of-options", what, "--"
        )
    except ScanError as error:
        raise CommandError(str(error)) from error
    if not answer.succeeded:
        raise CommandError(f"{what} is neither a file nor a commit of {repository}: {answer.error}")
    if single and not answer.output:
        # A tree, for instance: to check nothing is not to find nothing.
        raise CommandError(f"{what} is no commit of {repository}.")
    parts = answer.output.decode(errors="backslashreplace").split("\0")
    return [(commit.strip()[:12], text) for commit, text in zip(parts[::2], parts[1::2], strict=False)]
