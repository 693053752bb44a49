"""The formats that can be imported, and how a document's is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum

from audit.imports.markdown import read_markdown
from audit.imports.objects import read_issues, read_json, read_sarif
from audit.imports.rows import MAX_BYTES, MAX_ROWS, ImportFormatError, Reading, keyed
from audit.imports.tables import read_csv


class Format(StrEnum):
    """How a document is written."""

    MARKDOWN = "markdown"
    CSV = "csv"
    SARIF = "sarif"
    ISSUES = "github-issues"


FORMAT_LABELS: Mapping[str, str] = {
    Format.MARKDOWN.value: "Markdown",
    Format.CSV.value: "CSV",
    Format.SARIF.value: "SARIF",
    Format.ISSUES.value: "GitHub issues (JSON)",
}
READERS: Mapping[Format, Callable[[str], Reading]] = {
    Format.MARKDOWN: read_markdown,
    Format.CSV: read_csv,
    Format.SARIF: read_sarif,
    Format.ISSUES: read_issues,
}
_BY_SUFFIX = {
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".sarif": Format.SARIF,
}


def format_of(file_name: str, text: str) -> Format:
    """Tell a document's format by its name, and that of JSON by what it holds."""
    name = file_name.lower()
    for suffix, found in _BY_SUFFIX.items():
        if name.endswith(suffix):
            return found
    if name.endswith(".json"):
        data = read_json(text)
        return Format.SARIF if isinstance(data, dict) and "runs" in data else Format.ISSUES
    raise ImportFormatError(
        f"`{file_name[:80]}` tells no format: name it .md, .csv, .sarif or .json, or choose the format."
    )


def read_document(data: bytes, *, file_name: str, format_name: str = "") -> tuple[Format, Reading]:
    """Read a document; ImportFormatError says why it can't be read."""
    if len(data) > MAX_BYTES:
        raise ImportFormatError(f"The document has {len(data):,} bytes; {MAX_BYTES:,} are the most.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ImportFormatError(f"Line {line}: byte {error.start} is not UTF-8.") from error
    text = text.replace("\0", "")
    chosen = Format(format_name) if format_name else format_of(file_name, text)
    reading = READERS[chosen](text)
    if len(reading.rows) > MAX_ROWS:
        raise ImportFormatError(
            f"The document has {len(reading.rows):,} findings; {MAX_ROWS:,} are the most."
        )
    if not reading.rows:
        more = (
            f" {reading.refused[0].reason.capitalize()} (line {reading.refused[0].line})."
            if reading.refused
            else ""
        )
        raise ImportFormatError(f"No finding was read from it.{more}")
    return chosen, replace(reading, rows=tuple(keyed(reading.rows)))
