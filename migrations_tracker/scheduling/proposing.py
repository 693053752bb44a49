"""The whole proposal: items bundled into units, their order, hours and weights, in one go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from audit.scanner.inventory import Inventory
from migrations_tracker.scheduling.bundling import Change, Coverage, bundle, coverage
from migrations_tracker.scheduling.catalogue import Catalogue, default_catalogue
from migrations_tracker.scheduling.estimating import Correction, Estimate, estimate
from migrations_tracker.scheduling.gathering import Facts, items_of
from migrations_tracker.scheduling.items import OpenItem
from migrations_tracker.scheduling.naming import PolicyNames
from migrations_tracker.scheduling.precedence import PrecedenceGraph, build_precedences
from migrations_tracker.scheduling.units import WorkUnit
from migrations_tracker.scheduling.weighting import Weight, WeightRates, weights


@dataclass(frozen=True, slots=True)
class Standing:
    """What people and earlier proposals left: units, and edges added to and cut from the facts'."""

    units: Sequence[WorkUnit] = ()
    added: Sequence[tuple[str, str]] = ()
    cut: Sequence[tuple[str, str]] = ()
    corrections: Mapping[str, Correction] = field(default_factory=dict)
    rates: WeightRates | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """Units with all that is known of them. `weights` is empty while the order has a cycle."""

    items: Mapping[str, OpenItem]
    units: tuple[WorkUnit, ...]
    changes: tuple[Change, ...]
    graph: PrecedenceGraph
    estimates: Mapping[str, Estimate]
    weights: Mapping[str, Weight]
    coverage: Coverage

    @property
    def by_key(self) -> dict[str, WorkUnit]:
        """The units by key."""
        return {unit.key: unit for unit in self.units}


def propose(
    facts: Facts,
    standing: Standing | None = None,
    catalogue: Catalogue | None = None,
    names: PolicyNames | None = None,
) -> Proposal:
    """Return the plan that the facts ask for, built on what stands."""
    rates, policy, before = catalogue or default_catalogue(), names or PolicyNames(), standing or Standing()
    items = items_of(facts, rates, policy)
    bundling = bundle(items, before.units, rates)
    return assess(items, bundling.units, facts.inventory, before, rates, bundling.changes)


def assess(
    items: Sequence[OpenItem],
    units: Sequence[WorkUnit],
    inventory: Inventory,
    standing: Standing | None = None,
    catalogue: Catalogue | None = None,
    changes: Sequence[Change] = (),
) -> Proposal:
    """Return order, hours and weights of units as they are."""
    before = standing or Standing()
    by_id = {item.id: item for item in items}
    graph = build_precedences(
        units, by_id, inventory.dependencies, before.added, before.cut, inventory.gpu_crates
    )
    return Proposal(
        items=by_id,
        units=tuple(units),
        changes=tuple(changes),
        graph=graph,
        estimates={unit.key: estimate(unit, by_id, catalogue, before.corrections) for unit in units},
        weights={} if graph.cycles else weights(units, by_id, graph.pairs(), before.rates),
        coverage=coverage(items, units),
    )
