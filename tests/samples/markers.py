"""What the sample workspace says about itself: which lines a scan flags, and which it must not.

A line of Rust may end in `//~ FT001` (flagged by that rule) or `//~ ok FT001: why` (looks like a site of that
rule and is none). One line may carry several.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MINITORCH = Path(__file__).parent / "minitorch"

_SUFFIXES = frozenset({".rs", ".toml", ".ptx", ".wgsl", ".cu"})
_MARK = "//~"
_FLAGGED = re.compile(r"(FT\d{3})")
_ALLOWED = re.compile(r"ok (FT\d{3}): \S.*")


class MarkerError(ValueError):
    """A marker that says nothing the harness understands."""


@dataclass(frozen=True, order=True, slots=True)
class Place:
    """A line that a rule has to do with."""

    path: str
    line: int
    rule_id: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A workspace without its markers, and what the markers said."""

    files: Mapping[str, bytes]
    flagged: frozenset[Place] = field(default_factory=frozenset)
    allowed: frozenset[Place] = field(default_factory=frozenset)

    def source_line(self, place: Place) -> str:
        """Return the text of a place, for messages."""
        return self.files[place.path].decode().split("\n")[place.line - 1].strip()


def read_sample(root: Path = MINITORCH) -> Sample:
    """Read a workspace; lines keep their numbers."""
    files: dict[str, bytes] = {}
    flagged: set[Place] = set()
    allowed: set[Place] = set()
    for file in sorted(root.rglob("*")):
        parts = file.relative_to(root).parts
        if file.suffix not in _SUFFIXES or "target" in parts or not file.is_file():
            continue
        path = "/".join(parts)
        lines = []
        for number, line in enumerate(file.read_text("utf-8").split("\n"), 1):
            code, *marks = line.split(_MARK)
            for mark in marks:
                _sort_in(mark.strip(), path, number, flagged, allowed)
            lines.append(code.rstrip() if marks else code)
        files[path] = "\n".join(lines).encode()
    return Sample(files, frozenset(flagged), frozenset(allowed))


def _sort_in(mark: str, path: str, line: int, flagged: set[Place], allowed: set[Place]) -> None:
    if match := _FLAGGED.fullmatch(mark):
        flagged.add(Place(path, line, match[1]))
    elif match := _ALLOWED.fullmatch(mark):
        allowed.add(Place(path, line, match[1]))
    else:
        raise MarkerError(f"{path}:{line}: `{mark}` is no marker")
