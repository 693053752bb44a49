"""Hours of a unit from rates that are data, remaining effort, and rates learned from finished units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, log
from statistics import median

from audit.scanner.report import Outcome
from migrations_tracker.scheduling.catalogue import Catalogue, Hours, default_catalogue
from migrations_tracker.scheduling.items import ItemKind, OpenItem
from migrations_tracker.scheduling.problem import TICKS_PER_HOUR
from migrations_tracker.scheduling.units import WorkUnit


@dataclass(frozen=True, slots=True)
class EstimatePart:
    """One summand of an estimate and what it is for."""

    what: str
    hours: Hours


@dataclass(frozen=True, slots=True)
class Estimate:
    """Hours with the summands they are made of. `base_likely` are those that nothing learned has changed."""

    hours: Hours
    parts: tuple[EstimatePart, ...]
    base_likely: float = 0.0


@dataclass(frozen=True, slots=True)
class FinishedUnit:
    """A finished unit: its likely hours by the base rates, and what it took."""

    key: str
    rules: tuple[str, ...]
    base_hours: float
    actual_hours: float


@dataclass(frozen=True, slots=True)
class Correction:
    """What finished units say about one rule: a factor on its rates, with the points behind it.

    `factor` is pulled to 1 while there are few points; `low` and `high` span half of the ratios seen.
    """

    rule: str
    factor: float
    low: float
    high: float
    points: tuple[tuple[str, float], ...]


def estimate(
    unit: WorkUnit,
    items: Mapping[str, OpenItem],
    catalogue: Catalogue | None = None,
    corrections: Mapping[str, Correction] | None = None,
) -> Estimate:
    """Return the hours of a unit.

    Items of a mechanical unit get cheaper as the edit repeats, by a tenth with each doubling.
    """
    rates = catalogue or default_catalogue()
    learned = corrections or {}
    parts: list[EstimatePart] = []
    learned_more = 0.0
    if unit.need is not None:
        parts.append(EstimatePart(f"making `{unit.need.name}`", rates.needs[unit.need.kind].unit))
    members = [items[item_id] for item_id in unit.item_ids if item_id in items]
    by_rule: dict[str, list[OpenItem]] = {}
    for item in members:
        rule = "capability-gap" if item.kind is ItemKind.GAP else item.rule
        by_rule.setdefault(rule, []).append(item)
    if by_rule:
        costliest = max(by_rule, key=lambda rule: (rates.rules[rule].unit.likely, rule))
        parts.append(EstimatePart("starting and reviewing the unit", rates.rules[costliest].unit))
    for rule, group in sorted(by_rule.items()):
        count = _effective(len(group), unit.is_mechanical)
        base = rates.rules[rule].item.times(count)
        hours = _corrected(base, learned.get(rule))
        learned_more += hours.likely - base.likely
        parts.append(EstimatePart(f"{len(group)} × {rule}", hours))
    kernels = _kernels(unit, members)
    if kernels:
        what = f"{len(kernels)} kernels: {', '.join(kernels)}"
        parts.append(EstimatePart(what, rates.kernel.times(len(kernels))))
    total = Hours(0.0, 0.0, 0.0)
    for part in parts:
        total += part.hours
    floor = rates.minimum_hours
    return Estimate(
        Hours(max(total.low, floor), max(total.likely, floor), max(total.high, floor)),
        tuple(parts),
        max(total.likely - learned_more, floor),
    )


_LEARNING = log(0.9) / log(2)


def _effective(count: int, is_mechanical: bool) -> float:
    if not is_mechanical:
        return float(count)
    return sum(exp(_LEARNING * log(number)) for number in range(1, count + 1))


def _kernels(unit: WorkUnit, members: Iterable[OpenItem]) -> list[str]:
    """The operators, or else symbols, for which device code has to be written."""
    if unit.outcome is not Outcome.DEVICE_KERNEL:
        return []
    # A broken kernel is repaired where it stands, and a read-back has its kernel already.
    written = [
        i for i in members if i.kind is not ItemKind.TEST and i.rule not in ("broken-ptx", "host-readback")
    ]
    return sorted({f"{item.operator or item.symbol} {item.direction}".strip() for item in written})


def _corrected(hours: Hours, correction: Correction | None) -> Hours:
    if correction is None:
        return hours
    likely = hours.likely * correction.factor
    return Hours(
        min(likely, hours.likely * correction.low), likely, max(likely, hours.likely * correction.high)
    )


def learn(finished: Iterable[FinishedUnit]) -> dict[str, Correction]:
    """Return a correction per rule from units that took longer or shorter than estimated.

    The median of the logarithms of the ratios, with as much weight on 1 as three units have: one unit that
    went wrong moves little, ten that agree move almost all the way.
    """
    points: dict[str, list[tuple[str, float]]] = {}
    for unit in finished:
        if unit.base_hours > 0 and unit.actual_hours > 0:
            for rule in unit.rules:
                points.setdefault(rule, []).append((unit.key, unit.actual_hours / unit.base_hours))
    return {rule: _correction(rule, sorted(found)) for rule, found in sorted(points.items())}


_PRIOR_UNITS = 3


def _correction(rule: str, points: Sequence[tuple[str, float]]) -> Correction:
    logs = sorted(log(ratio) for _, ratio in points)
    middle = median(logs)
    share = len(logs) / (len(logs) + _PRIOR_UNITS)
    spread = max(median(abs(value - middle) for value in logs), 0.2)
    factor = middle * share
    return Correction(rule, exp(factor), exp(factor - spread), exp(factor + spread), tuple(points))


def remaining(whole: Hours, spent_hours: float, closed_items: int, all_items: int) -> Hours:
    """Return the hours left of a unit under way.

    The more of its items are closed, the more the rate seen so far counts and the less the estimate.
    """
    if all_items and closed_items >= all_items:
        return Hours(0.0, 0.0, 0.0)
    share = closed_items / all_items if all_items else 0.0
    open_share = 1 - share

    def left(estimated: float) -> float:
        by_rate = spent_hours / share * open_share if share else estimated
        by_estimate = max(estimated - spent_hours, 0.25 * estimated * open_share)
        return share * by_rate + open_share * by_estimate

    return Hours(left(whole.low), left(whole.likely), left(whole.high))


def ticks(hours: float) -> int:
    """Return hours as whole quarters, at least one."""
    return max(1, ceil(hours * TICKS_PER_HOUR - 1e-9))
