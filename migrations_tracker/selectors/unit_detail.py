"""One unit: what it holds, why it is, what its fix looks like and what stands before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Q

from audit.models import Capability, SiteState, WorkspaceInventory
from audit.parity import rationale as parity
from audit.parity.capability import Case
from audit.parity.catalogue import Direction, newest
from audit.parity.matrix import REFERENCE
from audit.scanner.report import Level
from audit.services.inventories import inventory_of_row
from migrations_tracker.models import (
    Person,
    PlanEvent,
    Precedence,
    ScheduledUnit,
    UnitMember,
    WorkUnit,
)
from migrations_tracker.scheduling.catalogue import Hours, default_catalogue
from migrations_tracker.scheduling.estimating import Estimate, EstimatePart, remaining
from migrations_tracker.scheduling.gathering import Facts, SiteFact, gap_item_id, items_of, rule_names
from migrations_tracker.scheduling.items import OpenItem
from migrations_tracker.scheduling.naming import PolicyNames
from migrations_tracker.scheduling.rationale import (
    ParityFact,
    PreFlight,
    Rationale,
    pre_flight,
    rationale,
    unseen_kernels,
)
from migrations_tracker.scheduling.stored import from_plain
from migrations_tracker.selectors.plan_facts import case_of_rows, loads_of, unit_of_row
from workers.models import VerifiedFunction

EVENTS_SHOWN = 30
PARITY_SHOWN = 30
UNITS_OFFERED = 300


@dataclass(frozen=True, slots=True)
class Member:
    """A site or gap of a unit, with what the scanner sees of it now."""

    row: UnitMember
    state: SiteState | None

    @property
    def is_open(self) -> bool:
        """Whether the scanner still sees it."""
        if self.row.gap is not None:
            return self.row.gap.is_open
        return self.state is not None and self.state.is_open


class Offered(NamedTuple):
    """A unit that one can choose."""

    pk: int
    title: str


@dataclass(frozen=True, slots=True)
class UnitReasons:
    """A unit's items, its rationale and its pre-flight plan: the confirmed one, or as facts fill it."""

    items: Mapping[str, OpenItem]
    rationale: Rationale
    pre_flight: PreFlight


@dataclass(frozen=True, slots=True)
class UnitPage:
    """What a unit's page shows."""

    unit: WorkUnit
    members: Sequence[Member]
    reasons: UnitReasons
    waits_for: Sequence[Precedence]
    waited_for: Sequence[Precedence]
    placement: ScheduledUnit | None
    people: Sequence[Person]
    others: Sequence[Offered]
    events: Sequence[PlanEvent]
    unseen_kernels: Sequence[str]
    remaining: Hours

    @property
    def open_count(self) -> int:
        """How many of its members the scanner still sees."""
        return sum(member.is_open for member in self.members)


def unit_page(*, unit: WorkUnit) -> UnitPage:
    """Gather what a unit's page shows."""
    members = unit_members(unit=unit)
    newest_placement = (
        ScheduledUnit.objects.filter(unit=unit, schedule__what_if={})
        .select_related("schedule", "person")
        .order_by("-schedule_id")
        .first()
    )
    reasons = unit_reasons(unit=unit, members=members)
    edges = list(
        Precedence.objects.filter(Q(before=unit) | Q(after=unit))
        .select_related("before", "after")
        .order_by("before__phase", "before__key", "after__phase", "after__key")
    )
    others = WorkUnit.objects.filter(plan=unit.plan_id).exclude(pk=unit.pk).exclude(status="finished")
    return UnitPage(
        unit=unit,
        members=members,
        reasons=reasons,
        waits_for=[edge for edge in edges if edge.after_id == unit.pk],
        waited_for=[edge for edge in edges if edge.before_id == unit.pk],
        placement=newest_placement,
        people=list(Person.objects.filter(plan=unit.plan_id, is_active=True)),
        others=[Offered(*row) for row in others.values_list("pk", "title")[:UNITS_OFFERED]],
        events=list(PlanEvent.objects.filter(unit=unit).select_related("actor")[:EVENTS_SHOWN]),
        unseen_kernels=_unseen(unit, reasons),
        remaining=_remaining(unit, members),
    )


def _remaining(unit: WorkUnit, members: Sequence[Member]) -> Hours:
    """Return the hours that are left of a unit under way."""
    gone = sum(not member.is_open for member in members)
    return remaining(estimate_of_row(unit).hours, unit.actual_hours or 0.0, gone, len(members))


def _unseen(unit: WorkUnit, reasons: UnitReasons) -> Sequence[str]:
    """Return the kernels that a confirmed plan promised and no verification of its code saw."""
    if unit.confirmed_at is None or not reasons.pre_flight.kernels:
        return ()
    symbols = sorted({item.symbol for item in reasons.items.values()})
    proofs = VerifiedFunction.objects.filter(
        symbol__in=symbols, expired_at=None, verification__repository=unit.plan.repository_id
    )
    seen = {name for names in proofs.values_list("verification__kernels", flat=True) for name in names}
    return unseen_kernels(reasons.pre_flight, seen)


