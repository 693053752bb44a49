"""What counts in a plan's schedules: the rates behind its units' weights, and the order of its phases."""

from __future__ import annotations

from dataclasses import asdict

from django.contrib.auth.models import User
from django.db import transaction

from migrations_tracker.errors import PlanError
from migrations_tracker.models import Plan, WorkUnit
from migrations_tracker.models.plan import PHASE_ORDER_LABELS
from migrations_tracker.scheduling.problem import PhaseOrder
from migrations_tracker.scheduling.units import UnitStatus
from migrations_tracker.scheduling.weighting import WeightRates, rates_in_words
from migrations_tracker.selectors.plan_weights import weights_with
from migrations_tracker.services.plan_log import plan_note

MAX_RATE = 1000


def plan_settings_set(*, plan: Plan, rates: WeightRates, phase_order: PhaseOrder, actor: User) -> Plan:
    """Set what counts from the next schedule on, and weigh the units that are not finished anew.

    While units wait for each other they keep their weights, and are weighed when the circle is cut and the
    plan held to a scan.
    """
    if not all(0 <= rate <= MAX_RATE for rate in asdict(rates).values()):
        raise PlanError(f"What a reason counts is from 0 to {MAX_RATE}.")
    with transaction.atomic():
        plan = Plan.objects.select_for_update(of=("self",)).select_related("repository").get(pk=plan.pk)
        plan.weight_rates, plan.phase_order = asdict(rates), phase_order.value
        plan.save(update_fields=["weight_rates", "phase_order", "changed_at"])
        _weigh(plan, rates)
        what = f"{PHASE_ORDER_LABELS[phase_order]}. In the weights, {rates_in_words(rates)}."
        plan_note(plan=plan, actor=actor, what=what)
    return plan


def _weigh(plan: Plan, rates: WeightRates) -> None:
    found = weights_with(plan=plan, rates=rates)
    changed = []
    for unit in (
        WorkUnit.objects.select_for_update().filter(plan=plan).exclude(status=UnitStatus.FINISHED.value)
    ):
        weight = found.get(unit.key)
        if weight is None:
            continue
        parts = [list(part) for part in weight.parts]
        if (unit.weight, unit.weight_parts) != (weight.value, parts):
            unit.weight, unit.weight_parts = weight.value, parts
            changed.append(unit)
    WorkUnit.objects.bulk_update(changed, ["weight", "weight_parts"], batch_size=200)
