"""Adding prerequisites, cutting those that are none, and taking either back."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from migrations_tracker.errors import PlanError
from migrations_tracker.models import Plan, Precedence, PrecedenceState, WorkUnit
from migrations_tracker.scheduling.graph import find_cycles
from migrations_tracker.scheduling.precedence import PrecedenceReason
from migrations_tracker.services.plan_log import plan_note, said, unit_check_open


def precedence_add(*, before: WorkUnit, after: WorkUnit, reason: str, actor: User) -> Precedence:
    """Make a unit wait for another one: the only way to block it, and by name."""
    reason = said(reason)
    if not reason:
        raise PlanError("Say why the one has to be finished before the other starts.")
    if before.plan_id != after.plan_id or before.pk == after.pk:
        raise PlanError("Choose another unit of the same plan.")
    with transaction.atomic():
        plan = Plan.objects.select_for_update().get(pk=after.plan_id)
        unit_check_open(unit=after)
        _check_no_cycle(plan, before, after)
        edge, _ = Precedence.objects.update_or_create(
            before=before,
            after=after,
            defaults={
                "state": PrecedenceState.ADDED,
                "reason": PrecedenceReason.PERSON.value,
                "message": reason,
            },
        )
        plan_note(
            plan=plan, unit=after, actor=actor, what=f"Waits for `{before.title}` from now on.", reason=reason
        )
    return edge


def precedence_cut(*, edge: Precedence, reason: str, actor: User) -> None:
    """Say that a unit need not wait for another one. What facts propose stays cut; what people added goes."""
    reason = said(reason)
    if not reason:
        raise PlanError("Say why the unit need not wait.")
    with transaction.atomic():
        edge = (
            Precedence.objects.select_for_update(of=("self",))
            .select_related("before", "after__plan")
            .get(pk=edge.pk)
        )
        what = f"No longer waits for `{edge.before.title}`."
        plan_note(plan=edge.after.plan, unit=edge.after, actor=actor, what=what, reason=reason)
        if edge.state == PrecedenceState.ADDED:
            edge.delete()
            return
        edge.state = PrecedenceState.CUT
        edge.save(update_fields=["state"])


def precedence_restore(*, edge: Precedence, actor: User) -> None:
    """Take a cut back, so that the facts hold again."""
    with transaction.atomic():
        edge = (
            Precedence.objects.select_for_update(of=("self",))
            .select_related("before", "after__plan")
            .get(pk=edge.pk)
        )
        if edge.state != PrecedenceState.CUT:
            raise PlanError("The edge is not cut.")
        edge.state = PrecedenceState.FACT
        edge.save(update_fields=["state"])
        what = f"Waits for `{edge.before.title}` again."
        plan_note(plan=edge.after.plan, unit=edge.after, actor=actor, what=what)


def _check_no_cycle(plan: Plan, before: WorkUnit, after: WorkUnit) -> None:
    pairs = {
        (str(first), str(then))
        for first, then in Precedence.objects.filter(before__plan=plan)
        .exclude(state=PrecedenceState.CUT)
        .values_list("before_id", "after_id")
    }
    known = {frozenset(cycle.edges) for cycle in find_cycles((), pairs)}
    closing = [
        cycle
        for cycle in find_cycles((), pairs | {(str(before.pk), str(after.pk))})
        if frozenset(cycle.edges) not in known
    ]
    if closing:
        keys = {pk for edge in closing[0].edges for pk in edge}
        titles = WorkUnit.objects.filter(pk__in=[int(pk) for pk in keys]).values_list("title", flat=True)
        raise PlanError(
            f"These units would wait for each other: {', '.join(titles)}. Cut another edge first."
        )
