"""Comments as people read them: lines that stand together are one text, and belong to a function."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

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
    def is_doc(self) -> bool:
        """Whether the block documents an item."""
        return self.unit.data[self.start : self.start + 3] in (b"///", b"/**")


def blocks_of(unit: Unit, words: Sequence[bytes] = ()) -> Iterator[CommentBlock]:
    """Yield the comment blocks of a file, in source order; with words only those that hold one, in any case.

    The words are given in lower case.
    """
    for start, end in unit.told_once(("blocks", *words), lambda unit: _spans_with(unit, words)):
        yield CommentBlock(unit, start, end)


def _spans_with(unit: Unit, words: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the spans of the blocks that hold one of the words, of all where there are none."""
    lower = unit.lowered if words else b""
    present = [word for word in words if word in lower]
    if words and not present:
        return []
    spans = unit.told_once(_spans, lambda unit: list(_spans(unit)))
    if not words:
        return spans
    found = {index for word in present for index in _holding(lower, word, spans)}
    return [spans[index] for index in sorted(found)]


def _holding(text: bytes, word: bytes, spans: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield which of the sorted, disjoint spans hold a word, by their index."""
    at = text.find(word)
    index = 0
    while at >= 0:
        index = bisect_left(spans, (at + 1,), index) - 1
        if index >= 0 and at + len(word) <= spans[index][1]:
            yield index
        index += 1
        if index == len(spans):
            return
        at = text.find(word, spans[index][0])


def _spans(unit: Unit) -> Iterator[tuple[int, int]]:
    """Yield the spans of the comment blocks.

    A block goes on when the next comment stands on the next line and is of the same kind.
    """
    data = unit.data
    start = end = -1
    mark = b""
    for one_start, one_end in unit.facts.comments:
        one_mark = data[one_start : one_start + 3]
        if one_mark not in _MARKS:
            one_mark = one_mark[:2]
        if one_mark == mark:
            between = data[end:one_start]
            # A line comment's span may hold its line break.
            if not between.strip() and between.count(b"\n") + (data[end - 1] == _LINE_BREAK) <= 1:
                end = one_end
                continue
        if start >= 0:
            yield start, end
        start, end, mark = one_start, one_end, one_mark
    if start >= 0:
        yield start, end


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
