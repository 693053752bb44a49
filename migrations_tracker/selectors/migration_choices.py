"""The steps that a person may take now with the migration of a site or a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from migrations_tracker.lifecycle import Cause, Requirement, Situation, Status, missing, targets
from migrations_tracker.models import SiteMigration
from migrations_tracker.models.site_migration import STATUS_LABELS


@dataclass(frozen=True, slots=True)
class Choice:
    """A transition a person may take now."""

    value: str
    label: str
    needs_reason: bool
    needs_commit: bool = False


def is_suppressible(choices: Sequence[Choice]) -> bool:
    """Whether a lead may suppress now: what may be ruled may be asked for."""
    return any(choice.value == Status.SUPPRESSED for choice in choices)


def choices_of(migration: SiteMigration | None, *, is_seen: bool, outcome: str) -> list[Choice]:
    """List the transitions a person can take with a reason in hand; the rest is the scanner's word."""
    if migration is None:
        return []
    situation = Situation(
        has_reason=True, is_seen_by_scanner=is_seen, has_fitting_verdict=False, is_settled=True
    )
    return [
        Choice(
            edge.target.value,
            STATUS_LABELS[edge.target],
            Requirement.REASON in edge.requires,
            Requirement.SETTLED in edge.requires and not outcome,
        )
        for edge in targets(Status(migration.status), Cause.PERSON)
        if not missing(edge, situation)
    ]
