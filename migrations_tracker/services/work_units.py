"""What people do to work units: rename, add, split, merge, move, pin and date them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from migrations_tracker.errors import PlanError
from migrations_tracker.models import Person, Plan, Precedence, UnitMember, WorkUnit
from migrations_tracker.scheduling.catalogue import FixCategory
from migrations_tracker.scheduling.units import Phase, UnitKind, UnitStatus, unit_key
from migrations_tracker.services.plan_log import plan_note, said, unit_check_open, unit_lock, unit_store
from migrations_tracker.services.plan_proposals import HOURS
from migrations_tracker.services.unit_reckoning import unit_reckon

MAX_TITLE = 300
MAX_HOURS = 2000.0
_SPLIT_COLUMNS = (
    "plan",
    "kind",
    "phase",
    "category",
    "reason",
    "crate",
    "rules",
    "outcome",
    "skills",
    "is_mechanical",
)


def unit_rename(*, unit: WorkUnit, title: str, actor: User, seen_version: int | None = None) -> WorkUnit:
    """Give a unit another title."""
    title = _title(title)
    with transaction.atomic():
        unit = unit_lock(pk=unit.pk, seen_version=seen_version)
        before, unit.title = unit.title, title
        unit_store(unit=unit, fields=["title"])
        plan_note(plan=unit.plan, unit=unit, actor=actor, what=f"Renamed from `{before}`.")
    return unit


def unit_add(
    *,
    plan: Plan,
    title: str,
    reason: str,
    phase: Phase,
    category: FixCategory,
    hours: tuple[float, float, float],
    actor: User,
    skills: Sequence[str] = (),
) -> WorkUnit:
    """Add a unit of one's own, which holds no sites until some are moved into it."""
    title, reason = _title(title), said(reason)
    if not reason:
        raise PlanError("Say why the unit is needed.")
    _check_hours(hours)
    low, likely, high = hours
    with transaction.atomic():
        plan = Plan.objects.select_for_update().get(pk=plan.pk)
        unit = WorkUnit.objects.create(
            plan=plan,
            key=_free_key(plan, "own-" + "-".join(title.lower().split())[:80]),
            title=title,
            kind=UnitKind.OWN.value,
            phase=phase.value,
            category=category.value,
            reason=reason,
            skills=sorted(set(skills)),
            is_edited=True,
            hours_low=low,
            hours_likely=likely,
            hours_high=high,
            is_estimated_by_hand=True,
        )
        plan_note(plan=plan, unit=unit, actor=actor, what="Added.", reason=reason)
    return unit


def members_move(
    *,
    members: Sequence[int],
    source: WorkUnit,
    target: WorkUnit,
    actor: User,
    reason: str = "",
    seen_version: int | None = None,
) -> int:
    """Move sites and gaps from one unit to another, by their membership's primary key; return how many.

    A gap's dtypes go together.
    """
    if source.plan_id != target.plan_id or source.pk == target.pk:
        raise PlanError("Choose another unit of the same plan.")
    with transaction.atomic():
        first, second = sorted((source.pk, target.pk))
        versions = {source.pk: seen_version}
        locked = {pk: unit_lock(pk=pk, seen_version=versions.get(pk)) for pk in (first, second)}
        source, target = locked[source.pk], locked[target.pk]
        unit_check_open(unit=source)
        unit_check_open(unit=target)
        chosen = _with_dtypes(source, members)
        if not chosen:
            raise PlanError("None of these is in the unit any more.")
        UnitMember.objects.filter(pk__in=chosen).update(unit=target)
        for unit in (source, target):
            _reckon(unit)
        plan_note(
            plan=source.plan,
            unit=source,
            actor=actor,
            what=f"{len(chosen)} members moved to `{target.title}`.",
            reason=said(reason),
        )
        plan_note(
            plan=source.plan,
            unit=target,
            actor=actor,
            what=f"{len(chosen)} members came from `{source.title}`.",
            reason=said(reason),
        )
    return len(chosen)


