"""What two texts share at both ends, so that only what is between is compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile


def shared_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Count the parts that both begin with, and those that both end with beside these."""
    start = _shared(old, new)
    return start, _shared(old[start:][::-1], new[start:][::-1])


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    both = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
