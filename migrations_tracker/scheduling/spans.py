"""The earliest and latest times of each unit when nobody is ever busy with another one."""

from __future__ import annotations

from collections.abc import Iterable

from migrations_tracker.scheduling.instance import Instance
from migrations_tracker.scheduling.worktime import WorkTime


def earliest_finishes(instance: Instance) -> tuple[list[int], list[int]]:
    """Return the earliest start and finish of each unit when nobody is ever busy with another one."""
    start, finish = [0] * instance.size, [0] * instance.size
    barrier = dict.fromkeys(instance.phases, 0)
    order: Iterable[int] = instance.topological
    under_way = set(instance.under_way)
    if instance.is_strict:
        order = sorted(order, key=lambda unit: instance.phase[unit])
    for unit in order:
        ready = max(instance.release[unit], instance.fixed_start[unit])
        ready = max([ready, *(finish[p] for p in instance.predecessors[unit])])
        if instance.is_strict and unit not in under_way:
            ready = max(
                [ready, *(barrier[phase] for phase in instance.phases if phase < instance.phase[unit])]
            )
        start[unit], finish[unit] = _alone(instance, unit, ready)
        barrier[instance.phase[unit]] = max(barrier[instance.phase[unit]], finish[unit])
    return start, finish


def _alone(instance: Instance, unit: int, ready: int) -> tuple[int, int]:
    effort, length = instance.effort[unit], instance.verification[unit]
    starts, ends = [ready], [ready]
    if effort:
        spans = [_span(instance.people_time[person], ready, effort) for person in instance.eligible[unit]]
        starts = [span[0] for span in spans if span] or starts
        ends = [span[1] for span in spans if span] or [instance.horizon]
    end = min(ends)
    if length == 0:
        return min(starts), end
    found = [_unbroken(instance.runner_time[runner], end, length) for runner in instance.runners[unit]]
    return min(starts), min((at + length for at in found if at >= 0), default=instance.horizon)


def _span(time: WorkTime, ready: int, effort: int) -> tuple[int, int] | None:
    position = time.position(ready)
    if position + effort > time.total:
        return None
    return time.tick_at(position), time.tick_at(position + effort - 1) + 1


def _unbroken(time: WorkTime, ready: int, length: int) -> int:
    for start, end in zip(time.starts, time.ends, strict=True):
        if max(start, ready) + length <= end:
            return max(start, ready)
    return -1


def latest_times(instance: Instance, end: int) -> tuple[list[int], list[int], list[int]] | None:
    """Return the latest start, end of work and finish of each unit with which all finish by `end`.

    None when some unit can't. A unit that is fixed is taken like any other, which only widens the times.
    """
    size = instance.size
    start, work_end, finish = [0] * size, [0] * size, [0] * size
    for unit in reversed(instance.topological):
        finish[unit] = min([end, instance.deadline[unit], *(start[s] for s in instance.successors[unit])])
        pins = (instance.fixed_start[s] for s in instance.successors[unit] if instance.fixed_start[s] >= 0)
        finish[unit] = min([finish[unit], *pins])
        work_end[unit] = finish[unit] - instance.verification[unit]
        if work_end[unit] < 0:
            return None
        effort = instance.effort[unit]
        if effort == 0:
            start[unit] = work_end[unit]
            continue
        positions = (
            (instance.people_time[p], instance.people_time[p].position(work_end[unit]) - effort)
            for p in instance.eligible[unit]
        )
        starts = [time.tick_at(position) for time, position in positions if 0 <= position < time.total]
        if not starts:
            return None
        start[unit] = max(starts)
    return start, work_end, finish
