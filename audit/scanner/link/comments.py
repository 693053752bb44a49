"""Comments as people read them: lines that stand together are one text, and belong to a function."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from audit.scanner.link.unit import Fn, Unit

_LEAD = re.compile(r"^\s*(?:///?!?|/\*\*?!?|\*/|\*(?!\*))[ \t]?", re.MULTILINE)
_LINE_BREAK = 10
_MARKS = frozenset({b"///", b"//!", b"/**", b"/*!"})
_RULER = re.compile(r"^[\s\-=*/#~]+$")


@dataclass(eq=False)
class CommentBlock:
    """Comments with nothing but white space between them."""

    unit: Unit
    start: int
    end: int

    @cached_property
    def text(self) -> str:
        """What the comments say, in one line: no comment marks and no rulers."""
        lines = [_LEAD.sub("", line) for line in self.unit.text(self.start, self.end).splitlines()]
        return " ".join(line.strip() for line in lines if line.strip() and not _RULER.match(line))

    @property
    def is_module_doc(self) -> bool:
        """Whether the block documents what it stands in."""
        return _mark(self.unit, self.start) in (b"//!", b"/*!")

    @property
    def last_line(self) -> int:
        """The line that the block ends in."""
        return self.unit.line(self.end)

    @property
    def is_doc(self) -> bool:
        """Whether the block documents an item."""
        return self.unit.data[self.start : self.start + 3] in (b"///", b"/**")


def blocks_of(unit: Unit, words: Sequence[bytes] = ()) -> Iterator[CommentBlock]:
    """Yield the comment blocks of a file, in source order; with words only those that hold one, in any case.

    The words are given in lower case.
    """
    spans: Iterable[tuple[int, int]] = (
        sorted({span for word in words for span in unit.told_once(("blocks", word), _holding(word))})
        if words
        else _spans(unit)
    )
    for start, end in spans:
        yield CommentBlock(unit, start, end)


def _holding(word: bytes) -> Callable[[Unit], list[tuple[int, int]]]:
    """Return what tells the spans of the blocks of a file that hold a word."""
    return lambda unit: list(_spans_holding(unit, word))


def _spans_holding(unit: Unit, word: bytes) -> Iterator[tuple[int, int]]:
    comments, last = unit.facts.comments, len(unit.data)
    find = unit.lowered.find
    at = find(word)
    while at >= 0:
        index = bisect_right(comments, (at, last)) - 1
        if index >= 0 and at + len(word) <= comments[index][1]:
            start, at = _around(unit, index)
            yield start, at
        else:
            at += 1
        at = find(word, at)


def _around(unit: Unit, index: int) -> tuple[int, int]:
    """Return the span of the block that a comment belongs to."""
    comments = unit.facts.comments
    first = last = index
    while first and _goes_on(unit, first):
        first -= 1
    while last + 1 < len(comments) and _goes_on(unit, last + 1):
        last += 1
    return comments[first][0], comments[last][1]


def _spans(unit: Unit) -> Iterator[tuple[int, int]]:
    """Yield the spans of the comment blocks."""
    comments = unit.facts.comments
    starts = [index for index in range(len(comments)) if not index or not _goes_on(unit, index)]
    for first, behind in pairwise((*starts, len(comments))):
        yield comments[first][0], comments[behind - 1][1]


def _goes_on(unit: Unit, index: int) -> bool:
    """Say whether a comment goes on with the block before it: of the same kind, and on the next line."""
    data = unit.data
    (before, end), (start, _) = unit.facts.comments[index - 1 : index + 1]
    between = data[end:start]
    # A line comment's span may hold its line break.
    return (
        not between.strip()
        and between.count(b"\n") + (data[end - 1] == _LINE_BREAK) <= 1
        and _mark(unit, before) == _mark(unit, start)
    )


def function_at(functions: list[Fn], block: CommentBlock) -> Fn | None:
    """Return the innermost function that a block stands in or documents."""
    found = None
    for function in functions:
        if function.facts.doc_start <= block.start < function.facts.end and (
            found is None or function.facts.start >= found.facts.start
        ):
            found = function
    return found


def span_of(block: CommentBlock, offset: int) -> tuple[int, int]:
    """Return the span of the comment's line that holds a character of the block's text."""
    position = block.start
    passed = 0
    for raw in block.unit.text(block.start, block.end).splitlines(keepends=True):
        bare = _LEAD.sub("", raw).strip()
        if bare and not _RULER.match(bare):
            passed += len(bare) + 1
            if offset < passed:
                return position + len(raw) - len(raw.lstrip()), position + len(raw.rstrip().encode())
        position += len(raw.encode())
    return block.start, block.end


def _mark(unit: Unit, start: int) -> bytes:
    mark = unit.data[start : start + 3]
    return mark if mark in _MARKS else mark[:2]
