"""A few lines of Rust as a page shows them: numbered, highlighted, some of them flagged."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import RustLexer

MAX_FLAGGED_LINES = 60
MAX_COLUMNS = 400
_FORMATTER = HtmlFormatter[str](nowrap=True, classprefix="hl-")
_LEXER = RustLexer(stripnl=False, ensurenl=False)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line: its number, its highlighted text and whether it is flagged."""

    number: int
    html: SafeString
    is_flagged: bool


@dataclass(frozen=True, slots=True)
class SourceFrame:
    """Some lines of a file; `omitted` counts flagged lines that are not shown."""

    lines: tuple[SourceLine, ...]
    omitted: int = 0


def frame_of_source(text: str, *, flagged: tuple[int, int], context: int) -> SourceFrame:
    """Cut the flagged lines and `context` lines around them out of a file."""
    lines = text.split("\n")
    first, last = flagged
    shown_last = min(last, first + MAX_FLAGGED_LINES - 1)
    start = max(1, first - context)
    end = min(len(lines), shown_last + (context if shown_last == last else 0))
    part = lines[start - 1 : end]
    return SourceFrame(_lines(part, start, range(first, shown_last + 1)), omitted=max(0, last - shown_last))


def frame_of_snippet(snippet: str, *, first_line: int) -> SourceFrame:
    """Show the lines a result brought along, where its file can't be had."""
    lines = snippet.rstrip("\n").split("\n")
    shown = lines[:MAX_FLAGGED_LINES]
    return SourceFrame(
        _lines(shown, first_line, range(first_line, first_line + len(shown))), omitted=len(lines) - len(shown)
    )


def frame_of_example(source: str, *, flagged: Collection[int]) -> SourceFrame:
    """Show a rule's example whole."""
    return SourceFrame(_lines(source.rstrip("\n").split("\n"), 1, flagged))


def _lines(lines: list[str], start: int, flagged: Collection[int]) -> tuple[SourceLine, ...]:
    text = "\n".join(line[:MAX_COLUMNS] for line in lines)
    rendered = _highlighted(text).split("\n")
    return tuple(
        SourceLine(number, mark_safe(html), number in flagged)  # noqa: S308
        for number, html in enumerate(rendered, start)
    )


# A rule's page shows some twenty examples, the same ones each time.
@lru_cache(maxsize=512)
def _highlighted(text: str) -> str:
    # The formatter escapes every character of the text that it does not put into a tag itself.
    return highlight(text, _LEXER, _FORMATTER).removesuffix("\n")
