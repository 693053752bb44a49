"""Writing down who read which files of a crate or for an operator, and at which commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

from django.contrib.auth.models import User
from django.utils import timezone

from audit.errors import AuditError
from audit.models import AuditNote, Crate, NoteSubject, Repository, RowState, ScanFile, ScanRun
from audit.parity.catalogue import newest
from audit.parity.counterparts import is_known

MAX_TEXT = 50_000
MAX_FILES = 2_000


def audit_note_add(
    *,
    repository: Repository,
    kind: NoteSubject,
    subject: str,
    reader: User,
    revision: str,
    read_on: date,
    paths: Sequence[str],
    text: str,
    remaining: str = "",
) -> AuditNote:
    """Keep what a person read and found. The row is never changed, so it is its own history.

    `revision` is the beginning of a commit's id, of which the newest finished scan tells the files and their
    content; `paths` are files or folders of that scan.
    """
    text, remaining = _text(text), _text(remaining)
    if not text:
        raise AuditError("Write what you read and what you found.")
    if read_on > timezone.localdate():
        raise AuditError(f"{read_on} is not over yet: say when you read it.")
    if not _is_there(repository, kind, subject):
        raise AuditError(f"Nothing here is called {subject}.")
    scan = _scan(repository, revision.strip().lower())
    return AuditNote.objects.create(
        repository=repository,
        subject_kind=kind,
        subject=subject,
        commit=scan.commit,
        read_on=read_on,
        reader=reader,
        files=_files(scan, paths),
        text=text,
        remaining=remaining,
    )


def _text(text: str) -> str:
    text = text.replace("\0", "").replace("\r\n", "\n").strip()
    if len(text) > MAX_TEXT:
        raise AuditError(f"A note has at most {MAX_TEXT:,} characters; this one has {len(text):,}.")
    return text


def _is_there(repository: Repository, kind: NoteSubject, subject: str) -> bool:
    if kind == NoteSubject.CRATE:
        return Crate.objects.filter(repository=repository, name=subject).exists()
    return is_known(newest(), subject)


def _scan(repository: Repository, revision: str) -> ScanRun:
    if len(revision) < 7:
        raise AuditError("Name the commit you read by at least seven characters of its id.")
    scans = ScanRun.objects.filter(
        repository=repository, state=RowState.SUCCEEDED, commit__object_id__startswith=revision
    ).select_related("commit")
    if len({scan.commit_id for scan in scans}) > 1:
        raise AuditError(f"More than one commit begins with {revision}: give more of its id.")
    scan = scans.order_by("-id").first()
    if scan is None:
        raise AuditError(f"No finished scan of {repository} is of a commit that begins with {revision}.")
    return scan


def _files(scan: ScanRun, paths: Iterable[str]) -> dict[str, str]:
    """The content of each file that the paths name, by its path."""
    wanted = [path.strip().strip("/").replace("\0", "") for path in paths if path.strip()]
    known = dict(ScanFile.objects.filter(scan_run=scan).exclude(blob_id="").values_list("path", "blob_id"))
    found: dict[str, str] = {}
    for path in wanted:
        inside = [name for name in known if name == path or name.startswith(f"{path}/")]
        if not inside:
            raise AuditError(f"The scan of {scan.commit.short_id} has no file or folder {path}.")
        found |= {name: known[name] for name in inside}
    if len(found) > MAX_FILES:
        raise AuditError(f"A note names at most {MAX_FILES:,} files; these are {len(found):,}.")
    return found
