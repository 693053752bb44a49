from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.scanner.report import Outcome
from migrations_tracker.scheduling.bundling import bundle, coverage
from migrations_tracker.scheduling.catalogue import default_catalogue
from migrations_tracker.scheduling.deciding import (
    WorkspaceFacts,
    consumers,
    host_storage_crates,
    with_needs,
)
from migrations_tracker.scheduling.items import ItemKind, Need, NeedKind, OpenItem
from migrations_tracker.scheduling.naming import PolicyNames
from migrations_tracker.scheduling.units import Phase, UnitKind, UnitStatus, WorkUnit

RULES = sorted(set(default_catalogue().rules) - {"capability-gap"})


def site(number: int, **given: object) -> OpenItem:
    base = OpenItem(
        id=f"S{number:03d}",
        rule="silent-fallback",
        crate="ferrotorch-gpu",
        path="ferrotorch-gpu/src/kernels.rs",
        symbol=f"ferrotorch_gpu::kernels::gpu_op{number}",
    )
    return replace(base, **given)  # type: ignore[arg-type]


@st.composite
def any_items(draw: st.DrawFn) -> list[OpenItem]:
    crates = st.sampled_from(("core", "gpu"))
    needs = st.sampled_from(
        (
            (),
            (Need(NeedKind.ERROR_VARIANT, "E::U", "gpu"),),
            (Need(NeedKind.WORKSPACE_DEPENDENCY, "tracing"),),
        )
    )
    build = st.builds(
        OpenItem,
        id=st.integers(0, 60).map(lambda n: f"S{n:02d}"),
        rule=st.sampled_from(RULES),
        crate=crates,
        path=st.sampled_from(("src/a.rs", "src/b.rs", "src/ops/c.rs", "tests/d.rs")),
        symbol=st.sampled_from(("f", "g", "h")),
        kind=st.sampled_from(ItemKind),
        outcome=st.none() | st.sampled_from(Outcome),
        callers=st.integers(0, 60),
        is_high_stakes=st.integers(0, 9).map(lambda n: n == 0),
        needs=needs,
    )
    return draw(st.lists(build, max_size=60, unique_by=lambda item: item.id))


def with_locks(units: tuple[WorkUnit, ...], data: st.DataObject) -> tuple[WorkUnit, ...]:
    choices = st.sampled_from(("", "", "edited", "under-way", "finished"))
    locked = []
    for unit in units:
        choice = data.draw(choices)
        if choice == "edited":
            unit = replace(unit, is_edited=True, title="Renamed by a person")
        elif choice:
            unit = replace(unit, status=UnitStatus(choice))
        locked.append(unit)
    return tuple(locked)


@settings(deadline=None)
@given(any_items())
def test_every_open_item_is_in_exactly_one_unit(items: list[OpenItem]) -> None:
    found = coverage(items, bundle(items).units)
    assert found.missing == ()
    assert found.repeated == ()


@settings(deadline=None)
@given(any_items(), any_items(), st.data())
def test_after_a_later_scan_every_open_item_is_in_exactly_one_unit(
    before: list[OpenItem], after: list[OpenItem], data: st.DataObject
) -> None:
    units = with_locks(bundle(before).units, data)
    found = coverage(after, bundle(after, units).units)
    assert found.missing == ()
    assert found.repeated == ()


@settings(deadline=None)
@given(any_items(), any_items(), st.data())
def test_a_unit_that_is_edited_or_under_way_is_never_touched(
    before: list[OpenItem], after: list[OpenItem], data: st.DataObject
) -> None:
    units = with_locks(bundle(before).units, data)
    again = bundle(after, units)
    assert [unit for unit in units if unit.is_locked and unit not in again.units] == []
    locked = {unit.key for unit in units if unit.is_locked}
    assert [change for change in again.changes if change.unit in locked] == []


@settings(deadline=None)
@given(any_items(), st.randoms())
def test_a_second_run_changes_nothing_and_the_order_of_the_items_does_not_matter(
    items: list[OpenItem], shuffle: object
) -> None:
    first = bundle(items)
    shuffled = list(items)
    shuffle.shuffle(shuffled)  # type: ignore[attr-defined]
    assert bundle(shuffled).units == first.units
    again = bundle(items, first.units)
    assert again.units == first.units
    assert again.changes == ()


@settings(deadline=None)
@given(any_items(), any_items())
def test_no_two_units_share_a_key(before: list[OpenItem], after: list[OpenItem]) -> None:
    keys = [unit.key for unit in bundle(after, bundle(before).units).units]
    assert len(keys) == len(set(keys))


def test_a_mechanical_sweep_is_larger_than_a_redesign() -> None:
    sweep = bundle([site(n) for n in range(50)]).units
    assert sorted(len(unit.item_ids) for unit in sweep) == [25, 25]
    assert {unit.phase for unit in sweep} == {Phase.SWEEPS}
    redesign = bundle([site(n, rule="host-readback") for n in range(50)]).units
    assert {len(unit.item_ids) for unit in redesign} == {10}
    assert {unit.phase for unit in redesign} == {Phase.REDESIGNS}


