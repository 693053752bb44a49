"""What the newest scan of a repository's default branch says of all that the plan has to cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from audit.models import Branch, Capability, CapabilityGap, Repository, ScanRun, SiteState, WorkspaceInventory
from audit.parity.capability import Case
from audit.parity.catalogue import Direction
from audit.scanner.inventory import Inventory
from audit.scanner.report import Level, Outcome
from audit.services.inventories import inventory_of_row
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import Plan, Precedence, PrecedenceState, UnitMember, WorkUnit
from migrations_tracker.scheduling.catalogue import FixCategory
from migrations_tracker.scheduling.estimating import FinishedUnit, learn
from migrations_tracker.scheduling.gathering import (
    CaseFact,
    Facts,
    SiteFact,
    answer_of,
    gap_item_id,
    rule_names,
)
from migrations_tracker.scheduling.items import Need, NeedKind
from migrations_tracker.scheduling.proposing import Standing
from migrations_tracker.scheduling.units import Phase, UnitKind, UnitStatus
from migrations_tracker.scheduling.units import WorkUnit as Unit
from migrations_tracker.scheduling.weighting import WeightRates
from workers.selectors.verifications import kernel_loads

_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The facts with the rows behind their ids. `scan_run` is None where nothing was scanned yet."""

    facts: Facts
    scan_run: ScanRun | None
    gaps: Mapping[str, tuple[int, ...]]


def plan_facts(*, repository: Repository) -> PlanFacts:
    """Gather the open sites and gaps that nobody suppressed, and what the scan knows of the workspace."""
    branch = (
        Branch.objects.filter(repository=repository, name=repository.default_branch)
        .select_related("last_scan")
        .first()
    )
    if branch is None or branch.last_scan is None:
        return PlanFacts(Facts(()), None, {})
    inventory = inventory_of_row(WorkspaceInventory.objects.filter(scan_run=branch.last_scan).first())
    cells = {_key(cell): cell for cell in _cells(branch.last_scan)}
    gaps = list(
        CapabilityGap.objects.filter(repository=repository, is_open=True).exclude(
            migration__status=Status.SUPPRESSED.value
        )
    )
    rows: dict[str, list[int]] = {}
    for gap in gaps:
        rows.setdefault(gap_item_id(gap.operator, gap.device, gap.direction), []).append(gap.pk)
    cases = [case_of_rows(cell, cell) for cell in cells.values()]
    cases += [case_of_rows(gap, cells.get(_key(gap)), is_gap=True) for gap in gaps]
    sites = tuple(_sites(branch))
    loads = loads_of((site.symbol for site in sites), inventory)
    return PlanFacts(
        Facts(sites, tuple(cases), inventory, loads),
        branch.last_scan,
        {item: tuple(pks) for item, pks in rows.items()},
    )


def loads_of(symbols: Iterable[str], inventory: Inventory) -> Mapping[str, bool]:
    """Return what drivers said of the PTX texts that the functions and constants stand for."""
    digests = {digest for symbol in symbols for digest in inventory.kernels.get(symbol, ())}
    return kernel_loads(digests=digests) if digests else {}


def _sites(branch: Branch) -> Iterable[SiteFact]:
    names = rule_names()
    states = (
        SiteState.objects.filter(branch=branch, is_open=True)
        .exclude(site__migration__status=Status.SUPPRESSED.value)
        .order_by("site_id")
        .values_list("site_id", "rule_id", "crate", "path", "symbol", "form", "level")
    )
    for site_id, rule_id, crate, path, symbol, form, level in states:
        if rule_id in names:
            yield SiteFact(f"site:{site_id}", names[rule_id], crate, path, symbol, form, Level(level))


def _cells(scan_run: ScanRun) -> Iterable[Capability]:
    return Capability.objects.filter(scan_run=scan_run).only(
        "operator", "dtype", "device", "direction", "crate", "path", "symbol", "symbols"
    )


def _key(row: Capability | CapabilityGap) -> _Key:
    return row.operator, row.dtype, row.device, row.direction


def case_of_rows(
    row: Capability | CapabilityGap, cell: Capability | None, *, is_gap: bool = False
) -> CaseFact:
    """Return a cell, or a gap with its cell, as a fact."""
    case = Case(row.operator, row.dtype, row.device, Direction(row.direction))
    return CaseFact(
        operator=row.operator,
        dtype=row.dtype,
        device=row.device,
        direction=row.direction,
        answer=answer_of(case),
        crate=cell.crate if cell else "",
        path=cell.path if cell else row.path,
        symbol=cell.symbol if cell else "",
        symbols=tuple(cell.symbols) if cell else (),
        is_gap=is_gap,
    )


def unit_of_row(row: WorkUnit, item_ids: Iterable[str]) -> Unit:
    """Return a stored unit as the scheduling core takes it."""
    return Unit(
        key=row.key,
        title=row.title,
        kind=UnitKind(row.kind),
        phase=Phase(row.phase),
        category=FixCategory(row.category),
        reason=row.reason,
        crate=row.crate,
        rules=tuple(row.rules),
        outcome=Outcome(row.outcome) if row.outcome else None,
        item_ids=tuple(sorted(item_ids)),
        need=Need(NeedKind(row.need_kind), row.need_name, row.crate) if row.need_kind else None,
        skills=frozenset(row.skills),
        is_mechanical=row.is_mechanical,
        is_edited=row.is_edited,
        status=UnitStatus(row.status),
    )


def member_item_ids(*, plan: Plan) -> dict[int, set[str]]:
    """Return the ids of the items in each unit, by the unit's primary key; finished units keep theirs."""
    found: dict[int, set[str]] = {}
    members = UnitMember.objects.filter(unit__plan=plan).values_list(
        "unit_id", "site_id", "gap__operator", "gap__device", "gap__direction"
    )
    for unit_id, site_id, operator, device, direction in members:
        item = f"site:{site_id}" if site_id else gap_item_id(operator, device, direction)
        found.setdefault(unit_id, set()).add(item)
    return found


def standing_of(*, plan: Plan) -> Standing:
    """Return the plan as it stands: units, edges that people added and cut, and what finished units teach."""
    rows = list(WorkUnit.objects.filter(plan=plan))
    items = member_item_ids(plan=plan)
    keys = {row.pk: row.key for row in rows}
    edges = Precedence.objects.filter(before__plan=plan).exclude(state=PrecedenceState.FACT)
    said = [
        (keys[before], keys[after], state)
        for before, after, state in edges.values_list("before", "after", "state")
    ]
    return Standing(
        units=[unit_of_row(row, items.get(row.pk, ())) for row in rows],
        added=[(before, after) for before, after, state in said if state == PrecedenceState.ADDED],
        cut=[(before, after) for before, after, state in said if state == PrecedenceState.CUT],
        corrections=learn(finished_units(rows)),
        rates=WeightRates(**plan.weight_rates),
    )


def finished_units(rows: Iterable[WorkUnit]) -> Iterable[FinishedUnit]:
    """Yield the units that are finished, with what was estimated and what it took."""
    for row in rows:
        if row.status == UnitStatus.FINISHED.value and row.actual_hours:
            base = row.base_hours or row.hours_likely
            yield FinishedUnit(row.key, tuple(row.rules), base, row.actual_hours)
