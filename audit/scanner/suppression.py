"""Suppressions in the source: `// ferroaudit: allow(silent-fallback) the reason`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from audit.scanner.report import Region, Result, Suppression

# SARIF 2.1.0 section 3.35.2: where a suppression stands.
IN_SOURCE = "inSource"
EXTERNAL = "external"
ACCEPTED = "accepted"
REJECTED = "rejected"
_COMMENT = re.compile(
    r"/[/*]\s*ferroaudit:\s*allow\(\s*(?P<rules>[^)]*)\)\s*[:,;-]*\s*(?P<reason>.*?)\s*(?:\*/)?", re.DOTALL
)
_ATTRIBUTE = re.compile(rb"\s*#!?\[")


class Allowance(NamedTuple):
    """A comment that allows rules on some lines. `rules` are names or ids, as written."""

    rules: tuple[str, ...]
    reason: str
    region: Region
    lines: range

    def covers(self, rule_id: str, rule_name: str, line: int) -> bool:
        """Tell whether a result of the rule that starts in the line is meant."""
        return line in self.lines and not {rule_id, rule_name}.isdisjoint(self.rules)


def find_allowances(data: bytes, comments: Iterable[tuple[int, int]]) -> tuple[Allowance, ...]:
    """Find the comments that allow something, in a file whose comments lie at these byte offsets.

    A comment after code is about its line. One on a line of its own is about the code below it, past further
    comments and attributes. Doc comments are text for readers and allow nothing.
    """
    if b"ferroaudit:" not in data:
        return ()
    found = []
    lines = data.splitlines(keepends=True)
    spans = sorted(comments)
    for start, end in spans:
        match = _COMMENT.fullmatch(data[start:end].decode(errors="replace"))
        if match:
            rules = tuple(name.strip() for name in match["rules"].split(",") if name.strip())
            region = _region(data, start, end)
            covered = _lines_covered(lines, spans, data, start, region)
            found.append(Allowance(rules, " ".join(match["reason"].split()), region, covered))
    return tuple(found)


def suppressions_for(
    rule_id: str, rule_name: str, line: int, allowances: Iterable[Allowance]
) -> tuple[Suppression, ...]:
    """Return what the comments say about a result; without a reason a comment is rejected."""
    return tuple(
        Suppression(IN_SOURCE, ACCEPTED if allowance.reason else REJECTED, allowance.reason, allowance.region)
        for allowance in allowances
        if allowance.covers(rule_id, rule_name, line)
    )


def is_suppressed(result: Result) -> bool:
    """Tell whether a result is suppressed, as SARIF defines it: something accepted, nothing else."""
    statuses = {suppression.status for suppression in result.suppressions}
    return statuses == {ACCEPTED}


def is_suppressed_in_source(result: Result) -> bool:
    """Tell whether a result is suppressed by what stands in the source alone: without that, it counts."""
    return is_suppressed(result) and all(one.kind == IN_SOURCE for one in result.suppressions)


def _lines_covered(
    lines: Sequence[bytes], spans: Sequence[tuple[int, int]], data: bytes, start: int, region: Region
) -> range:
    before = data[data.rfind(b"\n", 0, start) + 1 : start]
    if before.strip():
        return range(region.start_line, region.start_line + 1)
    comment_lines = {
        line for first, last in spans for line in range(_line_of(data, first), _line_of(data, last - 1) + 1)
    }
    line = region.end_line + 1
    while line <= len(lines) and _is_before_code(lines[line - 1], in_comment=line in comment_lines):
        line += 1
    return range(region.end_line + 1, line + 1)


def _is_before_code(line: bytes, *, in_comment: bool) -> bool:
    """Tell whether the line is a comment or an attribute alone, so that the code it is about comes later."""
    if _ATTRIBUTE.match(line):
        return True
    return in_comment and line.lstrip().startswith((b"//", b"/*", b"*"))


def _region(data: bytes, start: int, end: int) -> Region:
    while end > start and data[end - 1 : end] in (b"\n", b"\r"):
        end -= 1
    return Region(_line_of(data, start), _column_of(data, start), _line_of(data, end), _column_of(data, end))


def _line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _column_of(data: bytes, offset: int) -> int:
    line_start = data.rfind(b"\n", 0, offset) + 1
    return len(data[line_start:offset].decode(errors="replace")) + 1
