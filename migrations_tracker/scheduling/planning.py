"""From units to a problem: estimates, weights, precedences, people and runners put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from migrations_tracker.scheduling.catalogue import Catalogue, Hours, default_catalogue
from migrations_tracker.scheduling.estimating import ticks
from migrations_tracker.scheduling.precedence import PrecedenceGraph
from migrations_tracker.scheduling.problem import (
    Person,
    PhaseOrder,
    Pin,
    Problem,
    Runner,
    UnderWay,
    UnitDemand,
)
from migrations_tracker.scheduling.units import UnitStatus, WorkUnit
from migrations_tracker.scheduling.weighting import Weight


@dataclass(frozen=True, slots=True)
class Wishes:
    """What people fixed about units, by key."""

    pins: Mapping[str, Pin] = field(default_factory=dict)
    deadlines: Mapping[str, datetime] = field(default_factory=dict)
    releases: Mapping[str, datetime] = field(default_factory=dict)
    under_way: Mapping[str, UnderWay] = field(default_factory=dict)


def problem_of(
    units: Sequence[WorkUnit],
    hours: Mapping[str, Hours],
    weights: Mapping[str, Weight],
    graph: PrecedenceGraph,
    people: Sequence[Person],
    runners: Sequence[Runner],
    origin: datetime,
    wishes: Wishes | None = None,
    phase_order: PhaseOrder = PhaseOrder.OVERLAPPING,
    catalogue: Catalogue | None = None,
) -> Problem:
    """Return the problem of scheduling the units that are not finished.

    `hours` are by unit: the estimate, or for a unit under way what remains of it. A unit that changes what
    runs on a device is verified on a runner; a decision and a change of texts are not.
    """
    rates = catalogue or default_catalogue()
    fixed = wishes or Wishes()
    ready = [unit for unit in units if unit.status is not UnitStatus.FINISHED]
    keys = {unit.key for unit in ready}
    demands = tuple(
        UnitDemand(
            key=unit.key,
            effort=ticks(hours[unit.key].likely) if hours[unit.key].likely else 0,
            phase=unit.phase,
            skills=unit.skills,
            verification=ticks(rates.verification_hours) if needs_verification(unit) else 0,
            labels=rates.labels if needs_verification(unit) else frozenset(),
            weight=weights[unit.key].value,
            release=fixed.releases.get(unit.key),
            deadline=fixed.deadlines.get(unit.key),
            pin=fixed.pins.get(unit.key),
            under_way=fixed.under_way.get(unit.key),
        )
        for unit in ready
    )
    edges = tuple(pair for pair in graph.pairs() if set(pair) <= keys)
    return Problem(origin, demands, tuple(people), tuple(runners), edges, phase_order)


def needs_verification(unit: WorkUnit) -> bool:
    """Whether a GPU has to prove a unit."""
    return bool(unit.item_ids) and unit.rules not in (("dishonest-report",), ("comment-only-gap",))
