"""Measure the scheduler on generated instances.

`python -m benchmarks.scheduling [--sizes 60:10,120:10,500:5]`

Instances in the style of PSPLIB: arcs per unit (network complexity) 1.5, 1.8 or 2.1, at most three direct
predecessors and successors and no redundant arc; resource strength 0.2, so that a skill has
`1 + 0.2 * (peak - 1)` people, where the peak is what the earliest-start schedule asks for at once, and runner
slots likewise. Beside that, people have second skills, working hours in four time zones, part time and
absences; three units are under way, and one in twenty is pinned one to four days after
where list scheduling had put it, at most one for each person, none of them behind
another.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from statistics import mean

from migrations_tracker.scheduling.fixing import fix
from migrations_tracker.scheduling.graph import successors_of_all, topological_order, without_redundant
from migrations_tracker.scheduling.instance import TICKS_PER_DAY, compile_instance
from migrations_tracker.scheduling.listing import Scheduler
from migrations_tracker.scheduling.problem import (
    ALWAYS,
    OFFICE,
    Absence,
    Infeasible,
    Objective,
    Person,
    Pin,
    Placement,
    Problem,
    Runner,
    Schedule,
    SolveOptions,
    UnderWay,
    UnitDemand,
    WorkCalendar,
)
from migrations_tracker.scheduling.rules import PRIORITY_RULES, order_by
from migrations_tracker.scheduling.solving import list_schedule, solve
from migrations_tracker.scheduling.validating import breaches

ORIGIN = datetime(2026, 6, 1, 8, tzinfo=UTC)
COMPLEXITIES = (1.5, 1.8, 2.1)
RESOURCE_STRENGTH = 0.2
ONE_RULE_HORIZON = 480 * TICKS_PER_DAY
SKILLS = ("kernel", "autograd", "build", "tests")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo")


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table."""

    size: int
    complexity: float
    first_seconds: float
    seconds: float
    first: Schedule
    final: Schedule
    one_rule: Objective

    @property
    def gain(self) -> float:
        """How much smaller weighted completion is than that of the first answer, the best of all rules."""
        return self._smaller_than(self.first.objective)

    @property
    def gain_over_rule(self) -> float:
        """How much smaller weighted completion is than that of list scheduling by one rule."""
        return self._smaller_than(self.one_rule)

    def _smaller_than(self, other: Objective) -> float:
        return 1 - self.final.objective.weighted_completion / other.weighted_completion


