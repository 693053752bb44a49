"""What a person chose on a page, put upon what somebody else published meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Merged:
    """What is to be shown of one thing: `value` is the choice, `theirs` what was published meanwhile.

    `theirs` is None where nobody else changed it; `typed` is what the person had chosen where that clashes.
    """

    value: str
    theirs: str | None = None
    typed: str | None = None


def merge(base: Mapping[str, str], theirs: Mapping[str, str], mine: Mapping[str, str]) -> dict[str, Merged]:
    """Merge what somebody typed on a page that showed `base` with what is published now, key by key.

    Nothing that was published is taken back unless it is chosen again: where both changed a thing, the
    published one stands and what was typed is told beside it.
    """
    return {key: _merged(base.get(key, ""), theirs.get(key, ""), typed) for key, typed in mine.items()}


def merge_lists(*, base: Sequence[str], theirs: Sequence[str], mine: Sequence[str]) -> list[str]:
    """Merge what somebody added to and took from the list `base` with what others made of it meanwhile."""
    kept = [one for one in theirs if one in mine or one not in base]
    return list(dict.fromkeys([*kept, *(one for one in mine if one not in base)]))


def _merged(base: str, theirs: str, mine: str) -> Merged:
    if theirs in (base, mine):
        return Merged(mine)
    return Merged(theirs, theirs=theirs, typed=None if mine == base else mine)
