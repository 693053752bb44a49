"""Text as the words that are indexed and asked for: the same for both, so that they meet."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources

_TOKEN = re.compile(r"[A-Za-z0-9_]+")
# Where a name is made of several: `PtxCompileFailed`, `HTTPError`, `conv2dForward`.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[A-Z]")
LONGEST = 60
# A shorter word is part of too many to be taken for another.
SHORTEST_WORD = 3
_DATA = tomllib.loads(
    resources.files("migrations_tracker.search").joinpath("synonyms.toml").read_text(encoding="utf-8")
)
SYNONYMS: Mapping[str, tuple[str, ...]] = {word: tuple(others) for word, others in _DATA["synonyms"].items()}
NORMATIVE = frozenset(_DATA["normative"]["words"])


def tokens(text: str) -> Iterator[str]:
    """Yield each word of a text, and of a name its parts and itself without its joints.

    `gpu_layer_norm` gives gpu, layer, norm and gpulayernorm; so does `GpuLayerNorm`.
    """
    for match in _TOKEN.finditer(text):
        name = match[0]
        parts = [part.lower() for part in _PART.findall(name)]
        whole = name.replace("_", "").lower()[:LONGEST]
        yield from (part[:LONGEST] for part in parts)
        if len(parts) > 1 and whole:
            yield whole


def compounds(text: str) -> dict[str, list[str]]:
    """Return the names of several parts in a text, each with its parts."""
    names = [[part.lower() for part in _PART.findall(match[0])] for match in _TOKEN.finditer(text)]
    return {"".join(parts): parts for parts in names if len(parts) > 1}


def indexed(*texts: str) -> str:
    """Return the words of texts as the index takes them."""
    return " ".join(token for text in texts for token in tokens(text))


def is_name(word: str) -> bool:
    """Tell whether somebody wrote an identifier, and not a word of the language."""
    return "_" in word or "::" in word or any(c.isdigit() for c in word) or word[1:] != word[1:].lower()


def asks_for_a_clause(question: str) -> bool:
    """Tell whether a question is about what may or must be done."""
    return not NORMATIVE.isdisjoint(re.findall(r"[a-z]+", question.lower()))


def distinct(words: Iterable[str]) -> list[str]:
    """Return the words once each, in order."""
    return list(dict.fromkeys(words))