def unit_split(
    *, unit: WorkUnit, members: Sequence[int], title: str, actor: User, seen_version: int | None = None
) -> WorkUnit:
    """Put some of a unit's members into a new unit that waits for what the first one waits for."""
    title = _title(title)
    with transaction.atomic():
        unit = unit_lock(pk=unit.pk, seen_version=seen_version)
        unit_check_open(unit=unit)
        chosen = _with_dtypes(unit, members)
        if not chosen or len(chosen) == unit.members.filter(is_current=True).count():
            raise PlanError("Choose some of the members, and not all of them.")
        part = WorkUnit(title=title, is_edited=True, key=_free_key(unit.plan, f"{unit.key[:180]}-part"))
        for name in _SPLIT_COLUMNS:
            setattr(part, name, getattr(unit, name))
        part.save()
        UnitMember.objects.filter(pk__in=chosen).update(unit=part)
        Precedence.objects.bulk_create(
            [
                *(_edge(edge, after=part) for edge in unit.edges_in.all()),
                *(_edge(edge, before=part) for edge in unit.edges_out.all()),
            ]
        )
        for one in (unit, part):
            _reckon(one)
        plan_note(
            plan=unit.plan, unit=unit, actor=actor, what=f"{len(chosen)} members split off as `{title}`."
        )
        plan_note(plan=unit.plan, unit=part, actor=actor, what=f"Split off from `{unit.title}`.")
    return part


def unit_merge(
    *, unit: WorkUnit, into: WorkUnit, actor: User, reason: str = "", seen_version: int | None = None
) -> WorkUnit:
    """Put all of a unit into another one, which then waits for what both waited for."""
    if unit.pk == into.pk or unit.plan_id != into.plan_id:
        raise PlanError("Choose another unit of the same plan.")
    with transaction.atomic():
        first, second = sorted((unit.pk, into.pk))
        versions = {unit.pk: seen_version}
        locked = {pk: unit_lock(pk=pk, seen_version=versions.get(pk)) for pk in (first, second)}
        unit, into = locked[unit.pk], locked[into.pk]
        for one in (unit, into):
            unit_check_open(unit=one)
        if unit.status != UnitStatus.PLANNED.value:
            raise PlanError("A unit that is under way can't go into another one: merge the other into it.")
        if unit.need_kind:
            raise PlanError("A decision stays a unit of its own: others wait for it.")
        unit.members.filter(is_current=True).update(unit=into)
        known = {(edge.before_id, edge.after_id) for edge in (*into.edges_in.all(), *into.edges_out.all())}
        moved = [
            *(_edge(edge, after=into) for edge in unit.edges_in.all()),
            *(_edge(edge, before=into) for edge in unit.edges_out.all()),
        ]
        Precedence.objects.bulk_create(
            edge
            for edge in moved
            if edge.before_id != edge.after_id and (edge.before_id, edge.after_id) not in known
        )
        into.rules = sorted({*into.rules, *unit.rules})
        into.skills = sorted({*into.skills, *unit.skills})
        into.phase = max(into.phase, unit.phase)
        if into.is_estimated_by_hand:
            for name in HOURS:
                setattr(into, name, getattr(into, name) + getattr(unit, name))
        title, plan = unit.title, unit.plan
        plan_note(plan=plan, unit=unit, actor=actor, what=f"Merged into `{into.title}`.", reason=said(reason))
        unit.delete()
        _reckon(into, ["rules", "skills", "phase", *HOURS])
        plan_note(plan=plan, unit=into, actor=actor, what=f"Took in `{title}`.", reason=said(reason))
    return into


def unit_pin(
    *,
    unit: WorkUnit,
    start: datetime | None,
    person: Person | None,
    actor: User,
    seen_version: int | None = None,
) -> WorkUnit:
    """Fix when a unit starts and who does it, or take the pin away; the next schedule obeys it."""
    with transaction.atomic():
        unit = unit_lock(pk=unit.pk, seen_version=seen_version)
        unit_check_open(unit=unit)
        if unit.status == UnitStatus.UNDER_WAY.value:
            raise PlanError("The unit is under way: it is where it is.")
        if person is not None and person.plan_id != unit.plan_id:
            raise PlanError("That person does not work on this plan.")
        unit.pin_start, unit.pin_person = start, person
        unit.version += 1
        unit.save(update_fields=["pin_start", "pin_person", "version", "changed_at"])
        parts = [f"to {start:%Y-%m-%d %H:%M %Z}"] if start else []
        parts += [f"on {person.name}"] if person else []
        plan_note(
            plan=unit.plan,
            unit=unit,
            actor=actor,
            what=f"Pinned {' '.join(parts)}." if parts else "Pin taken away.",
        )
    return unit


