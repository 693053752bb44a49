from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.link.closure import Closure

Graph = list[list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 9))
    nodes = st.integers(0, size - 1)
    return [draw(st.lists(nodes, max_size=4)) for _ in range(size)]


def reached(graph: Graph, start: int) -> set[int]:
    found, pending = {start}, [start]
    while pending:
        for one in graph[pending.pop()]:
            if one not in found:
                found.add(one)
                pending.append(one)
    return found


@given(graphs())
def test_a_union_holds_what_is_reached_and_nothing_else(graph: Graph) -> None:
    closure = Closure(lambda node: graph[node], lambda node: frozenset({str(node)}))
    for node in range(len(graph)):
        assert closure.of(node) == {str(one) for one in reached(graph, node)}


def test_a_long_chain_is_no_recursion() -> None:
    last = 50_000
    closure = Closure(
        lambda node: [node + 1] if node < last else [],
        lambda node: frozenset({"end"}) if node == last else frozenset(),
    )
    assert closure.of(0) == {"end"}


def test_what_was_walked_is_not_walked_again() -> None:
    asked: list[int] = []

    def following(node: int) -> list[int]:
        asked.append(node)
        return [node + 1] if node < 5 else []

    closure = Closure(following, lambda node: frozenset())
    closure.of(0)
    before = len(asked)
    closure.of(2)
    closure.of(0)
    assert len(asked) == before
