"""Architectural decisions: one unit for each shared thing that open items need and the workspace lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from audit.scanner.report import Outcome
from migrations_tracker.scheduling.catalogue import Catalogue
from migrations_tracker.scheduling.items import ItemKind, Need, NeedKind, OpenItem
from migrations_tracker.scheduling.naming import PolicyNames
from migrations_tracker.scheduling.units import Phase, UnitKind, WorkUnit, unit_key

_HOST_STORAGE_RULES = frozenset({"host-readback", "fake-gpu-function", "autograd-cpu-detour"})
_MIN_STORAGE_ITEMS = 4


@dataclass(frozen=True, slots=True)
class WorkspaceFacts:
    """What the linker knows about the workspace.

    `dependencies` maps each crate to the crates it stands on, outside ones too; `variants` holds the error
    variants that exist (`GpuError::Unsupported`); `helpers` the functions; `host_storage` the crates whose
    device results live in host memory.
    """

    dependencies: Mapping[str, frozenset[str]]
    variants: frozenset[str] = frozenset()
    helpers: frozenset[str] = frozenset()
    host_storage: frozenset[str] = frozenset()


def with_needs(
    items: Iterable[OpenItem], facts: WorkspaceFacts, catalogue: Catalogue, names: PolicyNames
) -> tuple[OpenItem, ...]:
    """Return the items with what the workspace lacks for their outcome."""
    return tuple(
        replace(item, needs=tuple(sorted({*item.needs, *_missing(item, facts, catalogue, names)})))
        for item in items
    )


def _missing(
    item: OpenItem, facts: WorkspaceFacts, catalogue: Catalogue, names: PolicyNames
) -> Iterable[Need]:
    outcome = catalogue.outcome_of(item)
    if item.kind is ItemKind.TEST:
        return
    if outcome is Outcome.OPT_IN_FALLBACK:
        if names.logging_crate not in facts.dependencies.get(item.crate, frozenset()):
            yield Need(NeedKind.WORKSPACE_DEPENDENCY, names.logging_crate)
        if names.gate_helper not in facts.helpers:
            yield Need(NeedKind.SHARED_HELPER, names.gate_helper, names.error_crate)
    if outcome in (Outcome.STRUCTURED_ERROR, Outcome.OPT_IN_FALLBACK):
        variant = _variant(item, names)
        if variant not in facts.variants:
            yield Need(NeedKind.ERROR_VARIANT, variant, names.error_crate)
    writes = outcome in (Outcome.DEVICE_KERNEL, Outcome.COMPOSITE, Outcome.EXPLICIT_TRANSFER)
    if writes and item.crate in facts.host_storage:
        yield Need(NeedKind.STORAGE_REDESIGN, f"{item.crate}: results stay on the device", item.crate)


def _variant(item: OpenItem, names: PolicyNames) -> str:
    # The sites that fall back because a kernel did not compile return that; all others are unsupported cases.
    is_compile_failure = item.rule in ("silent-fallback", "eprintln-degrade")
    return names.compile_error if is_compile_failure else names.unsupported_error


def host_storage_crates(items: Iterable[OpenItem], backend_crates: Iterable[str]) -> frozenset[str]:
    """Return the backend crates most of whose open sites read the result back: their storage is the cause."""
    backends = frozenset(backend_crates)
    total: dict[str, int] = {}
    back: dict[str, int] = {}
    for item in items:
        if item.kind is ItemKind.SITE and item.crate in backends:
            total[item.crate] = total.get(item.crate, 0) + 1
            back[item.crate] = back.get(item.crate, 0) + (item.rule in _HOST_STORAGE_RULES)
    return frozenset(
        crate for crate, count in back.items() if count >= _MIN_STORAGE_ITEMS and 2 * count > total[crate]
    )


def decision_units(
    items: Iterable[OpenItem], existing: Sequence[WorkUnit], catalogue: Catalogue
) -> list[WorkUnit]:
    """Return one unit for each need that no locked unit makes; those that exist keep their key.

    A need that is still there after its unit was finished is proposed again.
    """
    old = {unit.need: unit for unit in existing if unit.need is not None and not unit.is_finished}
    finished = [unit.need for unit in existing if unit.need is not None and unit.is_finished]
    needs = sorted({need for item in items for need in item.needs})
    units = []
    for need in needs:
        unit = old.get(need)
        if unit is None:
            units.append(_decision(need, catalogue, finished.count(need)))
        elif not unit.is_locked:
            units.append(unit)
    return units


def _decision(need: Need, catalogue: Catalogue, done_before: int) -> WorkUnit:
    plan = catalogue.needs[need.kind]
    slug = "".join(char if char.isalnum() else "-" for char in need.name.lower()).strip("-")
    titles = {
        NeedKind.WORKSPACE_DEPENDENCY: f"Add the workspace dependency `{need.name}`",
        NeedKind.ERROR_VARIANT: f"Add the error variant `{need.name}`",
        NeedKind.SHARED_HELPER: f"Write the shared helper `{need.name}`",
        NeedKind.STORAGE_REDESIGN: f"Redesign the storage: {need.name}",
    }
    return WorkUnit(
        key=unit_key(need.kind, slug.replace("--", "-"), str(done_before + 1) if done_before else ""),
        title=titles[need.kind],
        kind=UnitKind.DECISION,
        phase=Phase.DECISIONS,
        category=plan.category,
        reason=plan.reason,
        crate=need.crate,
        need=need,
        skills=plan.skills,
    )


def consumers(unit: WorkUnit, units: Iterable[WorkUnit], items: Mapping[str, OpenItem]) -> tuple[str, ...]:
    """Return the keys of the units whose items need what a decision unit makes."""
    if unit.need is None:
        return ()
    return tuple(
        other.key
        for other in units
        if any(unit.need in items[item_id].needs for item_id in other.item_ids if item_id in items)
    )
