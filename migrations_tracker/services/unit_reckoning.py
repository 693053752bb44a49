"""Reckoning a unit's hours and weight anew after a person changed what it holds."""

from __future__ import annotations

from collections.abc import Mapping

from migrations_tracker.models import Plan, Precedence, PrecedenceState, WorkUnit
from migrations_tracker.scheduling.estimating import estimate, learn
from migrations_tracker.scheduling.graph import find_cycles
from migrations_tracker.scheduling.items import OpenItem
from migrations_tracker.scheduling.units import UnitStatus
from migrations_tracker.scheduling.units import WorkUnit as Unit
from migrations_tracker.scheduling.weighting import Weight, WeightRates, weights
from migrations_tracker.selectors.plan_facts import finished_units, unit_of_row
from migrations_tracker.selectors.unit_detail import unit_items, unit_members
from migrations_tracker.services.plan_proposals import HOURS, reckoned_columns


def unit_reckon(*, unit: WorkUnit) -> list[str]:
    """Set a unit's hours and weight to what its members ask for; return the columns that are to be saved.

    Hours that a person gave stay.
    """
    items = unit_items(unit=unit, members=unit_members(unit=unit), asks_drivers=True)
    core = unit_of_row(unit, items)
    done = WorkUnit.objects.filter(plan=unit.plan_id, status=UnitStatus.FINISHED.value)
    hours = estimate(core, items, corrections=learn(finished_units(done)))
    columns = reckoned_columns(core, hours, _weight(core, items, unit.plan))
    if unit.is_estimated_by_hand:
        columns = {name: value for name, value in columns.items() if name not in HOURS}
    for name, value in columns.items():
        setattr(unit, name, value)
    return list(columns)


def _weight(unit: Unit, items: Mapping[str, OpenItem], plan: Plan) -> Weight | None:
    edges = list(
        Precedence.objects.filter(before__plan=plan)
        .exclude(state=PrecedenceState.CUT)
        .values_list("before__key", "after__key")
    )
    if find_cycles((), edges):
        return None
    return weights([unit], items, edges, WeightRates(**plan.weight_rates))[unit.key]
