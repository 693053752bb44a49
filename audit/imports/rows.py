"""What the readers of all formats yield."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

MAX_BYTES = 5_000_000
MAX_ROWS = 5_000
MAX_REFUSED = 500
MAX_TITLE = 500
MAX_TEXT = 20_000
_SPACE = re.compile(r"\s+")


class ImportFormatError(ValueError):
    """The document can't be read at all; the message names the line, where there is one, and the reason."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place as a document writes it: a path, or its end, and the lines; 0 where it names none."""

    path: str
    start: int = 0
    end: int = 0

    def __str__(self) -> str:
        if not self.start:
            return self.path
        return f"{self.path}:{self.start}" + (f"-{self.end}" if self.end != self.start else "")


@dataclass(frozen=True, slots=True)
class Row:
    """One finding of a document. `line` is where it stands in the document, or its number where a format has
    no lines; `names` are the functions and macros that it speaks of; `own_id` is its id in the document.
    """

    line: int
    title: str
    text: str = ""
    section: str = ""
    severity: str = ""
    crate: str = ""
    reference: str = ""
    commit: str = ""
    own_id: str = ""
    places: tuple[Place, ...] = ()
    names: tuple[str, ...] = ()
    rule_ids: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A part of a document that was not read as a finding, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A document as it was read. `commit` and `repositories` are what it says it speaks of, or empty."""

    rows: tuple[Row, ...]
    refused: tuple[Refusal, ...] = ()
    commit: str = ""
    repositories: tuple[str, ...] = ()


def keyed(rows: Iterable[Row]) -> Iterator[Row]:
    """Give each row the key it has in every reading of the same document; equal rows are numbered."""
    seen: Counter[str] = Counter()
    for row in rows:
        content = row.own_id or "\n".join((row.crate, squeezed(row.title), squeezed(row.text)))
        digest = hashlib.sha256(content.encode()).hexdigest()
        seen[digest] += 1
        if seen[digest] > 1:
            digest = hashlib.sha256(f"{digest} {seen[digest]}".encode()).hexdigest()
        yield replace(row, key=digest)


def squeezed(text: str) -> str:
    """Put a text on one line, with single spaces."""
    return _SPACE.sub(" ", text).strip()


def clipped(text: str, length: int) -> str:
    """Cut a text that is too long to store, and show that it was cut."""
    text = text.replace("\0", "")
    return text if len(text) <= length else f"{text[: length - 1]}…"
