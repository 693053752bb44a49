"""What precedes what, from facts: each edge with its reason, people's cuts and additions, and cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from audit.scanner.report import Outcome
from migrations_tracker.scheduling.deciding import consumers
from migrations_tracker.scheduling.graph import PrecedenceCycle, find_cycles, without_redundant
from migrations_tracker.scheduling.items import Direction, ItemKind, NeedKind, OpenItem
from migrations_tracker.scheduling.units import WorkUnit


class PrecedenceReason(StrEnum):
    """The fact behind an edge, the hardest first."""

    NEEDS = "needs"
    STORAGE = "stands-on-storage"
    KERNEL_BEFORE_TEST = "kernel-before-test"
    FORWARD_BEFORE_BACKWARD = "forward-before-backward"
    CRATE = "stands-on-crate"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Edge:
    """`before` has to be finished when `after` starts."""

    before: str
    after: str
    reason: PrecedenceReason
    message: str


@dataclass(frozen=True, slots=True)
class KnownCycle:
    """A cycle with its edges; `weakest` is the one that is proposed to be cut."""

    cycle: PrecedenceCycle
    edges: tuple[Edge, ...]
    weakest: Edge


@dataclass(frozen=True, slots=True)
class PrecedenceGraph:
    """All edges that hold, and the cycles that a person has to cut."""

    edges: tuple[Edge, ...]
    cycles: tuple[KnownCycle, ...]

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The edges as pairs of keys."""
        return tuple((edge.before, edge.after) for edge in self.edges)

    def prerequisites(self, unit: str) -> tuple[Edge, ...]:
        """What blocks a unit, each by name."""
        return tuple(edge for edge in self.edges if edge.after == unit)


def build_precedences(
    units: Sequence[WorkUnit],
    items: Mapping[str, OpenItem],
    dependencies: Mapping[str, frozenset[str]],
    added: Iterable[tuple[str, str]] = (),
    cut: Iterable[tuple[str, str]] = (),
    backends: frozenset[str] = frozenset(),
) -> PrecedenceGraph:
    """Return the edges between units, one per pair with the hardest reason, less those that a person cut.

    `backends` are the crates with kernels: a crate that they stand on dispatches to them, so there the kernel
    comes first.
    """
    removed = set(cut)
    by_pair: dict[tuple[str, str], Edge] = {}
    proposed = (
        *_needs(units, items),
        *_storage(units, dependencies),
        *_kernels_before_tests(units, items),
        *_forward_before_backward(units, items),
        *_crates(units, items, dependencies, backends),
        *(Edge(b, a, PrecedenceReason.PERSON, "a person said so") for b, a in added),
    )
    for edge in proposed:
        pair = (edge.before, edge.after)
        if edge.before != edge.after and pair not in removed:
            by_pair.setdefault(pair, edge)
    edges = tuple(by_pair[pair] for pair in sorted(by_pair))
    cycles = find_cycles((unit.key for unit in units), by_pair)
    return PrecedenceGraph(edges, tuple(_known(cycle, by_pair) for cycle in cycles))


def shown_edges(graph: PrecedenceGraph, units: Iterable[WorkUnit]) -> tuple[Edge, ...]:
    """Return the edges that no chain of others implies, which is what a drawing needs."""
    if graph.cycles:
        return graph.edges
    kept = set(without_redundant((unit.key for unit in units), graph.pairs()))
    return tuple(edge for edge in graph.edges if (edge.before, edge.after) in kept)


def _known(cycle: PrecedenceCycle, by_pair: Mapping[tuple[str, str], Edge]) -> KnownCycle:
    edges = tuple(by_pair[pair] for pair in cycle.edges)
    hardness = list(PrecedenceReason)
    weakest = max(edges, key=lambda edge: (hardness.index(edge.reason), edge.before, edge.after))
    return KnownCycle(cycle, edges, weakest)