def unit_estimate(
    *,
    unit: WorkUnit,
    hours: tuple[float, float, float] | None,
    actor: User,
    reason: str = "",
    seen_version: int | None = None,
) -> WorkUnit:
    """Give a unit's hours, which no proposal changes then; None lets the rates say them again."""
    if hours is not None:
        _check_hours(hours)
    with transaction.atomic():
        unit = unit_lock(pk=unit.pk, seen_version=seen_version)
        unit_check_open(unit=unit)
        if hours is None and unit.kind == UnitKind.OWN.value:
            raise PlanError("No rate says how long a unit of one's own takes: give its hours.")
        unit.is_estimated_by_hand = hours is not None
        if hours is None:
            _reckon(unit, ["is_estimated_by_hand"])
            what = f"Hours are those of the rates again: {unit.hours_likely:g}."
        else:
            unit.hours_low, unit.hours_likely, unit.hours_high = hours
            unit_store(unit=unit, fields=["is_estimated_by_hand", *HOURS])
            low, likely, high = hours
            what = f"Estimated at {likely:g} hours, {low:g} to {high:g}."
        plan_note(plan=unit.plan, unit=unit, actor=actor, what=what, reason=said(reason))
    return unit


def unit_date(
    *, unit: WorkUnit, deadline: datetime | None, actor: User, seen_version: int | None = None
) -> WorkUnit:
    """Set or take away a unit's deadline."""
    with transaction.atomic():
        unit = unit_lock(pk=unit.pk, seen_version=seen_version)
        unit_check_open(unit=unit)
        unit.deadline = deadline
        unit.version += 1
        unit.save(update_fields=["deadline", "version", "changed_at"])
        what = f"Due by {deadline:%Y-%m-%d %H:%M %Z}." if deadline else "Deadline taken away."
        plan_note(plan=unit.plan, unit=unit, actor=actor, what=what)
    return unit


def _check_hours(hours: tuple[float, float, float]) -> None:
    low, likely, high = hours
    if not 0 < low <= likely <= high <= MAX_HOURS:
        raise PlanError(
            f"Give hours as low, likely and high, in that order, above 0 and up to {MAX_HOURS:g}."
        )


def _title(text: str) -> str:
    title = " ".join(said(text).split())
    if not title:
        raise PlanError("Give the unit a title.")
    if len(title) > MAX_TITLE:
        raise PlanError(f"A title has at most {MAX_TITLE} characters; this one has {len(title)}.")
    return title


def _free_key(plan: Plan, wish: str) -> str:
    base = unit_key("".join(char if char.isalnum() or char == "-" else "-" for char in wish).strip("-"))
    taken = set(WorkUnit.objects.filter(plan=plan, key__startswith=base).values_list("key", flat=True))
    key, number = base, 2
    while key in taken:
        key, number = f"{base}-{number}", number + 1
    return key


def _with_dtypes(unit: WorkUnit, members: Sequence[int]) -> list[int]:
    """Return the members chosen that are in the unit, and the other dtypes of their gaps."""
    mine = list(unit.members.filter(is_current=True).select_related("gap"))
    chosen = [member for member in mine if member.pk in set(members)]
    cases = {
        (member.gap.operator, member.gap.device, member.gap.direction)
        for member in chosen
        if member.gap is not None
    }
    return [
        member.pk
        for member in mine
        if member in chosen
        or (
            member.gap is not None and (member.gap.operator, member.gap.device, member.gap.direction) in cases
        )
    ]


def _edge(edge: Precedence, *, before: WorkUnit | None = None, after: WorkUnit | None = None) -> Precedence:
    return Precedence(
        before_id=before.pk if before else edge.before_id,
        after_id=after.pk if after else edge.after_id,
        reason=edge.reason,
        message=edge.message,
        state=edge.state,
    )


def _reckon(unit: WorkUnit, fields: Sequence[str] = ()) -> None:
    unit_store(unit=unit, fields=sorted({*unit_reckon(unit=unit), *fields}))
