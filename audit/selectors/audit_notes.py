"""What was read of a crate or for an operator, and what is unread at the newest scan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from audit.models import AuditNote, Branch, Crate, KnowledgeEntry, NoteSubject, Repository, ScanFile

NOTES_SHOWN = 50
ENTRIES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class FileReading:
    """A file of a crate as the newest scan has it, and the newest note that read it."""

    path: str
    line_count: int
    note: AuditNote | None
    is_changed: bool

    @property
    def is_read(self) -> bool:
        """Whether somebody read what stands there now."""
        return self.note is not None and not self.is_changed


@dataclass(frozen=True, slots=True)
class CrateReading:
    """The files of a crate, the unread first."""

    files: Sequence[FileReading]

    @property
    def lines(self) -> int:
        """How many lines the crate has."""
        return sum(file.line_count for file in self.files)

    @property
    def lines_read(self) -> int:
        """How many of them are in files that were read as they are now."""
        return sum(file.line_count for file in self.files if file.is_read)

    @property
    def files_read(self) -> int:
        """How many files were read as they are now."""
        return sum(file.is_read for file in self.files)

    @property
    def files_changed(self) -> int:
        """How many files changed since they were read."""
        return sum(file.is_changed for file in self.files)


def notes_of(*, repository: Repository, kind: NoteSubject, subject: str) -> Sequence[AuditNote]:
    """List the notes on a crate or an operator, the newest first."""
    rows = AuditNote.objects.filter(repository=repository, subject_kind=kind, subject=subject)
    return list(rows.select_related("reader", "commit")[:NOTES_SHOWN])


def entries_about(*, kind: str, target: str, repositories: Iterable[Repository]) -> Sequence[KnowledgeEntry]:
    """List the published entries of the repositories, and of none, that are attached to something or name
    it, the newest first.
    """
    rows = KnowledgeEntry.objects.filter(
        links__kind=kind, links__target=target, published_number__gt=0
    ).distinct()
    rows = rows.filter(Q(repository=None) | Q(repository__in=repositories))
    return list(rows.only("title")[:ENTRIES_SHOWN])


def crate_reading(*, crate: Crate, branch: Branch) -> CrateReading:
    """Tell which files of a crate were read as the branch's newest scan has them.

    A note on an operator that read a file of the crate counts as well as one on the crate.
    """
    readings: dict[str, tuple[AuditNote, str]] = {}
    notes = AuditNote.objects.filter(repository=crate.repository).select_related("reader").order_by("id")
    for note in notes:
        readings |= {path: (note, blob_id) for path, blob_id in note.files.items()}
    files = [
        FileReading(path, line_count, *_state(readings.get(path), blob_id))
        for path, blob_id, line_count in _crate_files(crate, branch)
    ]
    return CrateReading(sorted(files, key=lambda file: (file.is_read, file.note is None, file.path)))


def _state(reading: tuple[AuditNote, str] | None, blob_id: str) -> tuple[AuditNote | None, bool]:
    return (None, False) if reading is None else (reading[0], reading[1] != blob_id)


def _crate_files(crate: Crate, branch: Branch) -> list[tuple[str, str, int]]:
    """The files in the crate's folder that are in no other crate's folder inside it."""
    own = _folder(crate.path)
    others = (
        Crate.objects.filter(repository=crate.repository).exclude(pk=crate.pk).values_list("path", flat=True)
    )
    inner = tuple(folder for folder in map(_folder, others) if folder != own and folder.startswith(own))
    rows = ScanFile.objects.filter(scan_run=branch.last_scan, path__startswith=own)
    return [
        row
        for row in rows.values_list("path", "blob_id", "line_count")
        if not inner or not row[0].startswith(inner)
    ]


def _folder(path: str) -> str:
    path = path.strip("/")
    return "" if path in ("", ".") else f"{path}/"
