"""What all that can be reached from a place in a graph has together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


class Closure:
    """Unions of names over what can be reached, each part of the graph walked once.

    Nodes that reach each other have the same union: they are found as Tarjan's strongly connected components.
    """

    def __init__(
        self, following: Callable[[int], Iterable[int]], own: Callable[[int], frozenset[str]]
    ) -> None:
        self._following = following
        self._own = own
        self._known: dict[int, frozenset[str]] = {}

    def of(self, start: int) -> frozenset[str]:
        """Return the union of a node's own names and those of all that it reaches."""
        if start not in self._known:
            self._walk(start)
        return self._known[start]

    def _walk(self, start: int) -> None:
        lowest: dict[int, int] = {}
        numbers: dict[int, int] = {}
        open_nodes: list[int] = []
        path: list[tuple[int, Iterator[int]]] = []

        def enter(node: int) -> None:
            numbers[node] = lowest[node] = len(numbers)
            open_nodes.append(node)
            path.append((node, iter(self._following(node))))

        enter(start)
        while path:
            node, following = path[-1]
            for one in following:
                if one not in numbers and one not in self._known:
                    enter(one)
                    break
                if one not in self._known:
                    lowest[node] = min(lowest[node], numbers[one])
            else:
                path.pop()
                if path:
                    before = path[-1][0]
                    lowest[before] = min(lowest[before], lowest[node])
                if lowest[node] == numbers[node]:
                    self._close(open_nodes, node)

    def _close(self, open_nodes: list[int], first: int) -> None:
        component = [open_nodes.pop()]
        while component[-1] != first:
            component.append(open_nodes.pop())
        names: set[str] = set()
        for node in component:
            names |= self._own(node)
            for one in self._following(node):
                names |= self._known.get(one, frozenset())
        union = frozenset(names)
        for node in component:
            self._known[node] = union
