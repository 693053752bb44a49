"""Sentences that the product says of a project's code, each with the clauses that it rests on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_PLACE = re.compile(r"\{\w*(?::[^}]*)?\}")


class Said(NamedTuple):
    """What was said, its words filled in, and the clauses that it rests on."""

    text: str
    clauses: tuple[str, ...]


class Sentence(NamedTuple):
    """A sentence with places for words; `key` names it."""

    key: str
    template: str
    clauses: tuple[str, ...]

    def said(self, **words: object) -> Said:
        """Fill in the words."""
        return Said(self.template.format(**words), self.clauses)

    @property
    def shown(self) -> str:
        """The sentence for people, with dots where words go."""
        return _PLACE.sub("…", self.template)


NOTHING = Said("", ())


def clauses_of(said: Iterable[Said]) -> tuple[str, ...]:
    """Return the clauses that several sentences rest on, each once, in the order in which they come."""
    return tuple(dict.fromkeys(clause for one in said for clause in one.clauses))
