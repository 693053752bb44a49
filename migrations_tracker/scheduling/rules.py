"""Priority rules of list scheduling: each gives an order of the units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from migrations_tracker.scheduling.instance import NO_DEADLINE, Instance


@dataclass(frozen=True, slots=True)
class PriorityRule:
    """A named rule: the unit with the smallest key goes first."""

    name: str
    key: Callable[[Instance, list[int], int], float]


def tails(instance: Instance) -> list[int]:
    """Return the ticks from each unit's start to the end of the longest chain behind it, calendars aside."""
    tail = [0] * instance.size
    for unit in reversed(instance.topological):
        behind = max((tail[successor] for successor in instance.successors[unit]), default=0)
        tail[unit] = instance.effort[unit] + instance.verification[unit] + behind
    return tail


def _longest_tail(instance: Instance, tail: list[int], unit: int) -> float:
    return -tail[unit]


def _most_successors(instance: Instance, tail: list[int], unit: int) -> float:
    seen: set[int] = set()
    stack = list(instance.successors[unit])
    while stack:
        successor = stack.pop()
        if successor not in seen:
            seen.add(successor)
            stack.extend(instance.successors[successor])
    return -len(seen)


def _positional_weight(instance: Instance, tail: list[int], unit: int) -> float:
    return -(instance.effort[unit] + sum(instance.effort[s] for s in instance.successors[unit]))


def _weighted_shortest(instance: Instance, tail: list[int], unit: int) -> float:
    duration = instance.effort[unit] + instance.verification[unit]
    return duration / instance.weight[unit] if instance.weight[unit] else float("inf")


def _rarest_people(instance: Instance, tail: list[int], unit: int) -> float:
    return len(instance.eligible[unit])


PRIORITY_RULES: tuple[PriorityRule, ...] = (
    PriorityRule("longest-tail", _longest_tail),
    PriorityRule("most-successors", _most_successors),
    PriorityRule("positional-weight", _positional_weight),
    PriorityRule("weighted-shortest", _weighted_shortest),
    PriorityRule("rarest-people", _rarest_people),
)


def order_by(rule: PriorityRule, instance: Instance) -> list[int]:
    """Return the units by urgency of their date, then by the rule, then by its longest tail."""
    tail = tails(instance)
    due = _due(instance, tail)
    return sorted(
        range(instance.size),
        key=lambda unit: (due[unit], rule.key(instance, tail, unit), -tail[unit], unit),
    )


def _due(instance: Instance, tail: list[int]) -> list[int]:
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
