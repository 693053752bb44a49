"""From what a scan stored to what the plan works on: each site and gap as an item with its facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from audit.parity import rationale
from audit.parity.capability import Case, Cell
from audit.parity.catalogue import newest
from audit.parity.matrix import REFERENCE
from audit.rules import RULES
from audit.scanner.inventory import Inventory
from audit.scanner.report import CrateInfo, Level, Outcome, Result
from migrations_tracker.scheduling.catalogue import Catalogue
from migrations_tracker.scheduling.deciding import WorkspaceFacts, host_storage_crates, with_needs
from migrations_tracker.scheduling.items import Direction, ItemKind, OpenItem
from migrations_tracker.scheduling.naming import PolicyNames

TEST_RULES = frozenset({"missing-gpu-test", "disabled-gpu-test"})
_ON_DEVICE = frozenset({Outcome.DEVICE_KERNEL, Outcome.COMPOSITE})


@dataclass(frozen=True, slots=True)
class SiteFact:
    """An open site as the newest scan told it."""

    id: str
    rule: str
    crate: str
    path: str
    symbol: str
    form: str = ""
    level: Level = Level.ERROR


@dataclass(frozen=True, slots=True)
class CaseFact:
    """A cell of the capability matrix: `answer` is what the policy wants of it, given what PyTorch does."""

    operator: str
    dtype: str
    device: str
    direction: str
    answer: Outcome
    crate: str
    path: str
    symbol: str
    symbols: tuple[str, ...] = ()
    is_gap: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a scan knows for the plan, and what drivers said since.

    `kernel_loads` says of the PTX texts that a driver was given, by digest, whether one ever loaded it.
    """

    sites: Sequence[SiteFact]
    cases: Sequence[CaseFact] = ()
    inventory: Inventory = field(default_factory=Inventory)
    kernel_loads: Mapping[str, bool] = field(default_factory=dict)


@lru_cache(maxsize=8192)
def answer_of(case: Case) -> Outcome:
    """Return what the policy wants of a case, given what PyTorch does."""
    reference = REFERENCE.get(case.device, "")
    return Outcome(rationale.of_case(newest(), case, reference_device=reference).answer.value)


def rule_names() -> dict[str, str]:
    """Return the name of each rule by its id."""
    return {rule.id: rule.name for rule in RULES}


def facts_of_results(results: Iterable[Result]) -> tuple[SiteFact, ...]:
    """Return the results of one scan as sites: each is the only one of its fingerprint."""
    names = rule_names()
    return tuple(
        SiteFact(
            id=f"site:{number}",
            rule=names[result.rule_id],
            crate=result.crate,
            path=result.path,
            symbol=result.symbol,
            form=result.form,
            level=result.level,
        )
        for number, result in enumerate(results)
        if not result.suppressions
    )


def facts_of_cells(cells: Iterable[Cell], crates: Iterable[CrateInfo]) -> tuple[CaseFact, ...]:
    """Return the cells of a capability matrix with what the policy wants of each."""
    folders = {crate.path: crate.name for crate in crates}
    return tuple(_of_cell(cell, folders) for cell in cells)


def _of_cell(cell: Cell, crates: Mapping[str, str]) -> CaseFact:
    case, place = cell.case, cell.proof.place if cell.proof is not None else None
    path = place.path if place is not None else ""
    symbols = {one.symbol for row in cell.implementations for one in (row.place, row.via) if one is not None}
    return CaseFact(
        operator=case.operator,
        dtype=case.dtype,
        device=case.device,
        direction=case.direction.value,
        answer=answer_of(case),
        crate=_crate_of(path, crates),
        path=path,
        symbol=place.symbol if place is not None else "",
        symbols=tuple(sorted(symbols)),
        is_gap=cell.is_gap,
    )


def _crate_of(path: str, crates: Mapping[str, str]) -> str:
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in crates:
            return crates[folder]
    return ""


def gap_item_id(operator: str, device: str, direction: str) -> str:
    """Return the id of the item that a gap belongs to: its dtypes are written in one go."""
    return f"gap:{operator}:{device}:{direction}"


def items_of(facts: Facts, catalogue: Catalogue, names: PolicyNames) -> tuple[OpenItem, ...]:
    """Return the open sites and gaps as items, with what the workspace lacks for their outcome."""
    by_symbol = _by_symbol(facts.cases)
    callers = facts.inventory.callers
    items = [
        *(
            with_kernel_facts(_site_item(site, by_symbol.get(site.symbol, ()), callers, catalogue), facts)
            for site in facts.sites
        ),
        *_gap_items(facts.cases, callers),
    ]
    return with_needs(items, workspace_facts(items, facts.inventory, names), catalogue, names)


