"""What two texts share and where they differ, found with a bounded amount of work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import Match, SequenceMatcher
from itertools import takewhile


class TooMuchWorkError(Exception):
    """Two texts differ so much that what may be spent on comparing them is spent."""


class WorkBudget:
    """How many pairs of equal parts may still be looked at; one budget may serve many comparisons."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, count: int) -> None:
        """Take from what is left. Raises `TooMuchWorkError`, and takes nothing, where it is not enough."""
        if count > self.left:
            raise TooMuchWorkError
        self.left -= count


class BoundedMatcher(SequenceMatcher[str]):
    """A matcher that pays for its work.

    Each search for the longest match looks at every pair of equal parts in its range, and a text of few and
    often repeated parts needs as many searches as it has parts.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str], budget: WorkBudget) -> None:
        super().__init__(None, old, new, False)
        self._budget = budget
        times = Counter(new)
        self._costs = [1 + times[part] for part in old]

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        """Find the longest match in a range. Raises `TooMuchWorkError` instead of beginning too much."""
        self._budget.spend(sum(self._costs[alo:ahi]))
        return super().find_longest_match(alo, ahi, blo, bhi)


def shared_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Count the parts that both begin with, and those that both end with beside these."""
    start = _shared(old, new)
    return start, _shared(old[start:][::-1], new[start:][::-1])


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    both = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
