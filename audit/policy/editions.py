"""What a project is held to: a version of the house's policy, with its own clauses and levels; compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from audit.knowledge.differences import BoundedMatcher, TooMuchWorkError, WorkBudget, shared_ends
from audit.policy.clauses import CURRENT_VERSION, Clause, load_policy
from audit.scanner.report import Level

_VERSION = re.compile(r"(?P<house>[1-9]\d{0,5})(?:\+(?P<own>[1-9]\d{0,8}))?")
_TOKEN = re.compile(r"\s+|\w+\s*|[^\w\s]\s*")
# Pairs of equal words that are looked at for a part, and for all the clauses of a comparison. What needs more
# is shown whole, its common ends apart.
MOST_WORK_OF_PART = 500_000
MOST_WORK = 5_000_000
# The parts of a clause, as they are compared and called.
_PARTS = (
    ("title", "Title"),
    ("kind", "Kind"),
    ("text", "Text"),
    ("reason", "Reason"),
    ("pytorch", "What PyTorch does"),
    ("right", "Right in Rust"),
    ("wrong", "Wrong in Rust"),
    ("rules", "Rules that rest on it"),
    ("forms", "Forms that rest on it"),
)


class PolicyVersion(NamedTuple):
    """A version of the house's policy, and the number of a project's own version; 0 where it has none."""

    house: str = CURRENT_VERSION
    own: int = 0

    def __str__(self) -> str:
        return f"{self.house}+{self.own}" if self.own else self.house

    @classmethod
    def parse(cls, text: str) -> PolicyVersion | None:
        """Read a version as it is written, `1` or `1+3`; None where it is none."""
        found = _VERSION.fullmatch(text)
        return cls(found["house"], int(found["own"] or 0)) if found else None


@dataclass(frozen=True, slots=True)
class Edition:
    """A policy as it was in force: the house's clauses, then the project's, and the levels given to rules.

    `owner` tells one project from another: P1 of one is not P1 of another. Empty for the house's alone.
    """

    version: PolicyVersion
    clauses: tuple[Clause, ...]
    levels: Mapping[str, Level] = field(default_factory=dict)
    owner: str = ""

    @property
    def keyed(self) -> Mapping[tuple[str, str], Clause]:
        """The clauses by what makes one the same in another edition: its owner and its id."""
        return {(self.owner if clause.is_own else "", clause.id): clause for clause in self.clauses}


class Words(NamedTuple):
    """A run of text: `same`, `added` or `removed`."""

    kind: str
    text: str


class ChangedPart(NamedTuple):
    """A part of a clause that is not what it was; `is_whole` where its words are not compared."""

    label: str
    words: tuple[Words, ...]
    is_code: bool
    is_whole: bool


@dataclass(frozen=True, slots=True)
class ChangedClause:
    """A clause that stands in both editions and is not the same."""

    clause: Clause
    parts: tuple[ChangedPart, ...]


@dataclass(frozen=True, slots=True)
class ChangedLevel:
    """A rule to which another level is given; None is the rule's own."""

    rule_id: str
    before: Level | None
    after: Level | None


@dataclass(frozen=True, slots=True)
class EditionDifference:
    """What is not the same in two editions."""

    added: tuple[Clause, ...]
    removed: tuple[Clause, ...]
    changed: tuple[ChangedClause, ...]
    levels: tuple[ChangedLevel, ...]
    unchanged_count: int

    @property
    def is_none(self) -> bool:
        """Whether the editions say the same."""
        return not (self.added or self.removed or self.changed or self.levels)


def house_edition(version: str = CURRENT_VERSION) -> Edition:
    """Return the house's policy without anything of a project."""
    return Edition(PolicyVersion(version), load_policy(version).clauses)


