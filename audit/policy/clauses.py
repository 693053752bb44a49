"""The clauses as data: loading, validation, comparison of versions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

CURRENT_VERSION = "1"
VERSIONS = ("1",)
_REQUIRED = ("id", "kind", "title", "text", "reason", "pytorch")
_OPTIONAL = ("right", "wrong")


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
    """One numbered clause. `right` and `wrong` are Rust items that compile, or empty."""

    id: str
    kind: ClauseKind
    title: str
    text: str
    reason: str
    pytorch: str
    right: str = ""
    wrong: str = ""


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


@dataclass(frozen=True, slots=True)
class PolicyDifference:
    """What changed between two versions, by clause id."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


@cache
def load_policy(version: str = CURRENT_VERSION) -> Policy:
    """Load a shipped version of the policy."""
    if version not in VERSIONS:
        raise PolicyError(f"there is no policy version `{version}`; known: {', '.join(VERSIONS)}")
    text = resources.files("audit.policy").joinpath(f"v{version}.toml").read_text(encoding="utf-8")
    return parse_policy(tomllib.loads(text))


def parse_policy(data: Mapping[str, Any]) -> Policy:
    """Build a policy from parsed TOML; PolicyError names the clause and key that are wrong."""
    clauses = tuple(_clause(row) for row in data["clause"])
    seen: set[str] = set()
    for clause in clauses:
        if clause.id in seen:
            raise PolicyError(f"clause `{clause.id}` is defined twice")
        seen.add(clause.id)
    return Policy(str(data["version"]), str(data["title"]), data["published"], clauses)


def compare_policies(old: Policy, new: Policy) -> PolicyDifference:
    """Tell which clauses were added, removed or changed from one version to another."""
    before = {clause.id: clause for clause in old.clauses}
    after = {clause.id: clause for clause in new.clauses}
    return PolicyDifference(
        added=tuple(key for key in after if key not in before),
        removed=tuple(key for key in before if key not in after),
        changed=tuple(key for key in after if key in before and after[key] != before[key]),
    )


def _clause(row: Mapping[str, Any]) -> Clause:
    name = row.get("id", "without id")
    for key in _REQUIRED:
        if not str(row.get(key, "")).strip():
            raise PolicyError(f"clause `{name}`: `{key}` is missing")
    unknown = sorted(set(row) - {*_REQUIRED, *_OPTIONAL})
    if unknown:
        raise PolicyError(f"clause `{name}`: unknown key `{unknown[0]}`")
    kind = ClauseKind(row["kind"])
    if not str(name).startswith(kind.letter):
        raise PolicyError(f"clause `{name}`: the id of a {kind} clause starts with `{kind.letter}`")
    return Clause(
        id=row["id"],
        kind=kind,
        title=row["title"],
        text=" ".join(row["text"].split()),
        reason=" ".join(row["reason"].split()),
        pytorch=" ".join(row["pytorch"].split()),
        right=row.get("right", "").strip("\n"),
        wrong=row.get("wrong", "").strip("\n"),
    )
