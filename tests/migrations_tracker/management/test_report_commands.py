"""The commands about reports and their words."""

from __future__ import annotations

import subprocess
import zipfile
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from audit.models import FallbackSite
from migrations_tracker.models import MigrationReport


def told(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_a_report_is_printed_and_kept(site: FallbackSite) -> None:
    text = told("migration_report", "--repository", site.repository.slug)
    assert "| open | 1 |" in text
    assert MigrationReport.objects.get().digest in text


def test_an_archive_goes_to_a_file(site: FallbackSite, tmp_path: Path) -> None:
    output = tmp_path / "report.zip"
    told("migration_report", "--format", "zip", "--output", str(output))
    with zipfile.ZipFile(output) as found:
        assert len(found.namelist()) == 6


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--repository", "other"), "no repository `other`"),
        (("--branch", "other"), "no such branch"),
        (("--since", "99"), "no scan #99"),
        (("--format", "zip"), "needs --output"),
    ],
)
def test_what_can_not_be_reported_is_said(
    site: FallbackSite, arguments: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(CommandError, match=reason):
        told("migration_report", *arguments)
    assert not MigrationReport.objects.exists()


def test_a_forbidden_phrase_is_found_in_a_file_with_its_line(tmp_path: Path) -> None:
    text = tmp_path / "notes.md"
    text.write_text("# Notes\n\nThe kernel *falls* back to CPU on error.\n")
    out = StringIO()
    with pytest.raises(CommandError, match="1 forbidden phrase"):
        call_command("vocabulary_check", str(text), stdout=out)
    assert f"{text}:3:13: says" in out.getvalue()


def test_commit_messages_are_checked_one_by_one(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for message in ("Begin.", "Add best-effort GPU support.", "Return an error instead."):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", message], check=True)
    where = ("--repository", str(tmp_path))
    assert told("vocabulary_check", "HEAD", *where) == ""
    with pytest.raises(CommandError, match="1 forbidden phrase"):
        told("vocabulary_check", "HEAD~2..HEAD", *where)
    with pytest.raises(CommandError, match="is no commit"):
        told("vocabulary_check", "HEAD^{tree}", *where)


@pytest.mark.parametrize("what", ["no-such-thing", "--output=x"])
def test_what_is_neither_file_nor_commit_is_refused(tmp_path: Path, what: str) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(CommandError, match="neither a file nor a commit"):
        call_command("vocabulary_check", "--repository", str(tmp_path), "--", what)
