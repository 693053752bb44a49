from __future__ import annotations

from dataclasses import replace

from audit.scanner.report import Outcome
from migrations_tracker.scheduling.bundling import bundle
from migrations_tracker.scheduling.catalogue import default_catalogue
from migrations_tracker.scheduling.deciding import WorkspaceFacts, with_needs
from migrations_tracker.scheduling.items import Direction, ItemKind, OpenItem
from migrations_tracker.scheduling.naming import PolicyNames
from migrations_tracker.scheduling.precedence import (
    PrecedenceGraph,
    PrecedenceReason,
    build_precedences,
    shown_edges,
)
from migrations_tracker.scheduling.units import WorkUnit

CORE, GPU, XPU = "ferrotorch-core", "ferrotorch-gpu", "ferrotorch-xpu"
NO_CRATES: dict[str, frozenset[str]] = {}


def item(name: str, rule: str = "silent-fallback", crate: str = GPU, **given: object) -> OpenItem:
    base = OpenItem(id=name, rule=rule, crate=crate, path=f"{crate}/src/{name}.rs", symbol=name)
    return replace(base, **given)  # type: ignore[arg-type]


def unit_of(units: tuple[WorkUnit, ...], item_id: str) -> str:
    return next(unit.key for unit in units if item_id in unit.item_ids)


def edge_reasons(graph: PrecedenceGraph) -> dict[tuple[str, str], PrecedenceReason]:
    return {(edge.before, edge.after): edge.reason for edge in graph.edges}


def test_the_shared_error_variant_comes_before_its_consumers() -> None:
    items = with_needs(
        [item("a"), item("b", crate=XPU)], WorkspaceFacts({}), default_catalogue(), PolicyNames()
    )
    units = bundle(items).units
    graph = build_precedences(units, {i.id: i for i in items}, NO_CRATES)
    variant = units[0].key
    assert units[0].need is not None
    for name in ("a", "b"):
        found = graph.prerequisites(unit_of(units, name))
        assert [(edge.before, edge.reason) for edge in found] == [(variant, PrecedenceReason.NEEDS)]
        assert "GpuError::PtxCompileFailed" in found[0].message


def test_the_logging_crate_comes_before_the_helper_and_both_before_the_fallbacks() -> None:
    items = with_needs([item("a", "ungated-warning")], WorkspaceFacts({}), default_catalogue(), PolicyNames())
    units = bundle(items).units
    graph = build_precedences(units, {i.id: i for i in items}, NO_CRATES)
    keys = {unit.need.name: unit.key for unit in units if unit.need}
    pairs = set(graph.pairs())
    assert (keys["tracing"], keys["check_gpu_fallback_opt_in"]) in pairs
    assert (keys["check_gpu_fallback_opt_in"], unit_of(units, "a")) in pairs
    assert (keys["tracing"], unit_of(units, "a")) in pairs
    shown = {(edge.before, edge.after) for edge in shown_edges(graph, units)}
    assert (keys["tracing"], unit_of(units, "a")) not in shown


def test_a_crate_that_stands_on_redesigned_storage_comes_after_it() -> None:
    facts = WorkspaceFacts(
        {XPU: frozenset({"ferrotorch-cubecl"})}, host_storage=frozenset({"ferrotorch-cubecl"})
    )
    raw = [item("a", "host-readback", "ferrotorch-cubecl"), item("b", "reference-punt", XPU)]
    items = with_needs(raw, facts, default_catalogue(), PolicyNames())
    units = bundle(items).units
    graph = build_precedences(units, {i.id: i for i in items}, facts.dependencies)
    storage = next(unit.key for unit in units if unit.need and "device" in unit.need.name)
    reasons = edge_reasons(graph)
    assert reasons[storage, unit_of(units, "a")] is PrecedenceReason.NEEDS
    assert reasons[storage, unit_of(units, "b")] is PrecedenceReason.STORAGE


