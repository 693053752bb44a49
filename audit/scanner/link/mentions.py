"""Where files hold certain words: asked of a file once, for all its functions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from audit.scanner.link.unit import Unit


class Mentions:
    """Tells whether a span holds one of some words, as part of a longer word too."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(word.encode() for word in words)

    def within(self, unit: Unit, start: int, end: int) -> bool:
        """Say whether one of the words begins in a span of a file."""
        offsets = unit.told_once(self._words, self._offsets)
        index = bisect_left(offsets, start)
        return index < len(offsets) and offsets[index] < end

    def _offsets(self, unit: Unit) -> list[int]:
        return sorted([offset for word in self._words for offset in _offsets(unit.data, word)])


def _offsets(data: bytes, word: bytes) -> list[int]:
    found = []
    offset = data.find(word)
    while offset >= 0:
        found.append(offset)
        offset = data.find(word, offset + 1)
    return found
