"""Holding a plan to the newest scan: what is proposed is stored, what people did stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from audit.models import Repository, ScanRun
from audit.services.repository_lock import repository_lock
from migrations_tracker.errors import PlanError
from migrations_tracker.models import Plan, PlanEvent, Precedence, PrecedenceState, UnitMember, WorkUnit
from migrations_tracker.scheduling.bundling import Change
from migrations_tracker.scheduling.estimating import Estimate
from migrations_tracker.scheduling.precedence import PrecedenceReason
from migrations_tracker.scheduling.proposing import Proposal, propose
from migrations_tracker.scheduling.units import UnitStatus
from migrations_tracker.scheduling.units import WorkUnit as Unit
from migrations_tracker.scheduling.weighting import Weight
from migrations_tracker.selectors.plan_facts import PlanFacts, plan_facts, standing_of

_PROPOSED = (
    "title",
    "kind",
    "phase",
    "category",
    "reason",
    "crate",
    "rules",
    "outcome",
    "need_kind",
    "need_name",
    "skills",
    "is_mechanical",
)
_RECKONED = (
    "item_count",
    "hours_low",
    "hours_likely",
    "hours_high",
    "base_hours",
    "estimate_parts",
    "weight",
    "weight_parts",
)


@dataclass(frozen=True, slots=True)
class Proposed:
    """What a proposal did to a plan."""

    plan: Plan
    changes: tuple[Change, ...]
    cycle_count: int


def plan_propose(*, repository: Repository, actor: User | None) -> Proposed:
    """Hold a repository's plan to the newest scan of its default branch. Run again, it changes nothing.

    Units that a person edited or that are under way or finished keep their items and words.
    """
    with transaction.atomic():
        # No scan is stored meanwhile, and two proposals follow each other.
        repository_lock(repository_id=repository.pk)
        plan, _ = Plan.objects.get_or_create(repository=repository)
        found = plan_facts(repository=repository)
        if found.scan_run is None:
            raise PlanError("Nothing was scanned on the default branch yet: scan it first, then plan.")
        proposal = propose(found.facts, standing_of(plan=plan))
        rows = _store_units(plan, proposal)
        _store_members(rows, proposal, found)
        _store_edges(plan, rows, proposal)
        _note(plan, rows, proposal.changes, actor)
        plan.scan_run, plan.proposed_at = found.scan_run, timezone.now()
        plan.save(update_fields=["scan_run", "proposed_at", "changed_at"])
    return Proposed(plan, proposal.changes, len(proposal.graph.cycles))


def plan_follow(*, scan_run_id: int) -> Proposed | None:
    """Hold a plan to a scan that was stored, if there is a plan and the scan speaks for the default branch.

    A scan without a plan, or of another branch, changes nothing.
    """
    scan_run = ScanRun.objects.select_related("repository", "branch").get(pk=scan_run_id)
    repository, branch = scan_run.repository, scan_run.branch
    is_for_plan = branch is not None and branch.name == repository.default_branch
    if not is_for_plan or not Plan.objects.filter(repository=repository).exists():
        return None
    return plan_propose(repository=repository, actor=None)


def _columns(unit: Unit) -> dict[str, object]:
    return {
        "title": unit.title[:300],
        "kind": unit.kind.value,
        "phase": unit.phase.value,
        "category": unit.category.value,
        "reason": unit.reason,
        "crate": unit.crate,
        "rules": list(unit.rules),
        "outcome": unit.outcome.value if unit.outcome else "",
        "need_kind": unit.need.kind.value if unit.need else "",
        "need_name": unit.need.name if unit.need else "",
        "skills": sorted(unit.skills),
        "is_mechanical": unit.is_mechanical,
    }


HOURS = ("hours_low", "hours_likely", "hours_high")


def reckoned_columns(unit: Unit, estimate: Estimate, weight: Weight | None) -> dict[str, object]:
    """Return what is reckoned anew for a unit however much people edited it."""
    hours = estimate.hours
    columns: dict[str, object] = {
        "item_count": len(unit.item_ids),
        "hours_low": round(hours.low, 3),
        "hours_likely": round(hours.likely, 3),
        "hours_high": round(hours.high, 3),
        "base_hours": round(estimate.base_likely, 3),
        "estimate_parts": [
            {"what": part.what, "low": part.hours.low, "likely": part.hours.likely, "high": part.hours.high}
            for part in estimate.parts
        ],
    }
    if weight is not None:
        columns |= {"weight": weight.value, "weight_parts": [list(part) for part in weight.parts]}
    return columns


def _reckoned(unit: Unit, proposal: Proposal) -> dict[str, object]:
    return reckoned_columns(unit, proposal.estimates[unit.key], proposal.weights.get(unit.key))


def _store_units(plan: Plan, proposal: Proposal) -> dict[str, WorkUnit]:
    existing = {row.key: row for row in WorkUnit.objects.select_for_update().filter(plan=plan)}
    gone = [row.pk for key, row in existing.items() if key not in proposal.by_key and not row.is_locked]
    new, changed = [], []
    for unit in proposal.units:
        row = existing.get(unit.key)
        if row is None:
            columns = _columns(unit) | _reckoned(unit, proposal)
            new.append(WorkUnit(plan=plan, key=unit.key, **columns))
        elif row.status != UnitStatus.FINISHED.value:
            columns = _reckoned(unit, proposal) | ({} if row.is_locked else _columns(unit))
            if row.is_estimated_by_hand:
                columns = {name: value for name, value in columns.items() if name not in HOURS}
            if _assign(row, columns):
                changed.append(row)
    WorkUnit.objects.filter(pk__in=gone).delete()
    WorkUnit.objects.bulk_create(new)
    WorkUnit.objects.bulk_update(changed, [*_PROPOSED, *_RECKONED], batch_size=200)
    return {row.key: row for row in WorkUnit.objects.filter(plan=plan)}


def _assign(row: WorkUnit, columns: Mapping[str, object]) -> bool:
    differing = {name: value for name, value in columns.items() if getattr(row, name) != value}
    for name, value in differing.items():
        setattr(row, name, value)
    return bool(differing)


def _store_members(rows: Mapping[str, WorkUnit], proposal: Proposal, found: PlanFacts) -> None:
    wanted: dict[tuple[str, int], int] = {}
    for unit in proposal.units:
        if unit.is_finished:
            continue
        for item_id in unit.item_ids:
            for key in _members_of(item_id, found):
                wanted[key] = rows[unit.key].pk
    locked = {row.pk for row in rows.values() if row.is_locked}
    current = UnitMember.objects.filter(unit__in=[row.pk for row in rows.values()], is_current=True)
    stale, right = [], set()
    for member in current:
        key = ("site", member.site_id) if member.site_id else ("gap", member.gap_id or 0)
        if wanted.get(key) == member.unit_id:
            right.add(key)
        elif member.unit_id not in locked or key in wanted:
            stale.append(member.pk)
    UnitMember.objects.filter(pk__in=stale).delete()
    UnitMember.objects.bulk_create(
        UnitMember(unit_id=unit_id, **{f"{kind}_id": pk})
        for (kind, pk), unit_id in sorted(wanted.items())
        if (kind, pk) not in right
    )


def _members_of(item_id: str, found: PlanFacts) -> Iterable[tuple[str, int]]:
    kind, _, rest = item_id.partition(":")
    if kind == "site":
        return [("site", int(rest))]
    return [("gap", pk) for pk in found.gaps.get(item_id, ())]


def _store_edges(plan: Plan, rows: Mapping[str, WorkUnit], proposal: Proposal) -> None:
    existing = {
        (edge.before_id, edge.after_id): edge for edge in Precedence.objects.filter(before__plan=plan)
    }
    wanted = {
        (rows[edge.before].pk, rows[edge.after].pk): edge
        for edge in proposal.graph.edges
        if edge.reason is not PrecedenceReason.PERSON
    }
    facts = {pair for pair, edge in existing.items() if edge.state == PrecedenceState.FACT}
    stale = [existing[pair].pk for pair in facts - wanted.keys()]
    changed = []
    for pair in facts & wanted.keys():
        row, edge = existing[pair], wanted[pair]
        if (row.reason, row.message) != (edge.reason.value, edge.message):
            row.reason, row.message = edge.reason.value, edge.message
            changed.append(row)
    Precedence.objects.filter(pk__in=stale).delete()
    Precedence.objects.bulk_update(changed, ["reason", "message"], batch_size=500)
    Precedence.objects.bulk_create(
        Precedence(before_id=before, after_id=after, reason=edge.reason.value, message=edge.message)
        for (before, after), edge in sorted(wanted.items(), key=lambda pair: pair[0])
        if (before, after) not in existing
    )


def _note(plan: Plan, rows: Mapping[str, WorkUnit], changes: Iterable[Change], actor: User | None) -> None:
    PlanEvent.objects.bulk_create(
        PlanEvent(
            plan=plan,
            unit=rows.get(change.unit),
            unit_key=change.unit,
            actor=actor,
            what=f"Proposal: {change.what}.",
            reason=", ".join(change.item_ids[:20]),
        )
        for change in changes
    )
