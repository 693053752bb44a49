"""Findings in CSV: one row each, columns known by their names."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from audit.imports.rows import MAX_TITLE, ImportFormatError, Place, Reading, Refusal, Row, clipped
from audit.imports.texts import lines_of, names_of, places_of, subjects_of

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "title": ("title", "finding", "message", "issue", "description", "summary", "what"),
    "path": ("path", "file", "location", "place", "site", "filename"),
    "line": ("line", "lines", "start_line", "startline", "start line"),
    "end": ("end_line", "endline", "end line"),
    "severity": ("severity", "level", "priority"),
    "rule": ("rule", "rule_id", "ruleid", "rule id", "check"),
    "symbol": ("symbol", "function", "fn"),
    "crate": ("crate", "package"),
    "commit": ("commit", "revision", "sha"),
    "reference": ("url", "link", "reference", "ref"),
    "id": ("id", "key"),
    "text": ("text", "details", "detail", "why", "notes", "note", "comment"),
}
MAX_CELL = 100_000


def read_csv(text: str) -> Reading:
    """Read a CSV document; its first row names the columns."""
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        header = [cell.strip().lower().lstrip("\ufeff") for cell in next(reader, [])]
        at = _columns(header)
        rows: list[Row] = []
        refused: list[Refusal] = []
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                reason = f"{len(cells)} cells where the first row names {len(header)} columns"
                refused.append(Refusal(reader.line_num, reason))
                continue
            read = _row(reader.line_num, {name: cells[index].strip() for name, index in at.items()}, cells)
            (rows if isinstance(read, Row) else refused).append(read)  # type: ignore[arg-type]
    except csv.Error as error:
        raise ImportFormatError(f"Line {reader.line_num}: {error}.") from error
    return Reading(tuple(rows), tuple(refused))


def _delimiter(text: str) -> str:
    first = text.split("\n", 1)[0]
    return max(",;\t", key=first.count)


def _columns(header: list[str]) -> dict[str, int]:
    at = {}
    for name, words in COLUMNS.items():
        for word in words:
            if word in header:
                at[name] = header.index(word)
                break
    if "title" not in at and "path" not in at:
        raise ImportFormatError(
            "Line 1: no column is called `title`, `finding` or `message`, and none `path` or `file`."
        )
    return at


def _row(line: int, cells: Mapping[str, str], whole: list[str]) -> Row | Refusal:
    places = _places(cells)
    if isinstance(places, str):
        return Refusal(line, places)
    said = cells.get("title") or cells.get("text") or cells.get("path") or cells.get("symbol") or ""
    if not said:
        return Refusal(line, "a row that says nothing: no title, no place")
    everything = "\n".join(cell for cell in whole if cell.strip())
    symbol = cells.get("symbol", "").rpartition("::")[2]
    return Row(
        line=line,
        title=clipped(said.split("\n", 1)[0], MAX_TITLE),
        text=everything,
        severity=cells.get("severity", "").lower()[:20],
        crate=cells.get("crate", ""),
        reference=cells.get("reference", ""),
        commit=cells.get("commit", ""),
        own_id=f"csv:{cells['id']}" if cells.get("id") else "",
        places=places,
        names=tuple(dict.fromkeys((*([symbol] if symbol else []), *names_of(everything)))),
        rule_ids=subjects_of(everything),
    )


def _places(cells: Mapping[str, str]) -> tuple[Place, ...] | str:
    path, line = cells.get("path", ""), cells.get("line", "")
    if not path:
        return places_of(cells.get("title", ""))
    if not line:
        return places_of(path) or (Place(path),)
    ranges = lines_of(line)
    if not ranges:
        return f"`{line[:40]}` is no line number"
    end = cells.get("end", "")
    if end.isascii() and end.isdigit() and ranges[0][0] <= int(end) < 10**6:
        ranges = ((ranges[0][0], int(end)),)
    return tuple(Place(path, start, stop) for start, stop in ranges)