def unit_members(*, unit: WorkUnit) -> list[Member]:
    """Return the members of a unit; of a finished one those it had."""
    rows = list(unit.members.select_related("site", "gap").order_by("pk"))
    repository = unit.plan.repository
    states = SiteState.objects.filter(
        site__in=[row.site_id for row in rows if row.site_id],
        branch__repository=repository,
        branch__name=repository.default_branch,
    )
    by_site = {state.site_id: state for state in states}
    members = [Member(row, by_site.get(row.site_id or 0)) for row in rows]
    return sorted(
        members, key=lambda m: (m.state.path if m.state else "~", m.state.start_line if m.state else 0)
    )


def unit_reasons(*, unit: WorkUnit, members: Sequence[Member]) -> UnitReasons:
    """Return why a unit is, from its members' facts alone."""
    items = unit_items(unit=unit, members=members)
    core = unit_of_row(unit, items)
    operators = sorted({item.operator for item in items.values() if item.operator})[:PARITY_SHOWN]
    messages = {f"site:{m.row.site_id}": m.state.message for m in members if m.state is not None}
    why = rationale(
        core,
        items,
        estimate_of_row(unit),
        {name: _parity_fact(name, items) for name in operators},
        messages,
    )
    plan = from_plain(PreFlight, unit.pre_flight) if unit.pre_flight else pre_flight(core, items)
    return UnitReasons(items, why, plan)


def estimate_of_row(unit: WorkUnit) -> Estimate:
    """Return a unit's estimate as the newest proposal reckoned it."""
    parts = tuple(
        EstimatePart(part["what"], Hours(part["low"], part["likely"], part["high"]))
        for part in unit.estimate_parts
    )
    return Estimate(Hours(unit.hours_low, unit.hours_likely, unit.hours_high), parts, unit.base_hours)


def unit_items(
    *, unit: WorkUnit, members: Sequence[Member], asks_drivers: bool = False
) -> dict[str, OpenItem]:
    """Return a unit's members as items with their facts, by id.

    What drivers said of their PTX matters to weights alone, and is left out unless asked for.
    """
    scan_run = unit.plan.scan_run_id
    names = rule_names()
    states = [member.state for member in members if member.state is not None]
    gaps = [member.row.gap for member in members if member.row.gap is not None]
    symbols = sorted({state.symbol for state in states})
    cells = list(
        Capability.objects.filter(scan_run=scan_run).filter(
            Q(symbols__overlap=symbols) | Q(operator__in=sorted({gap.operator for gap in gaps}))
        )
    )
    by_case = {(cell.operator, cell.dtype, cell.device, cell.direction): cell for cell in cells}
    cases = [case_of_rows(cell, cell) for cell in cells]
    for gap in gaps:
        cell = by_case.get((gap.operator, gap.dtype, gap.device, gap.direction))
        cases.append(case_of_rows(gap, cell, is_gap=True))
    sites = [
        SiteFact(
            f"site:{state.site_id}",
            names[state.rule_id],
            state.crate,
            state.path,
            state.symbol,
            state.form,
            Level(state.level),
        )
        for state in states
        if state.rule_id in names
    ]
    inventory = inventory_of_row(_inventory(unit))
    facts = Facts(sites, cases, inventory, loads_of(symbols, inventory) if asks_drivers else {})
    found = items_of(facts, default_catalogue(), PolicyNames())
    mine = {f"site:{m.row.site_id}" for m in members if m.row.site_id}
    mine |= {gap_item_id(gap.operator, gap.device, gap.direction) for gap in gaps}
    return {item.id: item for item in found if item.id in mine}


def _inventory(unit: WorkUnit) -> WorkspaceInventory | None:
    """Return the inventory of the scan that the plan was held to, which may have come with the unit."""
    scan_run = unit.plan.scan_run
    return getattr(scan_run, "inventory", None) if scan_run is not None else None


def _parity_fact(operator: str, items: Mapping[str, OpenItem]) -> ParityFact:
    item = next(item for item in items.values() if item.operator == operator)
    # A gap's id ends in its device and direction; a site's code is CUDA's unless a gap says otherwise.
    device = item.id.rsplit(":", 2)[1] if item.id.startswith("gap:") else "cuda"
    direction = Direction(item.direction.value or "forward")
    dtype = item.dtypes[0] if item.dtypes else "float32"
    found = parity.of_case(
        newest(), Case(operator, dtype, device, direction), reference_device=REFERENCE.get(device, "")
    )
    behaviour = " ".join(part for part in (found.registers, found.raises) if part)
    return ParityFact(operator, behaviour, found.source)