def test_units_do_not_mix_crates_or_outcomes() -> None:
    items = [
        *(site(n) for n in range(6)),
        *(site(n, crate="ferrotorch-nn", path="ferrotorch-nn/src/a.rs") for n in range(6, 12)),
        *(site(n, outcome=Outcome.DEVICE_KERNEL) for n in range(12, 18)),
    ]
    units = bundle(items).units
    assert [len(unit.item_ids) for unit in units] == [6, 6, 6]


def test_a_high_stakes_site_is_a_unit_of_its_own() -> None:
    units = bundle([*(site(n) for n in range(6)), site(6, is_high_stakes=True)]).units
    single = [unit for unit in units if unit.kind is UnitKind.SINGLE]
    assert [unit.item_ids for unit in single] == [("S006",)]


def test_a_new_site_joins_the_unit_of_its_file_and_moves_nothing_else() -> None:
    items = [
        *(site(n) for n in range(6)),
        *(site(n, path="ferrotorch-gpu/src/conv.rs") for n in range(6, 12)),
    ]
    first = bundle(items)
    again = bundle([*items, site(20, path="ferrotorch-gpu/src/conv.rs")], first.units)
    joined = [change for change in again.changes if change.item_ids == ("S020",)]
    assert [change.what for change in joined] == ["an item joined"]
    assert {unit.key for unit in again.units} == {unit.key for unit in first.units}


def test_a_site_that_moved_to_another_file_stays_in_its_unit() -> None:
    items = [site(n) for n in range(6)]
    first = bundle(items)
    moved = [*items[:-1], replace(items[-1], path="ferrotorch-gpu/src/other.rs")]
    assert bundle(moved, first.units).units == first.units


def test_a_site_still_open_after_its_unit_finished_is_planned_again() -> None:
    items = [site(n) for n in range(6)]
    finished = tuple(replace(unit, status=UnitStatus.FINISHED) for unit in bundle(items).units)
    again = bundle(items[:2], finished)
    fresh = [unit for unit in again.units if not unit.is_finished]
    assert [unit.item_ids for unit in fresh] == [("S000", "S001")]


NAMES = PolicyNames()


def test_an_opt_in_fallback_needs_the_logging_crate_the_gate_and_the_error() -> None:
    items = [site(n, rule="ungated-warning") for n in range(6)]
    facts = WorkspaceFacts({"ferrotorch-gpu": frozenset({"cudarc"})})
    needing = with_needs(items, facts, default_catalogue(), NAMES)
    units = bundle(needing).units
    decisions = [unit for unit in units if unit.kind is UnitKind.DECISION]
    assert [unit.need.name for unit in decisions if unit.need] == [
        "GpuError::Unsupported",
        "check_gpu_fallback_opt_in",
        "tracing",
    ]
    sweep = next(unit for unit in units if unit.kind is UnitKind.SWEEP)
    for decision in decisions:
        assert consumers(decision, units, {item.id: item for item in needing}) == (sweep.key,)


def test_what_the_workspace_has_is_not_proposed() -> None:
    items = [site(n, rule="ungated-warning") for n in range(6)]
    facts = WorkspaceFacts(
        {"ferrotorch-gpu": frozenset({"tracing"})},
        frozenset({"GpuError::Unsupported"}),
        frozenset({"check_gpu_fallback_opt_in"}),
    )
    needing = with_needs(items, facts, default_catalogue(), NAMES)
    assert [unit.kind for unit in bundle(needing).units] == [UnitKind.SWEEP]


def test_a_need_that_is_still_there_after_its_unit_finished_is_proposed_again() -> None:
    items = with_needs([site(1)], WorkspaceFacts({}), default_catalogue(), NAMES)
    first = bundle(items).units
    done = tuple(replace(u, status=UnitStatus.FINISHED) if u.need else u for u in first)
    again = [unit for unit in bundle(items, done).units if unit.need]
    assert [unit.status for unit in again] == [UnitStatus.FINISHED, UnitStatus.PLANNED]


def test_a_backend_crate_that_mostly_reads_back_is_a_storage_redesign() -> None:
    back = [site(n, rule="host-readback", crate="cubecl") for n in range(5)]
    other = [site(n, crate="gpu") for n in range(5, 20)]
    assert host_storage_crates([*back, *other], {"cubecl", "gpu"}) == {"cubecl"}
    facts = WorkspaceFacts({}, host_storage=frozenset({"cubecl"}))
    units = bundle(with_needs(back, facts, default_catalogue(), NAMES)).units
    assert units[0].need == Need(NeedKind.STORAGE_REDESIGN, "cubecl: results stay on the device", "cubecl")
