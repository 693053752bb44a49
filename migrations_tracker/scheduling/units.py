"""Work units: what is done in one go by one person."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from audit.scanner.report import Outcome
from migrations_tracker.scheduling.catalogue import FixCategory
from migrations_tracker.scheduling.items import Need


class UnitKind(StrEnum):
    """What a unit is."""

    DECISION = "decision"
    SWEEP = "sweep"
    REDESIGN = "redesign"
    SINGLE = "single-site"
    OWN = "own"


class UnitStatus(StrEnum):
    """How far a unit is."""

    PLANNED = "planned"
    UNDER_WAY = "under-way"
    FINISHED = "finished"


class Phase(IntEnum):
    """The phases of a migration, in their order."""

    DECISIONS = 1
    SWEEPS = 2
    REDESIGNS = 3


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """One work unit with the ids of its items. `key` never changes once it is given.

    `rules` are the causes it covers, `need` what a decision unit makes, and `is_edited` says that a person
    has touched it: such a unit is never changed by a re-run.
    """

    key: str
    title: str
    kind: UnitKind
    phase: Phase
    category: FixCategory
    reason: str
    crate: str = ""
    rules: tuple[str, ...] = ()
    outcome: Outcome | None = None
    item_ids: tuple[str, ...] = ()
    need: Need | None = None
    skills: frozenset[str] = frozenset()
    is_mechanical: bool = False
    is_edited: bool = False
    status: UnitStatus = UnitStatus.PLANNED

    @property
    def is_finished(self) -> bool:
        """Whether it is done."""
        return self.status is UnitStatus.FINISHED

    @property
    def is_locked(self) -> bool:
        """Whether only people may change it."""
        return self.is_edited or self.status is not UnitStatus.PLANNED


def unit_key(*parts: str, items: Iterable[str] = ()) -> str:
    """Return a readable key that the same parts and items always give."""
    readable = "-".join(part for part in parts if part)
    members = sorted(items)
    if not members:
        return readable
    digest = hashlib.sha256("\n".join(members).encode()).hexdigest()[:8]
    return f"{readable}-{digest}"
