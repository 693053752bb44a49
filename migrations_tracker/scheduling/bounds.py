"""Lower bounds on the makespan: critical path, and the energy of every group of people and runners."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from migrations_tracker.scheduling.instance import Instance
from migrations_tracker.scheduling.problem import Bound, BoundPart
from migrations_tracker.scheduling.spans import earliest_finishes, latest_times
from migrations_tracker.scheduling.worktime import WorkTime

_MAX_GROUPS = 48
_MAX_THRESHOLDS = 40


def lower_bound(instance: Instance) -> Bound:
    """Return the parts of the bound, each with the reason that a person can follow."""
    start, finish = earliest_finishes(instance)
    parts = [_critical_path(instance, finish)]
    after_work = _after_work(instance)
    for group, label in _people_groups(instance):
        members = [
            u for u in range(instance.size) if instance.effort[u] and set(instance.eligible[u]) <= group
        ]
        value = _energy(
            [(start[u], instance.effort[u], after_work[u]) for u in members],
            [(instance.people_time[p], instance.problem.people[p].capacity) for p in sorted(group)],
        )
        parts.append(BoundPart(f"energy: {len(members)} units for {label}", value))
    parts.extend(_runner_parts(instance, finish, after_work))
    return Bound(tuple(sorted(parts, key=lambda part: (-part.value, part.source))))


def tightened(instance: Instance, bound: Bound, makespan: int) -> Bound:
    """Raise a bound by showing, for one makespan after the other, that nothing can end by then.

    Each unit has to lie between its earliest and its latest time for that makespan, nights and weekends
    counted; where the units confined to a stretch ask for more than a group of people can do in it, nothing
    ends by then. What is shown for one makespan holds for every shorter one, so the search halves.
    """
    heads = earliest_finishes(instance)[0]
    groups = _people_groups(instance, with_unions=False)
    low, high = bound.value, makespan
    while low < high:
        middle = (low + high) // 2
        if _is_refuted(instance, heads, groups, middle):
            low = middle + 1
        else:
            high = middle
    if low <= bound.value:
        return bound
    return Bound(
        (BoundPart("time windows: too much work for what is left between the dates", low), *bound.parts)
    )


def _is_refuted(
    instance: Instance, heads: Sequence[int], groups: Sequence[tuple[set[int], str]], end: int
) -> bool:
    times = latest_times(instance, end)
    if times is None:
        return True
    latest_start, latest_work_end, _ = times
    if any(latest < head for latest, head in zip(latest_start, heads, strict=True)):
        return True
    for group, _ in groups:
        members = [
            u for u in range(instance.size) if instance.effort[u] and set(instance.eligible[u]) <= group
        ]
        if _is_overfull(instance, sorted(group), members, heads, latest_work_end):
            return True
    return False


def _is_overfull(
    instance: Instance,
    group: Sequence[int],
    members: Sequence[int],
    heads: Sequence[int],
    latest_work_end: Sequence[int],
) -> bool:
    by_end = sorted(members, key=lambda unit: latest_work_end[unit])
    people = [(instance.people_time[p], instance.problem.people[p].capacity) for p in group]
    done = {
        unit: sum(capacity * time.position(latest_work_end[unit]) for time, capacity in people)
        for unit in by_end
    }
    for head in _thresholds({heads[unit] for unit in members}):
        before = sum(capacity * time.position(head) for time, capacity in people)
        effort = 0
        for unit in by_end:
            if heads[unit] >= head:
                effort += instance.effort[unit]
                if effort > done[unit] - before:
                    return True
    return False


def _critical_path(instance: Instance, finish: Sequence[int]) -> BoundPart:
    if not instance.size:
        return BoundPart("critical path", 0)
    last = max(range(instance.size), key=lambda unit: (finish[unit], -unit))
    chain = [last]
    while instance.predecessors[chain[-1]]:
        chain.append(max(instance.predecessors[chain[-1]], key=lambda unit: (finish[unit], -unit)))
    names = " → ".join(instance.problem.units[unit].key for unit in reversed(chain))
    return BoundPart(f"critical path: {names}", finish[last])


def _after_work(instance: Instance) -> list[int]:
    """Ticks that must pass between the end of a unit's work and the end of everything, calendars aside."""
    after = [0] * instance.size
    for unit in reversed(instance.topological):
        behind = max((instance.effort[s] + after[s] for s in instance.successors[unit]), default=0)
        after[unit] = instance.verification[unit] + behind
    return after