def compare_editions(old: Edition, new: Edition) -> EditionDifference:
    """Compare two editions, clause by clause and level by level.

    Clauses of two projects are not compared with each other, whatever their numbers.
    """
    before, after = old.keyed, new.keyed
    both = [(before[key], clause) for key, clause in after.items() if key in before]
    budget = WorkBudget(MOST_WORK)
    rule_ids = sorted({*old.levels, *new.levels})
    return EditionDifference(
        added=tuple(clause for key, clause in after.items() if key not in before),
        removed=tuple(clause for key, clause in before.items() if key not in after),
        changed=tuple(ChangedClause(now, _parts(was, now, budget)) for was, now in both if was != now),
        levels=tuple(
            ChangedLevel(rule_id, old.levels.get(rule_id), new.levels.get(rule_id))
            for rule_id in rule_ids
            if old.levels.get(rule_id) != new.levels.get(rule_id)
        ),
        unchanged_count=sum(was == now for was, now in both),
    )


def levels_profile(edition: Edition, *, name: str, extends: str) -> str:
    """Write the levels of an edition as a profile, so that a scan elsewhere gives the same ones."""
    levels = "".join(f'{rule_id} = "{level.value}"\n' for rule_id, level in sorted(edition.levels.items()))
    return (
        f"# The levels of policy version {edition.version}.\n"
        f"name = {json.dumps(name)}\nextends = {json.dumps(extends)}\n\n[levels]\n{levels}"
    )


def word_difference(before: str, after: str, budget: WorkBudget) -> tuple[Words, ...]:
    """Return a text with what was taken out of it and what was put in, word by word.

    Raises `TooMuchWorkError` where the budget does not suffice.
    """
    start, old, new, end = _parted(before, after)
    return _between(start, tuple(_words(old, new, budget)), end)


def whole_difference(before: str, after: str) -> tuple[Words, ...]:
    """Return the first and the last words that both texts share, and what is between them whole."""
    start, old, new, end = _parted(before, after)
    return _between(start, (Words("removed", "".join(old)), Words("added", "".join(new))), end)


def _between(start: Sequence[str], words: Sequence[Words], end: Sequence[str]) -> tuple[Words, ...]:
    ends = (Words("same", "".join(start)), *words, Words("same", "".join(end)))
    return tuple(words for words in ends if words.text)


def _parted(before: str, after: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the words that both begin with, what is between in each, and the words that both end with."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    start, end = shared_ends(old, new)
    return old[:start], old[start : len(old) - end], new[start : len(new) - end], old[len(old) - end :]


def _words(old: Sequence[str], new: Sequence[str], budget: WorkBudget) -> Iterator[Words]:
    for tag, old_start, old_end, new_start, new_end in BoundedMatcher(old, new, budget).get_opcodes():
        if tag == "equal":
            yield Words("same", "".join(new[new_start:new_end]))
            continue
        if old_end > old_start:
            yield Words("removed", "".join(old[old_start:old_end]))
        if new_end > new_start:
            yield Words("added", "".join(new[new_start:new_end]))


def _parts(was: Clause, now: Clause, budget: WorkBudget) -> tuple[ChangedPart, ...]:
    return tuple(
        _part(label, _text(was, name), _text(now, name), budget, is_code=name in ("right", "wrong"))
        for name, label in _PARTS
        if getattr(was, name) != getattr(now, name)
    )


def _part(label: str, was: str, now: str, budget: WorkBudget, *, is_code: bool) -> ChangedPart:
    """Compare a part within its own limit and within what is left for all of them."""
    own = WorkBudget(min(MOST_WORK_OF_PART, budget.left))
    allowed = own.left
    try:
        return ChangedPart(label, word_difference(was, now, own), is_code=is_code, is_whole=False)
    except TooMuchWorkError:
        return ChangedPart(label, whole_difference(was, now), is_code=is_code, is_whole=True)
    finally:
        budget.spend(allowed - own.left)


def _text(clause: Clause, name: str) -> str:
    value = getattr(clause, name)
    return ", ".join(value) if isinstance(value, tuple) else str(value)
