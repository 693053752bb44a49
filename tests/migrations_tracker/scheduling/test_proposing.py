from __future__ import annotations

from dataclasses import replace

import pytest

from audit.parity.capability import Case
from audit.parity.catalogue import Direction as CaseDirection
from audit.scanner.inventory import Inventory
from audit.scanner.report import Outcome
from migrations_tracker.scheduling.catalogue import default_catalogue
from migrations_tracker.scheduling.gathering import (
    CaseFact,
    Facts,
    SiteFact,
    answer_of,
    gap_item_id,
    items_of,
    rule_names,
)
from migrations_tracker.scheduling.items import Direction, ItemKind, NeedKind, OpenItem
from migrations_tracker.scheduling.naming import PolicyNames
from migrations_tracker.scheduling.proposing import Proposal, Standing, propose

CORE, GPU = "demo-core", "demo-gpu"
SITE = SiteFact("site:1", "reference-punt", CORE, "demo-core/src/a.rs", "demo_core::a::exp")
CASE = CaseFact(
    "aten::exp",
    "float32",
    "cuda",
    "forward",
    Outcome.DEVICE_KERNEL,
    CORE,
    "demo-core/src/a.rs",
    "demo_core::a::exp",
)
INVENTORY = Inventory(dependencies={CORE: frozenset(), GPU: frozenset({CORE})}, gpu_crates=frozenset({GPU}))


def items(*sites: SiteFact, cases: tuple[CaseFact, ...] = (), known: Inventory = INVENTORY) -> list[OpenItem]:
    return list(items_of(Facts(sites, cases, known), default_catalogue(), PolicyNames()))


def kinds(proposal: Proposal) -> set[NeedKind]:
    return {unit.need.kind for unit in proposal.units if unit.need}


def test_every_rule_of_the_scanner_has_a_plan() -> None:
    assert set(rule_names().values()) <= set(default_catalogue().rules)


def test_a_host_body_stays_behind_the_opt_in_only_where_pytorch_computes() -> None:
    alone, with_kernel, refused = (
        items(SITE),
        items(SITE, cases=(CASE,)),
        items(SITE, cases=(replace(CASE, answer=Outcome.STRUCTURED_ERROR),)),
    )
    catalogue = default_catalogue()
    assert [catalogue.outcome_of(found[0]) for found in (alone, with_kernel, refused)] == [
        Outcome.STRUCTURED_ERROR,
        Outcome.OPT_IN_FALLBACK,
        Outcome.STRUCTURED_ERROR,
    ]


def test_a_site_has_its_operator_only_where_it_serves_one() -> None:
    other = replace(CASE, operator="aten::log")
    assert items(SITE, cases=(CASE,))[0].operator == "aten::exp"
    assert items(SITE, cases=(CASE, other))[0].operator == ""


def test_the_dtypes_of_a_gap_are_one_item_that_writes_a_kernel_if_one_of_them_does() -> None:
    gap = replace(CASE, is_gap=True, answer=Outcome.COMPOSITE)
    found = items(cases=(gap, replace(gap, dtype="float64", answer=Outcome.DEVICE_KERNEL), CASE))
    assert [item.id for item in found] == [gap_item_id("aten::exp", "cuda", "forward")]
    assert (found[0].kind, found[0].dtypes) == (ItemKind.GAP, ("float32", "float64"))
    assert found[0].outcome is Outcome.DEVICE_KERNEL


def test_a_test_names_the_operators_that_it_proves() -> None:
    found = items(replace(SITE, rule="missing-gpu-test"), cases=(CASE,))
    assert (found[0].kind, found[0].tests, found[0].outcome) == (ItemKind.TEST, ("aten::exp",), None)


def test_what_the_workspace_lacks_is_a_decision_and_what_it_has_is_none() -> None:
    wanted = {NeedKind.WORKSPACE_DEPENDENCY, NeedKind.ERROR_VARIANT, NeedKind.SHARED_HELPER}
    facts = Facts([SITE], [CASE], INVENTORY)
    assert kinds(propose(facts)) == wanted
    complete = replace(
        INVENTORY,
        dependencies={CORE: frozenset({"tracing"})},
        error_variants=frozenset({"GpuError::Unsupported"}),
        gate_helpers=frozenset({"gate_is_open"}),
    )
    assert kinds(propose(replace(facts, inventory=complete))) == set()


def test_a_proposal_covers_all_orders_all_and_changes_nothing_when_run_again() -> None:
    gap = replace(CASE, is_gap=True)
    first = propose(Facts([SITE], [CASE, gap], INVENTORY))
    again = propose(Facts([SITE], [CASE, gap], INVENTORY), Standing(units=first.units))
    assert first.coverage.missing == first.coverage.repeated == ()
    assert set(first.weights) == set(first.estimates) == {unit.key for unit in first.units}
    assert again.units == first.units
    assert again.changes == ()


def test_pytorch_decides_the_answer() -> None:
    case = Case("aten::exp", "float32", "cuda", CaseDirection.FORWARD)
    assert answer_of(case) is Outcome.DEVICE_KERNEL
    assert answer_of(replace(case, operator="aten::no_such_thing")) is Outcome.STRUCTURED_ERROR


def test_a_gap_is_about_its_direction() -> None:
    found = items(cases=(replace(CASE, is_gap=True, direction="backward"),))
    assert found[0].direction is Direction.BACKWARD


@pytest.mark.parametrize(
    ("kernels", "loads", "is_always_taken", "is_rejected"),
    [
        (("bad",), {}, False, True),
        (("good",), {}, False, False),
        (("bad",), {"bad": False}, True, False),
        (("bad",), {"bad": True}, False, False),
        (("bad", "good"), {"bad": False}, False, False),
        (("bad", "good"), {"bad": False, "good": False}, True, False),
    ],
)
def test_only_a_driver_says_that_a_path_is_always_taken_and_it_outranks_the_assembler(
    kernels: tuple[str, ...], loads: dict[str, bool], is_always_taken: bool, is_rejected: bool
) -> None:
    facts = Facts(
        (SiteFact("site:1", "silent-fallback", GPU, "demo-gpu/src/a.rs", "demo_gpu::a"),),
        inventory=Inventory(kernels={"demo_gpu::a": kernels}, rejected_kernels=frozenset({"bad"})),
        kernel_loads=loads,
    )
    proposal = propose(facts)
    item = proposal.items["site:1"]
    assert (item.is_always_taken, item.is_rejected) == (is_always_taken, is_rejected)
    (unit,) = (unit for unit in proposal.units if "site:1" in unit.item_ids)
    said = [reason for reason, _ in proposal.weights[unit.key].parts if "PTX" in reason]
    assert [("driver" in reason, "assembler" in reason) for reason in said] == [
        (is_always_taken, is_rejected)
    ] * (is_always_taken or is_rejected)