def _people_groups(instance: Instance, with_unions: bool = True) -> list[tuple[set[int], str]]:
    """The sets of people that some units are confined to, and unions of two and of all of them."""
    distinct = sorted(
        {frozenset(instance.eligible[u]) for u in range(instance.size) if instance.effort[u]},
        key=lambda group: (len(group), sorted(group)),
    )
    unions = (
        {left | right for left, right in combinations(distinct[:_MAX_GROUPS], 2)} if with_unions else set()
    )
    everyone = frozenset().union(*distinct)
    groups = sorted({*distinct[:_MAX_GROUPS], *unions, everyone}, key=lambda g: (len(g), sorted(g)))
    people = instance.problem.people
    return [
        (set(group), ", ".join(people[person].id for person in sorted(group))) for group in groups if group
    ]


def _energy(units: Sequence[tuple[int, int, int]], resources: Sequence[tuple[WorkTime, int]]) -> int:
    """The best of: work that can start only from a head on, on these resources, and then the shortest tail.

    `units` holds earliest start, effort and the ticks that must follow the work.
    """
    work_time = _Together(resources)
    best = 0
    for tail in _thresholds({unit[2] for unit in units}):
        late = sorted((unit for unit in units if unit[2] >= tail), reverse=True)
        effort = 0
        heads = set(_thresholds({unit[0] for unit in late}))
        for index, (head, work, _) in enumerate(late):
            effort += work
            is_last = index + 1 == len(late) or late[index + 1][0] != head
            if is_last and head in heads and not work_time.is_done(head, best - tail, effort):
                best = max(best, work_time.end(head, effort) + tail)
    return best


class _Together:
    """The working time of several resources taken together."""

    def __init__(self, resources: Sequence[tuple[WorkTime, int]]) -> None:
        self._resources = resources
        self._last = max((time.ends[-1] for time, _ in resources if time.ends), default=0)
        self._known: dict[int, int] = {}

    def until(self, tick: int) -> int:
        """How much all have worked before a tick."""
        if tick not in self._known:
            self._known[tick] = sum(capacity * time.position(tick) for time, capacity in self._resources)
        return self._known[tick]

    def is_done(self, head: int, tick: int, effort: int) -> bool:
        """Whether so much work can be done between two ticks."""
        return tick > head and self.until(tick) - self.until(head) >= effort

    def end(self, head: int, effort: int) -> int:
        """The first tick by which so much has been worked since `head`, or the end of all calendars."""
        low, high = head, max(head, self._last)
        while low < high:
            middle = (low + high) // 2
            if self.is_done(head, middle, effort):
                high = middle
            else:
                low = middle + 1
        return low


def _thresholds(values: set[int]) -> list[int]:
    ordered = sorted(values)
    if len(ordered) <= _MAX_THRESHOLDS:
        return ordered
    step = len(ordered) / _MAX_THRESHOLDS
    return [ordered[int(index * step)] for index in range(_MAX_THRESHOLDS)]


def _runner_parts(instance: Instance, finish: Sequence[int], after_work: Sequence[int]) -> list[BoundPart]:
    groups: dict[frozenset[int], list[int]] = {}
    for unit in range(instance.size):
        if instance.verification[unit]:
            groups.setdefault(frozenset(instance.runners[unit]), []).append(unit)
    parts = []
    for group in sorted(groups, key=sorted):
        members = [unit for other, units in groups.items() if other <= group for unit in units]
        demand = [
            (
                finish[unit] - instance.verification[unit],
                instance.verification[unit],
                after_work[unit] - instance.verification[unit],
            )
            for unit in members
        ]
        resources = [
            (instance.runner_time[runner], instance.problem.runners[runner].slots) for runner in sorted(group)
        ]
        names = ", ".join(instance.problem.runners[runner].id for runner in sorted(group))
        parts.append(
            BoundPart(f"energy: {len(members)} verifications on {names}", _energy(demand, resources))
        )
    return parts
