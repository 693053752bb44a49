"""What every change of a plan has in common: the row is locked, is still as it was seen, and is told of."""

from __future__ import annotations

from django.contrib.auth.models import User

from migrations_tracker.errors import ChangedMeanwhileError, PlanError
from migrations_tracker.models import Plan, PlanEvent, WorkUnit
from migrations_tracker.scheduling.units import UnitStatus


def unit_lock(*, pk: int, seen_version: int | None = None) -> WorkUnit:
    """Lock a unit for a change; where somebody changed it since it was seen, nothing may change."""
    unit = WorkUnit.objects.select_for_update(of=("self",)).select_related("plan", "person").get(pk=pk)
    if seen_version is not None and seen_version != unit.version:
        raise ChangedMeanwhileError(
            "Somebody changed the unit while you looked at it. This is its newest state: look again."
        )
    return unit


def unit_check_open(*, unit: WorkUnit) -> None:
    """Raise where a unit is finished: what was done stays as it was done."""
    if unit.status == UnitStatus.FINISHED.value:
        raise PlanError("The unit is finished: what was done is not changed any more. Add a unit instead.")


def unit_store(*, unit: WorkUnit, fields: list[str]) -> None:
    """Store a person's change to a unit, which no proposal undoes."""
    unit.is_edited = True
    unit.version += 1
    unit.save(update_fields=[*fields, "is_edited", "version", "changed_at"])


def plan_note(
    *, plan: Plan, actor: User | None, what: str, reason: str = "", unit: WorkUnit | None = None
) -> PlanEvent:
    """Tell of something that was done to a plan."""
    return PlanEvent.objects.create(
        plan=plan, unit=unit, unit_key=unit.key if unit else "", actor=actor, what=what, reason=reason
    )


def said(text: str) -> str:
    """Return what somebody typed, without what the database can't hold."""
    return text.replace("\0", "").strip()
