"""Bundle open items into work units by cause, outcome and nearness; keep what stands when run again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil

from audit.scanner.report import Level, Outcome
from migrations_tracker.scheduling.catalogue import Catalogue, FixCategory, default_catalogue
from migrations_tracker.scheduling.deciding import decision_units
from migrations_tracker.scheduling.items import Direction, ItemKind, OpenItem
from migrations_tracker.scheduling.units import Phase, UnitKind, WorkUnit, unit_key


@dataclass(frozen=True, slots=True)
class Change:
    """What a re-run did to one unit, in words."""

    unit: str
    what: str
    item_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundling:
    """All units after a run, and what changed."""

    units: tuple[WorkUnit, ...]
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """Open items that are in no unit, and those in more than one."""

    missing: tuple[str, ...]
    repeated: tuple[str, ...]


def cause_of(item: OpenItem, catalogue: Catalogue) -> tuple[str, str, str, str, str]:
    """Return what items must share to be fixed in one go: kind, crate, wanted outcome, rule and direction."""
    outcome = catalogue.outcome_of(item)
    direction = item.direction if item.direction is Direction.BACKWARD else Direction.UNKNOWN
    return item.kind, item.crate, outcome or "", item.rule, direction


def is_high_stakes(item: OpenItem, catalogue: Catalogue) -> bool:
    """Whether an item is a unit by itself: named so, or an error that much code stands on outside sweeps."""
    if item.is_high_stakes:
        return True
    is_hit = item.level is Level.ERROR and item.callers >= catalogue.high_stakes_callers
    return is_hit and item.kind is ItemKind.SITE and not catalogue.is_mechanical(item)


def bundle(
    items: Iterable[OpenItem], existing: Sequence[WorkUnit] = (), catalogue: Catalogue | None = None
) -> Bundling:
    """Return units in which every open item is exactly once.

    A unit that a person edited or that is under way is returned as it is, and its items are taken; an item
    that is open although its unit is finished is bundled anew. Of the other units those items stay that are
    open and still share the unit's cause; new ones join the nearest unit of their cause that has room, and
    the rest make new units. Same input, same units.
    """
    rates = catalogue or default_catalogue()
    open_items = {item.id: item for item in sorted(items, key=lambda item: item.id)}
    changes: list[Change] = []
    locked = [unit for unit in existing if unit.is_locked]
    taken = {item_id for unit in locked if not unit.is_finished for item_id in unit.item_ids}
    kept: list[WorkUnit] = []
    for unit in existing:
        if unit.is_locked or unit.kind is UnitKind.DECISION:
            continue
        rest = _still_fitting(unit, open_items, taken, rates)
        taken.update(rest)
        if rest != unit.item_ids:
            gone = tuple(item_id for item_id in unit.item_ids if item_id not in rest)
            changes.append(Change(unit.key, "items left" if rest else "nothing is left of it", gone))
        if rest:
            kept.append(replace(unit, item_ids=rest))
    free = [item for item_id, item in open_items.items() if item_id not in taken]
    kept, free = _join_nearest(kept, free, open_items, rates, changes)
    taken_keys = {unit.key for unit in existing}
    new = [_distinct(unit, taken_keys) for unit in _new_units(free, rates)]
    changes.extend(Change(unit.key, "is new", unit.item_ids) for unit in new)
    decisions = decision_units(open_items.values(), [*locked, *_decisions(existing)], rates)
    changes.extend(_decision_changes(existing, decisions))
    units = sorted([*locked, *kept, *new, *decisions], key=lambda unit: (unit.phase, unit.key))
    return Bundling(tuple(units), tuple(changes))


def coverage(items: Iterable[OpenItem], units: Iterable[WorkUnit]) -> Coverage:
    """Return the open items that are not in exactly one unit that is still to be done."""
    count: dict[str, int] = {}
    for unit in units:
        for item_id in () if unit.is_finished else unit.item_ids:
            count[item_id] = count.get(item_id, 0) + 1
    ids = sorted(item.id for item in items)
    return Coverage(
        tuple(item_id for item_id in ids if item_id not in count),
        tuple(item_id for item_id in ids if count.get(item_id, 0) > 1),
    )


def _decision_changes(existing: Sequence[WorkUnit], decisions: Sequence[WorkUnit]) -> Iterator[Change]:
    before = {unit.key for unit in existing}
    after = {unit.key for unit in decisions}
    for unit in decisions:
        if unit.key not in before:
            yield Change(unit.key, "is new")
    for unit in _decisions(existing):
        if unit.key not in after:
            yield Change(unit.key, "nothing needs it any more")


def _decisions(units: Iterable[WorkUnit]) -> list[WorkUnit]:
    return [unit for unit in units if unit.kind is UnitKind.DECISION and not unit.is_locked]


def _distinct(unit: WorkUnit, taken: set[str]) -> WorkUnit:
    # A unit that lost its items and got the same ones again must not take the key of the one it was.
    key, number = unit.key, 2
    while key in taken:
        key, number = f"{unit.key}-{number}", number + 1
    taken.add(key)
    return unit if key == unit.key else replace(unit, key=key)


def _still_fitting(
    unit: WorkUnit, open_items: dict[str, OpenItem], taken: set[str], catalogue: Catalogue
) -> tuple[str, ...]:
    rest = []
    for item_id in unit.item_ids:
        item = open_items.get(item_id)
        if item is not None and item_id not in taken and _fits(unit, item, catalogue):
            rest.append(item_id)
    return tuple(rest)


def _fits(unit: WorkUnit, item: OpenItem, catalogue: Catalogue) -> bool:
    if (unit.kind is UnitKind.SINGLE) != is_high_stakes(item, catalogue):
        return False
    is_alike = unit.kind is UnitKind.SINGLE or unit.is_mechanical == catalogue.is_mechanical(item)
    is_wanted = unit.outcome == catalogue.outcome_of(item)
    return is_alike and is_wanted and unit.crate == item.crate and item.rule in unit.rules


def _join_nearest(
    units: list[WorkUnit],
    free: list[OpenItem],
    open_items: dict[str, OpenItem],
    catalogue: Catalogue,
    changes: list[Change],
) -> tuple[list[WorkUnit], list[OpenItem]]:
    by_key = {unit.key: unit for unit in units}
    left = []
    for item in free:
        candidates = [
            unit
            for unit in by_key.values()
            if unit.kind is not UnitKind.SINGLE
            and _fits(unit, item, catalogue)
            and len(unit.item_ids) < _room(unit.is_mechanical, catalogue)
        ]
        near = [
            (distance, unit.key) for unit in candidates if (distance := _distance(unit, item, open_items)) < 2
        ]
        if not near:
            left.append(item)
            continue
        key = min(near)[1]
        by_key[key] = replace(by_key[key], item_ids=tuple(sorted((*by_key[key].item_ids, item.id))))
        changes.append(Change(key, "an item joined", (item.id,)))
    return list(by_key.values()), left


def _distance(unit: WorkUnit, item: OpenItem, open_items: dict[str, OpenItem]) -> int:
    """0 in a file of the unit, 1 in one of its folders, 2 elsewhere."""
    members = [open_items[item_id] for item_id in unit.item_ids if item_id in open_items]
    if any(member.path == item.path for member in members):
        return 0
    return 1 if any(member.folder == item.folder for member in members) else 2


def _room(is_mechanical: bool, catalogue: Catalogue) -> int:
    return catalogue.max_mechanical if is_mechanical else catalogue.max_items


def _new_units(items: Sequence[OpenItem], catalogue: Catalogue) -> list[WorkUnit]:
    single = [item for item in items if is_high_stakes(item, catalogue)]
    units = [_unit([item], UnitKind.SINGLE, catalogue) for item in single]
    rest = [item for item in items if not is_high_stakes(item, catalogue)]
    small: list[OpenItem] = []
    by_cause = sorted(rest, key=lambda item: (cause_of(item, catalogue), item.id))
    for _, group in groupby(by_cause, key=lambda item: cause_of(item, catalogue)):
        members = list(group)
        if len(members) < catalogue.min_items:
            small.extend(members)
            continue
        units.extend(_swept(members, catalogue))

    def looser(item: OpenItem) -> tuple[str, str, str, bool]:
        # Few items of one cause join those of other causes with the same outcome: nearness decides.
        return item.kind, item.crate, catalogue.outcome_of(item) or "", catalogue.is_mechanical(item)

    for _, group in groupby(sorted(small, key=lambda i: (looser(i), i.id)), key=looser):
        units.extend(_swept(list(group), catalogue))
    return units


def _swept(members: Sequence[OpenItem], catalogue: Catalogue) -> list[WorkUnit]:
    is_mechanical = catalogue.is_mechanical(members[0])
    kind = UnitKind.SWEEP if is_mechanical else UnitKind.REDESIGN
    chunks = _chunks(members, catalogue.min_items, _room(is_mechanical, catalogue))
    return [_unit(chunk, kind, catalogue) for chunk in chunks]


def _chunks(members: Sequence[OpenItem], smallest: int, largest: int) -> list[list[OpenItem]]:
    """Cut by file, join small neighbours while there is room, and split what is too large evenly."""
    ordered = sorted(members, key=lambda item: (item.folder, item.path, item.symbol, item.id))
    chunks: list[list[OpenItem]] = []
    for _, group in groupby(ordered, key=lambda item: item.path):
        in_file = list(group)
        if chunks and len(chunks[-1]) < smallest and len(chunks[-1]) + len(in_file) <= largest:
            chunks[-1].extend(in_file)
            continue
        parts = ceil(len(in_file) / largest)
        size = ceil(len(in_file) / parts)
        chunks.extend(in_file[start : start + size] for start in range(0, len(in_file), size))
    if len(chunks) > 1 and len(chunks[-1]) < smallest and len(chunks[-2]) + len(chunks[-1]) <= largest:
        last = chunks.pop()
        chunks[-1].extend(last)
    return chunks


def _unit(members: Sequence[OpenItem], kind: UnitKind, catalogue: Catalogue) -> WorkUnit:
    rules = tuple(sorted({member.rule for member in members}))
    outcome = catalogue.outcome_of(members[0])
    plans = [catalogue.plan_of(member) for member in members]
    writes_kernel = outcome in (Outcome.DEVICE_KERNEL, Outcome.COMPOSITE)
    skills = frozenset[str]().union(*(plan.skills for plan in plans))
    if outcome is Outcome.DEVICE_KERNEL and any(member.kind is not ItemKind.TEST for member in members):
        skills |= {"kernel"}
    return WorkUnit(
        key=unit_key(members[0].crate, rules[0], outcome or members[0].kind, items=(m.id for m in members)),
        title=_title(members, rules, outcome),
        kind=kind,
        phase=Phase.REDESIGNS if writes_kernel else Phase(max(plan.phase for plan in plans)),
        category=FixCategory.ROOT_CAUSE if writes_kernel else min(plan.category for plan in plans),
        reason="; ".join(dict.fromkeys(plan.reason for plan in plans)),
        crate=members[0].crate,
        rules=rules,
        outcome=outcome,
        item_ids=tuple(sorted(member.id for member in members)),
        skills=skills,
        is_mechanical=catalogue.is_mechanical(members[0]) and kind is not UnitKind.SINGLE,
    )


def _title(members: Sequence[OpenItem], rules: Sequence[str], outcome: Outcome | None) -> str:
    paths = sorted({member.path for member in members})
    first = paths[0].rpartition("/")[2] or members[0].crate
    where = first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"
    what = f"{', '.join(rules)} to {outcome}" if outcome else ", ".join(rules)
    count = members[0].symbol if len(members) == 1 else f"{len(members)} items"
    crate = f"{members[0].crate}: " if members[0].crate else ""
    return f"{crate}{what} ({count} in {where})"