def with_kernel_facts(item: OpenItem, facts: Facts) -> OpenItem:
    """Return a site with what is known of the PTX that its code stands for.

    Only a driver can say that a path is always taken: it refused every text, and none ever loaded. What the
    assembler alone rejects is told apart, and counts only while no driver loaded it.
    """
    digests = facts.inventory.kernels.get(item.symbol, ())
    if item.kind is ItemKind.TEST or not digests:
        return item
    loads = [facts.kernel_loads.get(digest) for digest in digests]
    if all(load is False for load in loads):
        return replace(item, is_always_taken=True)
    is_rejected = all(
        load is False or (load is None and digest in facts.inventory.rejected_kernels)
        for digest, load in zip(digests, loads, strict=True)
    )
    return replace(item, is_rejected=is_rejected)


def workspace_facts(items: Iterable[OpenItem], inventory: Inventory, names: PolicyNames) -> WorkspaceFacts:
    """Return what the linker knows; a gate helper counts under whatever name the workspace gave it."""
    helpers = inventory.gate_helpers
    return WorkspaceFacts(
        dependencies=inventory.dependencies,
        variants=inventory.error_variants,
        helpers=helpers | {names.gate_helper} if helpers else helpers,
        host_storage=host_storage_crates(items, inventory.gpu_crates),
    )


def _by_symbol(cases: Iterable[CaseFact]) -> dict[str, list[CaseFact]]:
    found: dict[str, list[CaseFact]] = {}
    for case in cases:
        for symbol in dict.fromkeys((case.symbol, *case.symbols)):
            found.setdefault(symbol, []).append(case)
    return found


def _site_item(
    site: SiteFact, cases: Sequence[CaseFact], callers: Mapping[str, int], catalogue: Catalogue
) -> OpenItem:
    is_test = site.rule in TEST_RULES
    operators = sorted({case.operator for case in cases})
    directions = {case.direction for case in cases}
    # A function that serves several operators is about none of them alone.
    operator = operators[0] if len(operators) == 1 else ""
    return OpenItem(
        id=site.id,
        rule=site.rule,
        crate=site.crate,
        path=site.path,
        symbol=site.symbol,
        kind=ItemKind.TEST if is_test else ItemKind.SITE,
        form=site.form,
        level=site.level,
        outcome=None if is_test else _wanted(site.rule, cases, catalogue),
        operator=operator,
        direction=Direction(directions.pop()) if len(directions) == 1 else Direction.UNKNOWN,
        dtypes=tuple(sorted({case.dtype for case in cases})) if operator else (),
        callers=callers.get(site.symbol, 0),
        tests=tuple(operators) if is_test else (),
    )


def _wanted(rule: str, cases: Sequence[CaseFact], catalogue: Catalogue) -> Outcome | None:
    """What a rule wants where PyTorch computes on the device; None leaves it to the rule's default."""
    computed = catalogue.rules[rule].outcome_where_computed
    return computed if computed and any(case.answer in _ON_DEVICE for case in cases) else None


def _gap_items(cases: Iterable[CaseFact], callers: Mapping[str, int]) -> list[OpenItem]:
    groups: dict[str, list[CaseFact]] = {}
    for case in cases:
        if case.is_gap:
            key = gap_item_id(case.operator, case.device, case.direction)
            groups.setdefault(key, []).append(case)
    return [_gap_item(key, group, callers) for key, group in groups.items()]


def _gap_item(key: str, group: Sequence[CaseFact], callers: Mapping[str, int]) -> OpenItem:
    first = min(group, key=lambda case: case.dtype)
    answers = {case.answer for case in group}
    # One dtype that needs a kernel makes the whole item one that writes kernels.
    ranked = (Outcome.DEVICE_KERNEL, Outcome.COMPOSITE, *sorted(answers))
    return OpenItem(
        id=key,
        rule="capability-gap",
        crate=first.crate,
        path=first.path,
        symbol=first.symbol or first.operator,
        kind=ItemKind.GAP,
        outcome=next(outcome for outcome in ranked if outcome in answers),
        operator=first.operator,
        direction=Direction(first.direction),
        dtypes=tuple(sorted({case.dtype for case in group})),
        callers=callers.get(first.symbol, 0),
    )
