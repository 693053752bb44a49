"""The graph of precedences. All use of networkx is here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import networkx as nx


@dataclass(frozen=True, slots=True)
class PrecedenceCycle:
    """Units that wait for each other: `units[0] → units[1] → … → units[0]`."""

    units: tuple[str, ...]

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The edges that close it, in walking order."""
        return tuple(zip(self.units, (*self.units[1:], self.units[0]), strict=True))

    def __str__(self) -> str:
        return " → ".join((*self.units, self.units[0]))


def find_cycles(units: Iterable[str], edges: Iterable[tuple[str, str]]) -> tuple[PrecedenceCycle, ...]:
    """Return one shortest cycle per knot of units that wait for each other, in a fixed order."""
    edges = list(edges)
    # Most plans have none, and that is told in a fraction of the time.
    if _is_free_of_cycles(edges):
        return ()
    graph = _graph(units, edges)
    cycles = []
    for component in nx.strongly_connected_components(graph):
        if len(component) == 1 and not any(graph.has_edge(unit, unit) for unit in component):
            continue
        knot = graph.subgraph(component)
        cycles.append(PrecedenceCycle(_shortest_cycle(knot, sorted(component))))
    return tuple(sorted(cycles, key=lambda cycle: cycle.units))


def _is_free_of_cycles(edges: Iterable[tuple[str, str]]) -> bool:
    waits: dict[str, list[str]] = {}
    for before, after in edges:
        waits.setdefault(after, []).append(before)
    try:
        TopologicalSorter(waits).prepare()
    except CycleError:
        return False
    return True


def _shortest_cycle(knot: nx.DiGraph, members: Sequence[str]) -> tuple[str, ...]:
    best: tuple[str, ...] | None = None
    for start in members:
        distances = nx.single_source_shortest_path(knot, start)
        closing = [tuple(path) for end, path in distances.items() if knot.has_edge(end, start)]
        shortest = min(closing, key=lambda path: (len(path), path), default=None)
        if shortest is not None and (best is None or len(shortest) < len(best)):
            best = shortest
    assert best is not None  # noqa: S101 -- a strongly connected knot has a cycle through each member
    return best


def topological_order(units: Iterable[str], edges: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the units so that each stands after its predecessors, ties by key."""
    return tuple(nx.lexicographical_topological_sort(_graph(units, edges)))


def without_redundant(units: Iterable[str], edges: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the edges that no chain of other edges implies. The graph must have no cycle."""
    return tuple(sorted(nx.transitive_reduction(_graph(units, edges)).edges))


def successors_of_all(units: Iterable[str], edges: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Return every unit that has to wait, directly or not, for each unit. The graph must have no cycle."""
    graph = _graph(units, edges)
    after: dict[str, frozenset[str]] = {}
    for unit in reversed(list(nx.topological_sort(graph))):
        direct = list(graph.successors(unit))
        after[unit] = frozenset(direct).union(*(after[successor] for successor in direct))
    return after


def _graph(units: Iterable[str], edges: Iterable[tuple[str, str]]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted(units))
    graph.add_edges_from(sorted(edges))
    return graph
