"""Who works on a plan: skills, capacity, hours and absences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.db import transaction

from migrations_tracker.errors import PlanError
from migrations_tracker.models import Absence, Person, Plan
from migrations_tracker.services.plan_log import plan_note, said

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_DAY_MINUTES = 24 * 60
MAX_CAPACITY = 50


def person_set(
    *,
    plan: Plan,
    name: str,
    skills: Sequence[str],
    capacity: int,
    time_zone: str,
    hours: Sequence[Sequence[int]],
    actor: User,
    user: User | None = None,
    is_active: bool = True,
) -> Person:
    """Add somebody to a plan, or change what is known of them."""
    if not _NAME.fullmatch(name):
        raise PlanError("A name has small letters, digits, `-` and `_`, at most 60.")
    if not 0 <= capacity <= MAX_CAPACITY:
        raise PlanError(f"Capacity is how many units somebody does at a time: 0 to {MAX_CAPACITY}.")
    _check_hours(hours)
    _check_zone(time_zone)
    with transaction.atomic():
        plan = Plan.objects.select_for_update().get(pk=plan.pk)
        person, is_new = Person.objects.update_or_create(
            plan=plan,
            name=name,
            defaults={
                "skills": sorted({said(skill) for skill in skills} - {""}),
                "capacity": capacity,
                "time_zone": time_zone,
                "hours": [list(window) for window in hours],
                "user": user,
                "is_active": is_active,
            },
        )
        doing = "works on the plan" if is_new else "was changed"
        plan_note(
            plan=plan, actor=actor, what=f"`{name}` {doing if is_active else 'no longer works on the plan'}."
        )
    return person


def absence_add(
    *, person: Person, starts_at: datetime, ends_at: datetime, reason: str, actor: User
) -> Absence:
    """Say that somebody is away for a time."""
    if ends_at <= starts_at:
        raise PlanError("An absence ends after it begins.")
    with transaction.atomic():
        absence = Absence.objects.create(
            person=person, starts_at=starts_at, ends_at=ends_at, reason=said(reason)[:200]
        )
        what = f"`{person.name}` is away from {starts_at:%Y-%m-%d} to {ends_at:%Y-%m-%d}."
        plan_note(plan=person.plan, actor=actor, what=what, reason=absence.reason)
    return absence


def absence_remove(*, absence: Absence, actor: User) -> None:
    """Take an absence back."""
    with transaction.atomic():
        what = f"`{absence.person.name}` is not away from {absence.starts_at:%Y-%m-%d} after all."
        plan_note(plan=absence.person.plan, actor=actor, what=what)
        absence.delete()


def _check_hours(hours: Sequence[Sequence[int]]) -> None:
    for window in hours:
        if len(window) != 3 or not (0 <= window[0] <= 6 and 0 <= window[1] < window[2] <= _DAY_MINUTES):
            raise PlanError("Hours are within one day, and end after they begin.")


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise PlanError(f"There is no time zone `{name}`.") from error
