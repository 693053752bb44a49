"""How alike two pieces of code are, whatever their names."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Sequence

SKETCH_SIZE = 64
WIDTHS = (1, 2)
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>b?r?#*\"(?:\\.|[^\"\\])*\"#*)|(?P<character>'(?:\\.|[^'\\])')|"
    r"(?P<number>\d[\w.]*)|(?P<word>[A-Za-z_]\w*)|(?P<sign>=>|->|::|\.\.=?|[-+*/%&|^!=<>]=|&&|\|\||\S)",
    re.DOTALL,
)


def tokens(code: str) -> Iterator[str]:
    """Yield the tokens of Rust code: names by their parts, so that a variant of a name is nearly the same."""
    for match in _TOKEN.finditer(code):
        if match.lastgroup == "word":
            yield from filter(None, match[0].lower().split("_"))
        elif match.lastgroup in {"string", "character", "number"}:
            yield match.lastgroup
        elif match.lastgroup != "comment":
            yield match[0]


def shingles(code: str) -> frozenset[int]:
    """Hash each token, and each with the next."""
    words = list(tokens(code))
    return frozenset(
        _hash(" ".join(words[at : at + width])) for width in WIDTHS for at in range(len(words) - width + 1)
    )


def sketch(code: str) -> tuple[int, ...]:
    """Return the smallest of the hashes: few enough to store and index, enough to tell how alike code is."""
    return tuple(sorted(shingles(code))[:SKETCH_SIZE])


def likeness(one: Collection[int], other: Collection[int]) -> float:
    """Estimate from two sketches which share of all runs both have: from 0 to 1 for the same code."""
    first, second = set(one), set(other)
    if not first or not second:
        return 0.0
    smallest: Sequence[int] = sorted(first | second)[:SKETCH_SIZE]
    return sum(value in first and value in second for value in smallest) / len(smallest)


def _hash(text: str) -> int:
    # PostgreSQL's integer has a sign.
    return zlib.crc32(text.encode()) - 2**31