def _needs(units: Sequence[WorkUnit], items: Mapping[str, OpenItem]) -> Iterator[Edge]:
    for unit in units:
        if unit.need is not None:
            for key in consumers(unit, units, items):
                yield Edge(unit.key, key, PrecedenceReason.NEEDS, f"`{unit.need.name}` has to exist first")
    # A helper that gates a fallback warns and refuses, so it uses the logging crate and the error variant.
    makers = [unit for unit in units if unit.need is not None]
    for helper in makers:
        if helper.need is None or helper.need.kind is not NeedKind.SHARED_HELPER:
            continue
        for other in makers:
            if other.need and other.need.kind in (NeedKind.WORKSPACE_DEPENDENCY, NeedKind.ERROR_VARIANT):
                message = f"`{helper.need.name}` uses `{other.need.name}`"
                yield Edge(other.key, helper.key, PrecedenceReason.NEEDS, message)


def _storage(units: Sequence[WorkUnit], dependencies: Mapping[str, frozenset[str]]) -> Iterator[Edge]:
    for unit in units:
        if unit.need is None or unit.need.kind is not NeedKind.STORAGE_REDESIGN:
            continue
        for other in units:
            if unit.crate in dependencies.get(other.crate, frozenset()):
                message = f"`{other.crate}` stands on the storage of `{unit.crate}`"
                yield Edge(unit.key, other.key, PrecedenceReason.STORAGE, message)


def _members(unit: WorkUnit, items: Mapping[str, OpenItem]) -> list[OpenItem]:
    return [items[item_id] for item_id in unit.item_ids if item_id in items]


def _writes_device_code(unit: WorkUnit) -> bool:
    return unit.outcome in (Outcome.DEVICE_KERNEL, Outcome.COMPOSITE)


def _kernels_before_tests(units: Sequence[WorkUnit], items: Mapping[str, OpenItem]) -> Iterator[Edge]:
    written: dict[str, set[str]] = {}
    for unit in units:
        if _writes_device_code(unit):
            for item in _members(unit, items):
                if item.kind is not ItemKind.TEST:
                    for name in filter(None, (item.operator, item.symbol)):
                        written.setdefault(name, set()).add(unit.key)
    for unit in units:
        for item in _members(unit, items):
            if item.kind is ItemKind.TEST:
                for name in filter(None, (item.operator, *item.tests)):
                    for before in sorted(written.get(name, ())):
                        message = f"the kernel of `{name}` comes before the test that proves it"
                        yield Edge(before, unit.key, PrecedenceReason.KERNEL_BEFORE_TEST, message)


def _operators(
    units: Sequence[WorkUnit], items: Mapping[str, OpenItem], direction: Direction
) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for unit in units:
        if not _writes_device_code(unit):
            continue
        for item in _members(unit, items):
            is_asked = (item.direction is Direction.BACKWARD) is (direction is Direction.BACKWARD)
            if item.operator and item.kind is not ItemKind.TEST and is_asked:
                found.setdefault(item.operator, set()).add(unit.key)
    return found


def _forward_before_backward(units: Sequence[WorkUnit], items: Mapping[str, OpenItem]) -> Iterator[Edge]:
    forward = _operators(units, items, Direction.FORWARD)
    backward = _operators(units, items, Direction.BACKWARD)
    for operator in sorted(forward.keys() & backward.keys()):
        for before in sorted(forward[operator]):
            for after in sorted(backward[operator] - {before}):
                message = f"the forward of `{operator}` comes before its backward"
                yield Edge(before, after, PrecedenceReason.FORWARD_BEFORE_BACKWARD, message)


def _crates(
    units: Sequence[WorkUnit],
    items: Mapping[str, OpenItem],
    dependencies: Mapping[str, frozenset[str]],
    backends: frozenset[str],
) -> Iterator[Edge]:
    """The same half of an operator in two crates: first the one that the other stands on, or its kernels."""
    crate_of = {unit.key: unit.crate for unit in units}
    for direction in (Direction.FORWARD, Direction.BACKWARD):
        for operator, keys in sorted(_operators(units, items, direction).items()):
            for before in sorted(keys):
                for after in sorted(keys):
                    lower, upper = crate_of[before], crate_of[after]
                    if lower not in dependencies.get(upper, frozenset()):
                        continue
                    if upper in backends and lower not in backends:
                        message = f"`{lower}` dispatches `{operator}` to the kernel of `{upper}`"
                        yield Edge(after, before, PrecedenceReason.CRATE, message)
                    else:
                        message = f"`{upper}` calls `{operator}` of `{lower}`"
                        yield Edge(before, after, PrecedenceReason.CRATE, message)
