"""The text of the files that results lie in, for code frames and line hashes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from audit.scanner.report import Result, ScanReport
from audit.scanner.source.base import Content, Source

SourceTexts = Mapping[str, "SourceText"]


class SourceText:
    """The text of one file."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines without their ends. Only what Rust takes for a line end is one."""
        return tuple(line.removesuffix("\r") for line in self.text.removesuffix("\n").split("\n"))

    def line(self, number: int) -> str:
        """Return a line by its number from 1, or nothing beyond the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""


def read_texts(source: Source, report: ScanReport, paths: Iterable[str]) -> SourceTexts:
    """Read files again after the scan. One that has changed since is left out: its lines would mislead."""
    wanted = set(paths)
    scanned = {entry.path: entry.blob_id for entry in report.manifest}
    texts = {}
    files = [file for file in source.entries() if file.path in wanted and not file.skip_reason]
    for file, answer in source.read(files):
        if isinstance(answer, Content) and answer.blob_id == scanned.get(file.path):
            texts[file.path] = SourceText(answer.data.decode())
    return texts


def paths_shown(results: Iterable[Result]) -> set[str]:
    """Return the paths of every result and every step of its evidence."""
    return {path for one in results for path in (one.path, *(step.path for step in one.evidence))}
