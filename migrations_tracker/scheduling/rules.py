"""Priority rules of list scheduling: each gives an order of the units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from migrations_tracker.scheduling.instance import NO_DEADLINE, Instance
from migrations_tracker.scheduling.spans import earliest_finishes, latest_times


@dataclass(frozen=True, slots=True)
class PriorityRule:
    """A named rule: the unit with the smallest key goes first."""

    name: str
    keys: Callable[[Instance], Sequence[float]]


def tails(instance: Instance) -> list[int]:
    """Return the ticks from each unit's start to the end of the longest chain behind it, calendars aside."""
    tail = [0] * instance.size
    for unit in reversed(instance.topological):
        behind = max((tail[successor] for successor in instance.successors[unit]), default=0)
        tail[unit] = instance.effort[unit] + instance.verification[unit] + behind
    return tail


def _longest_tail(instance: Instance) -> list[float]:
    return [-tail for tail in tails(instance)]


def _latest_start(instance: Instance) -> Sequence[float]:
    end = max(earliest_finishes(instance)[1], default=0)
    times = latest_times(instance, end)
    return times[0] if times is not None else _longest_tail(instance)


def _most_successors(instance: Instance) -> list[float]:
    after: list[set[int]] = [set() for _ in range(instance.size)]
    for unit in reversed(instance.topological):
        for successor in instance.successors[unit]:
            after[unit] |= after[successor] | {successor}
    return [-len(found) for found in after]


def _positional_weight(instance: Instance) -> list[float]:
    effort = instance.effort
    return [-(effort[u] + sum(effort[s] for s in instance.successors[u])) for u in range(instance.size)]


def _weighted_shortest(instance: Instance) -> list[float]:
    durations = map(sum, zip(instance.effort, instance.verification, strict=True))
    weighted = zip(durations, instance.weight, strict=True)
    return [duration / weight if weight else float("inf") for duration, weight in weighted]


def _rarest_people(instance: Instance) -> list[float]:
    return [len(eligible) for eligible in instance.eligible]


PRIORITY_RULES: tuple[PriorityRule, ...] = (
    PriorityRule("latest-start", _latest_start),
    PriorityRule("longest-tail", _longest_tail),
    PriorityRule("most-successors", _most_successors),
    PriorityRule("positional-weight", _positional_weight),
    PriorityRule("weighted-shortest", _weighted_shortest),
    PriorityRule("rarest-people", _rarest_people),
)


def order_by(rule: PriorityRule, instance: Instance) -> list[int]:
    """Return the units by urgency of their date, then by the rule, then by the longest tail."""
    tail, due, keys = tails(instance), _due(instance), rule.keys(instance)
    return sorted(range(instance.size), key=lambda unit: (due[unit], keys[unit], -tail[unit], unit))


def _due(instance: Instance) -> list[int]:
    """The latest start that deadlines and pins behind each unit leave, calendars aside."""
    due = [NO_DEADLINE] * instance.size
    for unit in reversed(instance.topological):
        latest = instance.deadline[unit]
        for successor in instance.successors[unit]:
            pinned = instance.fixed_start[successor]
            latest = min(latest, pinned if pinned >= 0 else due[successor])
        if latest != NO_DEADLINE:
            due[unit] = latest - instance.effort[unit] - instance.verification[unit]
    return due
