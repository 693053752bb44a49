"""Confirming a unit's pre-flight plan, starting its work and finishing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pghistory
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from audit.models import SiteState
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Person, Precedence, PrecedenceState, WorkUnit
from migrations_tracker.scheduling.units import UnitStatus
from migrations_tracker.services.plan_log import plan_note, said, unit_check_open, unit_lock, unit_store

MAX_TEXT = 20_000
MAX_SPENT = 10_000


def pre_flight_confirm(
    *,
    unit: WorkUnit,
    pre_flight: Mapping[str, Any],
    open_questions: int,
    actor: User,
    seen_version: int | None = None,
) -> WorkUnit:
    """Keep a unit's pre-flight plan as somebody filled it in, and that they stand for it."""
    if open_questions:
        raise PlanError(f"{open_questions} questions of the pre-flight plan have no answer yet.")
    with transaction.atomic():
        unit = unit_lock(pk=unit.pk, seen_version=seen_version)
        unit_check_open(unit=unit)
        unit.pre_flight = dict(pre_flight)
        unit.confirmed_by, unit.confirmed_at = actor, timezone.now()
        unit_store(unit=unit, fields=["pre_flight", "confirmed_by", "confirmed_at"])
        plan_note(plan=unit.plan, unit=unit, actor=actor, what="Pre-flight plan confirmed.")
    return unit


def unit_start(*, unit: WorkUnit, person: Person, actor: User, seen_version: int | None = None) -> WorkUnit:
    """Begin a unit. It can be held back only by prerequisites with a name, and by its pre-flight plan."""
    with transaction.atomic(), pghistory.context(user=actor.pk):
        unit = unit_lock(pk=unit.pk, seen_version=seen_version)
        if unit.status != UnitStatus.PLANNED.value:
            raise PlanError("The unit was begun already.")
        if person.plan_id != unit.plan_id:
            raise PlanError("That person does not work on this plan.")
        waiting = prerequisites_open(unit=unit)
        if waiting:
            names = ", ".join(f"`{edge.before.title}`" for edge in waiting[:5])
            raise PlanError(
                f"The unit waits for {names}. Finish these first, or cut what is no prerequisite."
            )
        if unit.confirmed_at is None:
            raise PlanError("Confirm the pre-flight plan before work starts.")
        unit.status, unit.person, unit.started_at = UnitStatus.UNDER_WAY.value, person, timezone.now()
        unit_store(unit=unit, fields=["status", "person", "started_at"])
        plan_note(plan=unit.plan, unit=unit, actor=actor, what=f"Begun by {person.name}.")
    return unit


def unit_spend(*, unit: WorkUnit, hours: float, actor: User, seen_version: int | None = None) -> WorkUnit:
    """Say how many hours a unit under way has taken so far; what remains is reckoned from them."""
    _check_spent(hours)
    with transaction.atomic():
        unit = unit_lock(pk=unit.pk, seen_version=seen_version)
        if unit.status != UnitStatus.UNDER_WAY.value:
            raise PlanError("Only a unit that is under way takes hours.")
        unit.actual_hours = hours
        unit_store(unit=unit, fields=["actual_hours"])
        plan_note(plan=unit.plan, unit=unit, actor=actor, what=f"{hours:g} hours spent so far.")
    return unit


def unit_finish(
    *, unit: WorkUnit, actual_hours: float, actor: User, reason: str = "", seen_version: int | None = None
) -> WorkUnit:
    """Finish a unit whose sites and gaps are gone; what the scanner still sees keeps it open."""
    _check_spent(actual_hours)
    with transaction.atomic():
        unit = unit_lock(pk=unit.pk, seen_version=seen_version)
        if unit.status != UnitStatus.UNDER_WAY.value:
            raise PlanError("Only a unit that is under way can be finished.")
        still = members_open(unit=unit)
        if still:
            raise PlanError(
                f"The scanner still sees {still} of its sites and gaps. Scan the commit that has the work, "
                "or move what is left to another unit."
            )
        unit.status, unit.finished_at = UnitStatus.FINISHED.value, timezone.now()
        unit.actual_hours = actual_hours
        unit_store(unit=unit, fields=["status", "finished_at", "actual_hours"])
        unit.members.filter(is_current=True).update(is_current=False)
        plan_note(
            plan=unit.plan,
            unit=unit,
            actor=actor,
            what=f"Finished after {actual_hours:g} hours.",
            reason=said(reason)[:MAX_TEXT],
        )
    return unit


def _check_spent(hours: float) -> None:
    if not 0 < hours <= MAX_SPENT:
        raise PlanError(f"Hours spent are above 0 and up to {MAX_SPENT:,}.")


def members_open(*, unit: WorkUnit) -> int:
    """Count a unit's sites and gaps that the scanner still sees."""
    repository = unit.plan.repository
    sites = unit.members.filter(is_current=True, site__isnull=False).values("site")
    seen = SiteState.objects.filter(
        site__in=sites, is_open=True, branch__repository=repository, branch__name=repository.default_branch
    )
    gaps = unit.members.filter(is_current=True, gap__is_open=True)
    return seen.count() + gaps.count()


def prerequisites_open(*, unit: WorkUnit) -> list[Precedence]:
    """Return the edges from units that have to be finished first and are not."""
    return list(
        unit.edges_in.exclude(state=PrecedenceState.CUT)
        .exclude(before__status=UnitStatus.FINISHED.value)
        .select_related("before")
        .order_by("before__phase", "before__key")
    )
