"""A piece of code with line numbers and the flagged lines marked."""

from __future__ import annotations

from collections.abc import Iterator

from audit.scanner.output.source_text import SourceText
from audit.scanner.output.style import Style, clipped, visible
from audit.scanner.report import Region, Result

CONTEXT_LINES = 2
_MOST_FLAGGED = 12
_FLAGGED_AT_END = 3


def frame_of(result: Result, source: SourceText | None, style: Style) -> list[str]:
    """Draw the code of a result; without its file, from the snippet alone."""
    text = source or _from_snippet(result)
    context = CONTEXT_LINES if source else 0
    first = max(1, result.region.start_line - context)
    last = max(result.region.end_line, min(len(text.lines), result.region.end_line + context))
    gutter = len(str(last))
    lines = []
    for number in _shown(first, last, result.region):
        lines.append(_line(number, text, result, gutter, style))
        if number == result.region.start_line:
            lines += _underline(text, result, gutter, style)
    return lines


def step_line(region: Region, source: SourceText, style: Style, indent: int) -> str:
    """Draw the one line that a step of the evidence begins in."""
    number = str(region.start_line)
    code = visible(source.line(region.start_line).strip())
    room = style.width - indent - len(number) - 3
    return f"{' ' * indent}{style.paint(number, 'blue')} {style.sign('│', '|')} {clipped(code, room, style)}"


def _from_snippet(result: Result) -> SourceText:
    return SourceText("\n" * (result.region.start_line - 1) + result.snippet)


def _shown(first: int, last: int, region: Region) -> Iterator[int]:
    """Yield the line numbers to draw; 0 stands for lines left out of a long region."""
    flagged = range(region.start_line, region.end_line + 1)
    if len(flagged) <= _MOST_FLAGGED:
        yield from range(first, last + 1)
        return
    head = region.start_line + _MOST_FLAGGED - _FLAGGED_AT_END
    yield from range(first, head)
    yield 0
    yield from range(region.end_line - _FLAGGED_AT_END + 1, last + 1)


def _line(number: int, text: SourceText, result: Result, gutter: int, style: Style) -> str:
    if number == 0:
        hidden = result.region.end_line - result.region.start_line + 1 - _MOST_FLAGGED
        bar = style.in_level(style.sign("┊", ":"), result.level)
        return f" {' ' * gutter} {bar} {style.paint(f'{hidden} more lines', 'dim')}"
    is_flagged = result.region.start_line <= number <= result.region.end_line
    code = clipped(visible(text.line(number)), style.width - gutter - 5, style)
    shown = f"{number:>{gutter}}"
    if is_flagged:
        bar = style.in_level(style.sign("┃", ">"), result.level)
        return f" {style.paint(shown, 'bold')} {bar} {code}".rstrip()
    bar = style.paint(style.sign("│", "|"), "blue")
    return f" {style.paint(shown, 'blue')} {bar} {style.paint(code, 'dim')}".rstrip()


def _underline(text: SourceText, result: Result, gutter: int, style: Style) -> list[str]:
    """Point at the columns of a region that lies in one line and is not all of it."""
    region = result.region
    line = text.line(region.start_line)
    before, marked = line[: region.start_column - 1], line[region.start_column - 1 : region.end_column - 1]
    if region.start_line != region.end_line or not marked or marked.strip() == line.strip():
        return []
    start = len(visible(before))
    room = style.width - gutter - 5 - start
    marks = "^" * min(len(visible(marked)), max(room, 0))
    if not marks:
        return []
    bar = style.in_level(style.sign("┃", ">"), result.level)
    return [f" {' ' * gutter} {bar} {' ' * start}{style.in_level(marks, result.level)}"]
