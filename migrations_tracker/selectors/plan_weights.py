"""What units would weigh by other rates."""

from __future__ import annotations

from migrations_tracker.models import Plan
from migrations_tracker.scheduling.catalogue import default_catalogue
from migrations_tracker.scheduling.gathering import items_of
from migrations_tracker.scheduling.naming import PolicyNames
from migrations_tracker.scheduling.proposing import assess
from migrations_tracker.scheduling.units import UnitStatus
from migrations_tracker.scheduling.weighting import Weight, WeightRates, weights
from migrations_tracker.selectors.plan_facts import plan_facts, standing_of


def weights_with(*, plan: Plan, rates: WeightRates) -> dict[str, Weight]:
    """Return the weights of the units that are not finished, by other rates; none while there is a cycle."""
    facts = plan_facts(repository=plan.repository).facts
    standing = standing_of(plan=plan)
    catalogue = default_catalogue()
    items = items_of(facts, catalogue, PolicyNames())
    found = assess(items, standing.units, facts.inventory, standing, catalogue)
    if found.graph.cycles:
        return {}
    open_units = [unit for unit in found.units if unit.status is not UnitStatus.FINISHED]
    reckoned = weights(found.units, found.items, found.graph.pairs(), rates)
    return {unit.key: reckoned[unit.key] for unit in open_units}
