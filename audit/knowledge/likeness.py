"""How alike two pieces of code are, whatever their names."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Sequence

SKETCH_SIZE = 64
WIDTH = 3
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>b?r?#*\"(?:\\.|[^\"\\])*\"#*)|(?P<character>'(?:\\.|[^'\\])')|"
    r"(?P<number>\d[\w.]*)|(?P<word>[A-Za-z_]\w*)|(?P<sign>=>|->|::|\.\.=?|[-+*/%&|^!=<>]=|&&|\|\||\S)",
    re.DOTALL,
)
_KEYWORDS = frozenset(
    [
        "as",
        "async",
        "await",
        "break",
        "const",
        "continue",
        "crate",
        "else",
        "enum",
        "fn",
        "for",
        "if",
        "impl",
        "in",
        "let",
        "loop",
        "match",
        "mod",
        "move",
        "mut",
        "pub",
        "ref",
        "return",
        "self",
        "Self",
        "static",
        "struct",
        "super",
        "trait",
        "type",
        "unsafe",
        "use",
        "where",
        "while",
        "Ok",
        "Err",
        "Some",
        "None",
    ]
)


def tokens(code: str) -> Iterator[str]:
    """Yield the tokens of Rust code: what is called keeps its name, other names and literals are one each."""
    matches = [match for match in _TOKEN.finditer(code) if match.lastgroup != "comment"]
    for match, after in zip(matches, [*matches[1:], None], strict=False):
        if match.lastgroup == "word":
            word = match[0]
            is_called = after is not None and after[0] in {"(", "!", "::"}
            yield word if word in _KEYWORDS else f"call:{word.lower()}" if is_called else "name"
        elif match.lastgroup in {"string", "character", "number"}:
            yield match.lastgroup
        else:
            yield match[0]


def shingles(code: str) -> frozenset[int]:
    """Hash each run of tokens."""
    words = list(tokens(code))
    runs = [words[at : at + WIDTH] for at in range(max(1, len(words) - WIDTH + 1))] if words else []
    return frozenset(_hash(" ".join(run)) for run in runs)


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
