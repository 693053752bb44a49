"""Which files of a crate people read as they are now: counted in the database, listed in pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from django.db import connection

from audit.models import AuditNote, Branch, Crate

FILES_SHOWN = 100
# The files in the crate's folder that are in no other crate's folder inside it, each with the newest note
# that read it: one on an operator counts as well as one on a crate.
_FILES = """
    WITH readings AS (
        SELECT DISTINCT ON (f.path) f.path, f.blob_id, n.id
        FROM audit_auditnote AS n CROSS JOIN LATERAL jsonb_each_text(n.files) AS f(path, blob_id)
        WHERE n.repository_id = %(repository)s AND starts_with(f.path, %(own)s)
        ORDER BY f.path, n.id DESC
    ), files AS (
        SELECT s.path, s.line_count, r.id AS note_id,
            CASE WHEN r.id IS NULL THEN 1 WHEN r.blob_id <> s.blob_id THEN 0 ELSE 2 END AS state
        FROM audit_scanfile AS s LEFT JOIN readings AS r ON r.path = s.path
        WHERE s.scan_run_id = %(scan)s AND starts_with(s.path, %(own)s)
        AND NOT EXISTS (SELECT FROM unnest(%(inner)s::text[]) AS folder WHERE starts_with(s.path, folder))
    )
"""
_COUNTS = f"{_FILES} SELECT state, count(*), sum(line_count) FROM files GROUP BY state"  # noqa: S608
_PAGE = f"""{_FILES}
    SELECT path, line_count, note_id, state FROM files
    WHERE (state, path COLLATE "C") > (%(after_state)s, %(after_path)s)
    ORDER BY state, path COLLATE "C" LIMIT %(most)s
"""  # noqa: S608 - the text above


class ReadState(IntEnum):
    """How it stands with a file, in the order of the list."""

    CHANGED = 0
    UNREAD = 1
    READ = 2


@dataclass(frozen=True, slots=True)
class FileReading:
    """A file of a crate as the newest scan has it, and the newest note that read it."""

    path: str
    line_count: int
    note: AuditNote | None
    state: ReadState

    @property
    def is_read(self) -> bool:
        """Whether somebody read what stands there now."""
        return self.state is ReadState.READ

    @property
    def is_changed(self) -> bool:
        """Whether it changed since it was read."""
        return self.state is ReadState.CHANGED


@dataclass(frozen=True, slots=True)
class CrateReading:
    """A crate's files, those to read first, in a page; the counts are of all. `next` goes into the URL."""

    files: Sequence[FileReading]
    next: str
    file_count: int
    files_read: int
    files_changed: int
    lines: int
    lines_read: int


def crate_reading(*, crate: Crate, branch: Branch, after: str = "") -> CrateReading:
    """Tell which files of a crate were read as the branch's newest scan has them.

    `after` is the `next` of the page before; one that is none is the first page.
    """
    state, path = _after(after)
    values = {
        "repository": crate.repository_id,
        "scan": branch.last_scan_id,
        "own": _folder(crate.path),
        "inner": _inner(crate),
        "after_state": state,
        "after_path": path,
        "most": FILES_SHOWN + 1,
    }
    counts = {ReadState(row[0]): (row[1], row[2]) for row in _rows(_COUNTS, values)}
    rows = _rows(_PAGE, values)
    notes = AuditNote.objects.select_related("reader", "repository").in_bulk(
        {row[2] for row in rows if row[2]}
    )
    files = [
        FileReading(path, lines, notes.get(note_id), ReadState(state)) for path, lines, note_id, state in rows
    ]
    last = files[FILES_SHOWN - 1] if len(files) > FILES_SHOWN else None
    return CrateReading(
        files=files[:FILES_SHOWN],
        next=f"{last.state.value}:{last.path}" if last is not None else "",
        file_count=sum(count for count, _ in counts.values()),
        files_read=counts.get(ReadState.READ, (0, 0))[0],
        files_changed=counts.get(ReadState.CHANGED, (0, 0))[0],
        lines=sum(lines for _, lines in counts.values()),
        lines_read=counts.get(ReadState.READ, (0, 0))[1],
    )


def _after(text: str) -> tuple[int, str]:
    state, _, path = text.partition(":")
    known = {str(one.value) for one in ReadState}
    return (int(state), path) if state in known and "\0" not in path else (-1, "")


def _rows(statement: str, values: dict[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[Any] = cursor.fetchall()
    return rows


def _inner(crate: Crate) -> list[str]:
    own = _folder(crate.path)
    others = Crate.objects.filter(repository=crate.repository_id).exclude(pk=crate.pk)
    folders = map(_folder, others.values_list("path", flat=True))
    return [folder for folder in folders if folder != own and folder.startswith(own)]


def _folder(path: str) -> str:
    path = path.strip("/")
    return "" if path in ("", ".") else f"{path}/"
