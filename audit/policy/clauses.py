"""The clauses as data: loading and validation, of the house's and of a project's own."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

CURRENT_VERSION = "1"
VERSIONS = ("1",)
_REQUIRED = ("id", "kind", "title", "text", "reason", "pytorch")
_OPTIONAL = ("right", "wrong")
_RESTING = ("rules", "forms")
# The clauses that a project adds are numbered apart from the house's, whatever their kind.
OWN_LETTER = "P"


class PolicyError(ValueError):
    """The policy file is wrong: the message names clause and key."""


class ClauseKind(StrEnum):
    """What a clause does; its id starts with the kind's letter."""

    MANDATORY = "mandatory"
    FORBIDDEN = "forbidden"
    ALLOWED = "allowed"
    VERIFICATION = "verification"
    VOCABULARY = "vocabulary"
    SEQUENCING = "sequencing"

    @property
    def letter(self) -> str:
        """The first letter of the ids of this kind's clauses."""
        return {"verification": "V", "vocabulary": "W"}.get(self.value, self.value[0].upper())


@dataclass(frozen=True, slots=True)
class Clause:
    """One numbered clause. `right` and `wrong` are Rust items, or empty.

    `rules` and `forms` are what a project says rests on a clause of its own; the house's stand in `links`.
    """

    id: str
    kind: ClauseKind
    title: str
    text: str
    reason: str
    pytorch: str
    right: str = ""
    wrong: str = ""
    rules: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether a project added it."""
        return self.id.startswith(OWN_LETTER)


@dataclass(frozen=True, slots=True)
class Policy:
    """One version of the policy: its clauses in reading order."""

    version: str
    title: str
    published: date
    clauses: tuple[Clause, ...]

    def clause(self, clause_id: str) -> Clause:
        """Return the clause with this id; KeyError when the version has none."""
        for clause in self.clauses:
            if clause.id == clause_id:
                return clause
        raise KeyError(clause_id)


@cache
def load_policy(version: str = CURRENT_VERSION) -> Policy:
    """Load a shipped version of the policy."""
    if version not in VERSIONS:
        raise PolicyError(f"there is no policy version `{version}`; known: {', '.join(VERSIONS)}")
    text = Path(__file__).with_name(f"v{version}.toml").read_text(encoding="utf-8")
    return parse_policy(tomllib.loads(text))


def parse_policy(data: Mapping[str, Any]) -> Policy:
    """Build a policy from parsed TOML; PolicyError names the clause and key that are wrong."""
    clauses = _clauses(data["clause"])
    return Policy(str(data["version"]), str(data["title"]), data["published"], clauses)


def parse_own_clause(
    row: Mapping[str, Any], *, rule_ids: Collection[str], form_keys: Collection[str]
) -> Clause:
    """Build a clause that a project adds; PolicyError says what is wrong, in words for its author."""
    clause = _clause(row, is_own=True)
    for rule_id in clause.rules:
        if rule_id not in rule_ids:
            raise PolicyError(f"there is no rule `{rule_id}`")
    for key in clause.forms:
        if key not in form_keys:
            raise PolicyError(f"there is no form `{key}`")
    return clause


def own_clause_plain(clause: Clause) -> dict[str, Any]:
    """Return a clause of a project as it is stored."""
    plain = {field.name: getattr(clause, field.name) for field in fields(clause)}
    return plain | {"kind": clause.kind.value, "rules": list(clause.rules), "forms": list(clause.forms)}


def own_clauses(rows: Sequence[Mapping[str, Any]]) -> tuple[Clause, ...]:
    """Read a project's clauses as they were stored: what they name may be gone since."""
    return tuple(_clause(row, is_own=True) for row in rows)


def _clauses(rows: Sequence[Mapping[str, Any]]) -> tuple[Clause, ...]:
    clauses = tuple(_clause(row) for row in rows)
    seen: set[str] = set()
    for clause in clauses:
        if clause.id in seen:
            raise PolicyError(f"clause `{clause.id}` is defined twice")
        seen.add(clause.id)
    return clauses


def _clause(row: Mapping[str, Any], *, is_own: bool = False) -> Clause:
    name = str(row.get("id", "without id"))
    for key in _REQUIRED:
        if not str(row.get(key, "")).strip():
            raise PolicyError(f"clause `{name}`: `{key}` is missing")
    unknown = sorted(set(row) - {*_REQUIRED, *_OPTIONAL, *(_RESTING if is_own else ())})
    if unknown:
        raise PolicyError(f"clause `{name}`: unknown key `{unknown[0]}`")
    if row["kind"] not in tuple(ClauseKind):
        raise PolicyError(f"clause `{name}`: there is no kind `{row['kind']}`")
    kind = ClauseKind(row["kind"])
    letter = OWN_LETTER if is_own else kind.letter
    if not name.startswith(letter):
        of = "that a project adds" if is_own else f"of a {kind} clause"
        raise PolicyError(f"clause `{name}`: the id {of} starts with `{letter}`")
    return Clause(
        id=name,
        kind=kind,
        title=" ".join(row["title"].split()),
        text=" ".join(row["text"].split()),
        reason=" ".join(row["reason"].split()),
        pytorch=" ".join(row["pytorch"].split()),
        right=row.get("right", "").strip("\n"),
        wrong=row.get("wrong", "").strip("\n"),
        rules=tuple(row.get("rules", ())),
        forms=tuple(row.get("forms", ())),
    )