def network(size: int, complexity: float, draw: random.Random) -> tuple[tuple[str, str], ...]:
    """Return non-redundant arcs; PSPLIB counts source, sink and their three arcs each, which are left out."""
    target = round(complexity * (size + 2)) - 6
    arcs: set[tuple[str, str]] = set()
    degree_in, degree_out = [0] * size, [0] * size
    name = [f"U{number:03d}" for number in range(size)]

    def add(before: int, after: int) -> None:
        if degree_out[before] < 3 and degree_in[after] < 3 and (name[before], name[after]) not in arcs:
            arcs.add((name[before], name[after]))
            degree_out[before] += 1
            degree_in[after] += 1

    for after in range(3, size):
        add(draw.randrange(max(0, after - size // 3), after), after)
    for _ in range(60):
        kept = without_redundant(name, arcs)
        if len(kept) >= target:
            return kept[:target] if len(kept) > target else kept
        arcs = set(kept)
        degree_in, degree_out = [0] * size, [0] * size
        for before_name, after_name in arcs:
            degree_out[int(before_name[1:])] += 1
            degree_in[int(after_name[1:])] += 1
        for _ in range(target - len(kept)):
            after = draw.randrange(1, size)
            add(draw.randrange(max(0, after - size // 3), after), after)
    return without_redundant(name, arcs)


def peak(units: Sequence[UnitDemand], arcs: Sequence[tuple[str, str]], skill: str | None) -> int:
    """The most units at once in the earliest-start schedule: at work with a skill, or in verification."""
    by_key = {unit.key: unit for unit in units}
    start = dict.fromkeys(by_key, 0)
    before: dict[str, list[str]] = {key: [] for key in by_key}
    for predecessor, successor in arcs:
        before[successor].append(predecessor)
    for key in topological_order(by_key, arcs):
        ends = (start[p] + by_key[p].effort + by_key[p].verification for p in before[key])
        start[key] = max(ends, default=0)
    if skill is None:
        spans = [(start[k] + u.effort, u.verification) for k, u in by_key.items()]
    else:
        spans = [(start[k], u.effort) for k, u in by_key.items() if skill in u.skills]
    return max((sum(a <= at < a + length for a, length in spans) for at, _ in spans), default=0)


def strength(peak_demand: int) -> int:
    """Return the capacity at the resource strength."""
    return 1 + round(RESOURCE_STRENGTH * max(0, peak_demand - 1))


def instance(size: int, complexity: float, seed: int) -> Problem:
    """Generate one problem, with units under way and pins that can be kept."""
    draw = random.Random(seed)
    arcs = network(size, complexity, draw)
    units = tuple(
        UnitDemand(
            key=f"U{number:03d}",
            effort=draw.randint(4, 40),
            phase=1 + 3 * number // size,
            skills=frozenset({draw.choice(SKILLS)}),
            verification=draw.choice((0, 2, 4, 8)),
            weight=draw.randint(1, 10),
        )
        for number in range(size)
    )
    people = []
    for skill in SKILLS:
        for number in range(strength(peak(units, arcs, skill))):
            second = {draw.choice(SKILLS)} if draw.random() < 0.4 else set()
            people.append(Person(f"{skill}-{number}", frozenset({skill} | second), calendar(draw)))
    runners = (Runner("gpu", slots=strength(peak(units, arcs, None)), calendar=ALWAYS),)
    plain = Problem(ORIGIN, units, tuple(people), runners, arcs)
    return with_fixed(plain, draw)


def calendar(draw: random.Random) -> WorkCalendar:
    """Return office hours in some zone, one in five without the fifth day, with two absences of some days."""
    hours = tuple(h for h in OFFICE.hours if h.weekday < 4) if draw.random() < 0.2 else OFFICE.hours
    absences = []
    for _ in range(2):
        start = ORIGIN + timedelta(days=draw.randint(3, 60))
        absences.append(Absence(start, start + timedelta(days=draw.randint(1, 7)), "leave"))
    return WorkCalendar(hours, draw.choice(ZONES), tuple(absences))


def with_fixed(problem: Problem, draw: random.Random) -> Problem:
    """Put three units under way and pin one in twenty to where list scheduling had placed it."""
    schedule = list_schedule(problem)
    assert isinstance(schedule, Schedule)
    by_start = sorted(schedule.placements, key=lambda placement: (placement.start, placement.unit))
    seen: set[str] = set()
    running: list[Placement] = []
    for placement in by_start:
        if placement.person not in seen and len(running) < 3:
            seen.add(placement.person)
            running.append(placement)
    under_way = {p.unit: UnderWay(p.person, ORIGIN - timedelta(hours=2)) for p in running}
    begun = replace(
        problem, units=tuple(replace(unit, under_way=under_way.get(unit.key)) for unit in problem.units)
    )
    schedule = list_schedule(begun)
    assert isinstance(schedule, Schedule)
    behind = successors_of_all((unit.key for unit in problem.units), problem.precedences)
    pinned: dict[str, Pin] = {}
    for place in draw.sample(schedule.placements, len(schedule.placements)):
        is_related = any(place.unit in behind[key] or key in behind[place.unit] for key in pinned)
        is_busy = place.person in {pin.person for pin in pinned.values()}
        is_late = place.start > 0.6 * schedule.objective.makespan
        if is_related or is_busy or is_late or place.unit in under_way:
            continue
        if len(pinned) < len(problem.units) // 20:
            start = problem.instant(place.start) + timedelta(days=draw.randint(1, 4))
            pinned[place.unit] = Pin(start, place.person)
    return replace(begun, units=tuple(replace(unit, pin=pinned.get(unit.key)) for unit in begun.units))


def measure(size: int, count: int, options: SolveOptions) -> Iterator[Measured]:
    """Solve the instances of one size, each proved by the validator."""
    for number in range(count):
        complexity = COMPLEXITIES[number % len(COMPLEXITIES)]
        problem = instance(size, complexity, 1000 * size + number)
        begun = time.process_time()
        first = list_schedule(problem)
        first_seconds = time.process_time() - begun
        begun = time.process_time()
        final = solve(problem, replace(options, seed=number))
        seconds = time.process_time() - begun
        assert not isinstance(first, Infeasible), first
        assert not isinstance(final, Infeasible), final
        assert not breaches(problem, first) and not breaches(problem, final)
        yield Measured(size, complexity, first_seconds, seconds, first, final, by_one_rule(problem))


def by_one_rule(problem: Problem) -> Objective:
    """Return what list scheduling by the latest start alone gives, in the serial scheme."""
    compiled = compile_instance(problem, ONE_RULE_HORIZON)
    scheduler = Scheduler(compiled, fix(compiled))
    timetable = scheduler.decode(order_by(PRIORITY_RULES[0], compiled))
    assert timetable is not None
    return scheduler.score(timetable).objective


# `first` and `list` are our list scheduling, the best of all rules and schemes, `all` and `found` the whole
# search, both in processor time; `gain` is how much smaller weighted completion became against it, `over
# one rule` against the latest start alone; `best` whether the solver proved that none is smaller at no longer
# makespan, `cut` whether the clock ended the search.
def main() -> None:
    """Print every instance, and the means per size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="60:10,120:10,500:5", help="units:instances, by commas")
    parser.add_argument("--wall-seconds", type=float, default=600.0)
    given = parser.parse_args()
    head = (
        "units",
        "NC",
        "first, s",
        "all, s",
        "bound, h",
        "list, h",
        "found, h",
        "gap",
        "gain",
        "over one rule",
        "best",
        "by",
        "cut",
    )
    print(f"| {' | '.join(head)} |")
    print(f"|{' --- |' * len(head)}")
    for size, count in (map(int, part.split(":")) for part in given.sizes.split(",")):
        rows = []
        options = replace(SolveOptions.for_size(size), wall_seconds=given.wall_seconds)
        for row in measure(size, count, options):
            rows.append(row)
            first, final = row.first.objective, row.final.objective
            print(
                f"| {size} | {row.complexity} | {row.first_seconds:.2f} | {row.seconds:.1f} "
                f"| {row.final.bound.value / 4:.1f} | {first.makespan / 4:.1f} | {final.makespan / 4:.1f} "
                f"| {row.final.gap:.1%} | {row.gain:.1%} | {row.gain_over_rule:.1%} "
                f"| {'yes' if row.final.is_best_weighted else 'no'} | {row.final.method} "
                f"| {'yes' if row.final.is_cut_off else 'no'} |",
                flush=True,
            )
        worse = sum(row.final.objective > row.first.objective for row in rows)
        print(
            f"\n{size} units: first answer {max(row.first_seconds for row in rows):.2f} s at most, "
            f"mean gap {mean(row.final.gap for row in rows):.1%}, "
            f"mean gain in weighted completion {mean(row.gain for row in rows):.1%} over the best of all "
            f"rules and {mean(row.gain_over_rule for row in rows):.1%} over one rule, "
            f"worse than list scheduling {worse} times\n",
            flush=True,
        )


if __name__ == "__main__":
    main()