def test_forward_comes_before_backward_and_kernel_before_test() -> None:
    items = [
        item("forward", outcome=Outcome.DEVICE_KERNEL, operator="aten::relu"),
        item("backward", "autograd-cpu-detour", CORE, operator="aten::relu", direction=Direction.BACKWARD),
        item("proof", "missing-gpu-test", kind=ItemKind.TEST, tests=("aten::relu",)),
    ]
    units = bundle(items).units
    reasons = edge_reasons(build_precedences(units, {i.id: i for i in items}, NO_CRATES))
    forward, backward, proof = (unit_of(units, name) for name in ("forward", "backward", "proof"))
    assert reasons == {
        (forward, backward): PrecedenceReason.FORWARD_BEFORE_BACKWARD,
        (forward, proof): PrecedenceReason.KERNEL_BEFORE_TEST,
        (backward, proof): PrecedenceReason.KERNEL_BEFORE_TEST,
    }


def test_the_same_operator_comes_first_in_the_crate_that_the_other_stands_on() -> None:
    items = [
        item("lower", outcome=Outcome.DEVICE_KERNEL, operator="aten::mm"),
        item("upper", crate=XPU, outcome=Outcome.DEVICE_KERNEL, operator="aten::mm"),
    ]
    units = bundle(items).units
    graph = build_precedences(units, {i.id: i for i in items}, {XPU: frozenset({GPU})})
    assert edge_reasons(graph) == {(unit_of(units, "lower"), unit_of(units, "upper")): PrecedenceReason.CRATE}


def test_a_cycle_is_shown_with_its_edges_and_ends_when_a_person_cuts_one() -> None:
    items = [
        item("forward", crate=XPU, outcome=Outcome.DEVICE_KERNEL, operator="aten::mm"),
        item("backward", "autograd-cpu-detour", XPU, operator="aten::mm", direction=Direction.BACKWARD),
        item("below", "autograd-cpu-detour", GPU, operator="aten::mm", direction=Direction.BACKWARD),
    ]
    units = bundle(items).units
    by_id = {i.id: i for i in items}
    crates = {XPU: frozenset({GPU}), GPU: frozenset({XPU})}
    graph = build_precedences(units, by_id, crates)
    assert len(graph.cycles) == 1
    cycle = graph.cycles[0]
    # The two halves above are one unit: its forward waits to be used below, its backward for the one below.
    assert {edge.reason for edge in cycle.edges} == {
        PrecedenceReason.FORWARD_BEFORE_BACKWARD,
        PrecedenceReason.CRATE,
    }
    assert cycle.weakest.reason is PrecedenceReason.CRATE
    cut = [(cycle.weakest.before, cycle.weakest.after)]
    assert build_precedences(units, by_id, crates, cut=cut).cycles == ()


def test_a_person_may_add_an_edge() -> None:
    items = [item("a"), item("b", crate=XPU)]
    units = bundle(items).units
    pair = (unit_of(units, "a"), unit_of(units, "b"))
    graph = build_precedences(units, {i.id: i for i in items}, NO_CRATES, added=[pair])
    assert edge_reasons(graph) == {pair: PrecedenceReason.PERSON}


def test_a_kernel_comes_before_the_crate_that_dispatches_to_it() -> None:
    items = [
        item("dispatch", crate=CORE, outcome=Outcome.COMPOSITE, operator="aten::mm"),
        item("kernel", outcome=Outcome.DEVICE_KERNEL, operator="aten::mm"),
    ]
    units = bundle(items).units
    by_id = {i.id: i for i in items}
    graph = build_precedences(units, by_id, {GPU: frozenset({CORE})}, backends=frozenset({GPU}))
    assert graph.pairs() == ((unit_of(units, "kernel"), unit_of(units, "dispatch")),)


def test_a_forward_and_a_backward_are_not_tied_by_their_crates() -> None:
    items = [
        item("forward", crate=CORE, outcome=Outcome.COMPOSITE, operator="aten::mm"),
        item("backward", "autograd-cpu-detour", operator="aten::mm", direction=Direction.BACKWARD),
    ]
    units = bundle(items).units
    by_id = {i.id: i for i in items}
    graph = build_precedences(units, by_id, {GPU: frozenset({CORE})}, backends=frozenset({GPU}))
    pair = (unit_of(units, "forward"), unit_of(units, "backward"))
    assert edge_reasons(graph) == {pair: PrecedenceReason.FORWARD_BEFORE_BACKWARD}
